"""What scikit-learn expects of every transformer."""

import pickle
from itertools import chain

import numpy as np
import pandas as pd
import pytest
from cases import for_each
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_crcrf import CRF, EmpiricalCRF, SequenceArray
from sklearn_crcrf.feature_extraction import (
    FoundLabels,
    Gazetteer,
    SequenceVectorizer,
    TemplateFeatures,
    TokenFeatures,
    Window,
    WordClusters,
    WordVectors,
)

TEMPLATE = "U00:%x[-1,0]\nU01:%x[0,0]/%x[1,0]\nB01:%x[0,0]"
TRANSFORMERS = [
    SequenceVectorizer(),
    TokenFeatures(),
    Window(),
    TemplateFeatures(TEMPLATE),
    Gazetteer({"pet": ["The dog"], "noise": ["bark", "barks"]}),
    WordClusters({"dog": "0010", "bark": "11"}),
    WordVectors({"dog": [1.0, 2.0], "bark": [3.0, 4.0]}),
]
X = [["The", "dog", "barks"], [], ["Dogs", "bark"]]


@parametrize_with_checks(TRANSFORMERS)
def test_estimator_checks(estimator, check):
    check(estimator)


@for_each("transformer", TRANSFORMERS)
@for_each(
    "check",
    [
        "check_estimator_repr",
        "check_estimator_tags_renamed",
        "check_do_not_raise_errors_in_init_or_set_params",
        "check_mixin_order",
        "check_no_attributes_set_in_init",
        "check_parameters_default_constructible",
        "check_valid_tag_types",
    ],
)
def test_checks_that_need_no_numbers(transformer, check):
    # scikit-learn leaves these out for all estimators that do not take tables of numbers.
    getattr(estimator_checks, check)(type(transformer).__name__, clone(transformer))


@for_each("transformer", TRANSFORMERS)
def test_lists_arrays_clones_and_pickles_agree(transformer):
    transformer = clone(transformer)
    expected = transformer.fit_transform(X)
    assert transformer.transform(SequenceArray.from_sequences(X)) == expected
    assert pickle.loads(pickle.dumps(transformer)).transform(X) == expected
    assert clone(transformer).fit(X).transform(X) == expected
    assert transformer.transform(X[1:]) == expected[1:]


@pytest.mark.parametrize(
    "transformer",
    [*TRANSFORMERS, FoundLabels(EmpiricalCRF(), cv=2)],
    ids=lambda t: type(t).__name__,
)
def test_pipelines_of_dicts_label_lists_without_tokens(transformer):
    dicts = [[{"tag": "x", "word": word} for word in words] for words in X]
    y = [[word.lower() for word in words] for words in X]
    pipeline = make_pipeline(transformer, CRF()).fit(dicts, y)
    for nothing in ([], [[]], [[], []]):
        assert pipeline.predict(nothing).tolist() == nothing


@for_each(
    "transformer",
    [
        TokenFeatures(["shape"]),
        Window(),
        Window("names"),
        Window(["word[0]", "digit[-1]"]),
        Gazetteer({"pet": ["dog"]}),
        make_pipeline(TokenFeatures(["shape"]), Window(), SequenceVectorizer()),
    ],
)
def test_dicts_are_transformed_alike_alone_and_among_others(transformer):
    dicts = [
        [{"word": "Ann"}, {"word": "7", "digit": True}],
        [{"word": "runs"}, {"word": "7", "digit": True}, {"word": "miles"}],
        [{"word": "Ann"}, {"word": "runs"}],
        [{"new": "x", "word": "Ann"}],
    ]
    y = [["N", "D"], ["V", "D", "N"], ["N", "V"], ["N"]]
    pipeline = make_pipeline(transformer, CRF()).fit(dicts[:3], y[:3])
    together = pipeline.predict_proba(dicts)
    for i, tokens in enumerate(dicts):
        np.testing.assert_array_equal(pipeline.predict_proba([tokens])[0], together[i])


def test_other_names_of_the_words_are_refused():
    for transformer in (
        TokenFeatures(),
        TemplateFeatures(TEMPLATE),
        FoundLabels(EmpiricalCRF(), cv=2),
    ):
        fitted = transformer.fit([[{"word": "Ann", "tag": "N"}]] * 2, [["N"]] * 2)
        with pytest.raises(ValueError, match="has no column 'word'"):
            fitted.transform([[{"Word": "Ann", "tag": "N"}]])


def test_an_array_without_rows_is_refused_after_dicts():
    features = TokenFeatures().fit([[{"tag": "x", "word": "dog"}]])
    with pytest.raises(ValueError, match="X must hold token strings"):
        features.transform([np.empty((0, 3))])


@pytest.mark.parametrize("transformer", TRANSFORMERS, ids=lambda t: type(t).__name__)
def test_skops(transformer):
    skops = pytest.importorskip("skops.io")
    transformer = clone(transformer).fit(X)
    dumped = skops.dumps(transformer)
    trusted = skops.get_untrusted_types(data=dumped)
    assert all(name.startswith("sklearn_crcrf.") for name in trusted)
    assert skops.loads(dumped, trusted=trusted).transform(X) == transformer.transform(X)


def make_steps():
    union = FeatureUnion([("own", TokenFeatures()), ("near", Window([-1, 1]))])
    return make_pipeline(union, SequenceVectorizer(dtype=np.float32))


def test_union_and_pipeline():
    pipeline = make_steps()
    out = pipeline.fit_transform(X)
    assert out == pipeline.transform(X)
    assert out.lengths.tolist() == [3, 0, 2]
    names = pipeline.get_feature_names_out()
    assert {"token=The", "suffix2=og", "token[-1]=<boundary-1>"} <= set(names)
    assert out.data.shape == (5, len(names))


def test_union_of_vectorizers():
    union = FeatureUnion([("a", SequenceVectorizer()), ("b", SequenceVectorizer())])
    assert union.fit_transform(X).shape == (3, 10)
    assert union.get_feature_names_out()[0] == "a__The"


def test_union_of_equal_names_is_refused():
    union = FeatureUnion([("a", TokenFeatures()), ("b", TokenFeatures("simple"))])
    with pytest.raises(ValueError, match="must differ"):
        union.fit_transform(X)


@pytest.mark.parametrize("transformer", TRANSFORMERS, ids=lambda t: type(t).__name__)
def test_pandas_output(transformer):
    pytest.importorskip("pandas")
    expected = clone(transformer).fit_transform(X)
    transformer = clone(transformer).set_output(transform="pandas")
    for frame in (transformer.fit_transform(X), transformer.transform(X)):
        assert list(frame.columns) == list(transformer.get_feature_names_out())
        assert frame.index.to_list() == [(0, 0), (0, 1), (0, 2), (2, 0), (2, 1)]
        if isinstance(transformer, SequenceVectorizer):
            assert np.array_equal(frame.to_numpy(), expected.data.toarray())
        elif isinstance(transformer, WordVectors):
            assert np.array_equal(frame.to_numpy(), expected.data)
        else:
            for name in expected.data.names:
                symbols = frame[name].astype(object)
                symbols = symbols.where(symbols.notna(), None)
                assert symbols.tolist() == expected.data.column(name).tolist()


def test_pandas_output_of_a_whole_pipeline():
    pytest.importorskip("pandas")
    expected = make_steps().fit_transform(X)
    with config_context(transform_output="pandas"):
        frame = make_steps().fit_transform(X)
    assert np.array_equal(frame.to_numpy(), expected.data.toarray())


def test_other_containers_are_refused():
    transformer = TokenFeatures().set_output(transform="polars")
    with pytest.raises(ValueError, match="can be 'default' or 'pandas'"):
        transformer.transform(X)


def test_frames_keep_their_rows_and_are_read_in_the_order_of_their_index():
    pd = pytest.importorskip("pandas")
    index = pd.MultiIndex.from_tuples([("s", 1), ("t", 0), ("s", 0)])
    frame = pd.DataFrame({"w": ["b", "c", "a"], "n": [1, None, 2]}, index=index)
    out = Window(["w[-1]"]).transform(frame)
    assert out.data.column("w[-1]").tolist() == ["<boundary-1>", "a", "<boundary-1>"]
    as_frame = Window(["w[-1]", "n[0]"]).set_output(transform="pandas").fit_transform(frame)
    assert as_frame.index.equals(index)
    assert as_frame["w[-1]"].tolist() == ["a", "<boundary-1>", "<boundary-1>"]
    assert as_frame["n[0]"].isna().tolist() == [False, True, False]
    single = TokenFeatures(["lower"], column="w").transform(frame.reset_index(drop=True))
    assert single.lengths.tolist() == [1, 1, 1]
    attributes = SequenceVectorizer().fit(frame).get_feature_names_out()
    assert set(attributes) == {"w=a", "w=b", "w=c", "n"}


@for_each("transformer", TRANSFORMERS)
def test_a_column_of_lists_is_refused_by_its_name(transformer):
    index = pd.MultiIndex.from_tuples([(0, 0), (0, 1)])
    frame = pd.DataFrame({"word": ["dog", "barks"], "tags": [["N"], ["V"]]}, index)
    for X in (frame, frame.reset_index(drop=True), frame["tags"]):
        with pytest.raises(ValueError, match="X, column 'tags': unhashable type: 'list'"):
            clone(transformer).fit(X)


@for_each("transformer", TRANSFORMERS)
def test_a_series_is_one_column(transformer):
    transformer, tokens = clone(transformer), pd.Series([*chain.from_iterable(X)], name="token")
    transformer.set_params(**{"template": "U00:%x[0,0]"} if "template" in vars(transformer) else {})
    tokens.index = pd.MultiIndex.from_tuples([(0, 0), (0, 1), (0, 2), (2, 0), (2, 1)])
    of_lists = clone(transformer).fit([X[0], X[2]]).transform([X[0], X[2]])
    assert transformer.fit(tokens).transform(tokens) == of_lists
    assert transformer.fit(pd.Series(X)).transform(pd.Series(X)) == transformer.transform(X)


@for_each(
    ("transformer", "message"),
    [
        (TokenFeatures(5), "features must be a list, but is 5"),
        (Window(True), "templates must be a list"),
        (Window([2**70]), f"the offset {2**70} is outside of every sequence"),
        (WordClusters({"a": "01"}, prefixes=4), "prefixes must be a list"),
        (Gazetteer({"x": 5}), r"lists\['x'\] must be a list"),
        (Gazetteer({"x": [True]}), r"lists\['x'\]: a phrase must be a list, but is True"),
        (SequenceVectorizer(separator=5), "separator must be a str"),
        (SequenceVectorizer(dtype=object), "dtype must be a type of numbers"),
        (SequenceVectorizer(dtype="nonsense"), "dtype must be a type of numbers"),
        (SequenceVectorizer(dtype=np.float16), "dtype must be a type of numbers"),
    ],
)
def test_parameters_of_the_wrong_kind_are_named(transformer, message):
    with pytest.raises(ValueError, match=message):
        transformer.fit_transform(X)


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_numbers_too_large_for_the_type_are_named(dtype):
    dicts = [[{"n": 1}], [{"n": 2, "w": "a"}, {"w": "b", "n": -1e300}]]
    with pytest.raises(ValueError, match=r"X, sequence 1, position 1: -1e\+300 is too large for"):
        SequenceVectorizer(dtype=dtype).fit_transform(dicts)
