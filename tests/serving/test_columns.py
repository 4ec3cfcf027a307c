"""Taggers whose tokens have several columns, or go through the steps of a pipeline."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.pipeline import make_pipeline

from sklearn_crcrf import CRF, EmpiricalCRF, StructuredPerceptron, make_sequence_pipeline
from sklearn_crcrf.base.unwrap import tagger_of
from sklearn_crcrf.feature_extraction import (
    Gazetteer,
    SequenceVectorizer,
    TokenFeatures,
    Window,
    WordClusters,
    text_features,
)
from sklearn_crcrf.feature_extraction.spelling import SIMPLE_FEATURES
from sklearn_crcrf.serving import load_tagger
from sklearn_crcrf.serving.columns import read_columns, step_of

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

WORDS = [
    *("the", "dog", "a|b", "<boundary-1>", "x\\y", "É", "walks-in", "日本", "İstan", "1-2", ""),
    *("McX", "sings", "\\<boundary+1>|", "-", "a-", "\0"),
]


def corpus(n, seed=0):
    rng = np.random.default_rng(seed)
    X = [
        [WORDS[rng.integers(len(WORDS))] + "s" * rng.integers(2) for _ in range(rng.integers(8))]
        for _ in range(n)
    ]
    return X, [[f"L{(len(word) + rng.integers(2)) % 4}" for word in s] for s in X]


def dicts(X):
    """Feature dicts with a tag that some tokens lack, and what becomes columns of its own."""
    return [
        [
            {
                "word": word,
                "b": len(word) > 3,
                "i": len(word),
                "f": np.float32(0.5 * t),
                "n": {"k": word[-1:]},
                "l": ["p", "q"][: t % 3],
            }
            | ({"tag": word[:1]} if t % 4 else {})
            for t, word in enumerate(sequence)
        ]
        for sequence in X
    ]


X, Y = corpus(60)
OTHERS, _ = corpus(40, seed=1)


def check(estimator, X, tolerance=0.0):
    """The tagger gives the same labels, and the same bits if the tolerance is zero."""
    tagger = tagger_of(estimator)
    wanted = [list(labels) for labels in estimator.predict(X)]
    assert [tagger(tokens) for tokens in X] == wanted == tagger.many(X)
    for tokens, probabilities in zip(X, estimator.predict_proba(X), strict=True):
        found = tagger.probabilities(tokens)
        np.testing.assert_allclose(found, probabilities, rtol=0.0, atol=tolerance)


@pytest.mark.parametrize(
    "transformers",
    [
        [text_features("names")],
        [text_features("chunks")],
        [text_features("tags")],
        [TokenFeatures(["simple", *SIMPLE_FEATURES]), SequenceVectorizer(separator=":")],
        [Window([(0, 1), (-1, 0, 1), -3, "token[2]"]), SequenceVectorizer(min_freq=2)],
        [WordClusters({"the": "0010", "dog": "011"}, (2, 3), True), SequenceVectorizer()],
        ["passthrough", SequenceVectorizer()],
    ],
    ids=lambda transformers: type(transformers[0]).__name__,
)
def test_pipelines(transformers):
    check(make_pipeline(*transformers, CRF(max_iter=3)).fit(X, Y), OTHERS)


def test_pipelines_of_feature_dicts():
    windows = Window(["word[-1]|tag[1]", "suffix2[0]", "n:k[1]", "l:p[0]|b[-1]"])
    for transformers in ([TokenFeatures()], [TokenFeatures(column="tag"), windows]):
        pipeline = make_sequence_pipeline(
            *transformers, SequenceVectorizer(), StructuredPerceptron(max_iter=2, random_state=0)
        )
        check(pipeline.fit(dicts(X), Y), dicts(OTHERS))
        assert pipeline.tagger().many(dicts(OTHERS)) == tagger_of(pipeline).many(dicts(OTHERS))


@pytest.mark.parametrize(("order", "tolerance"), [(1, 0.0), (2, 1e-3)])
def test_several_columns(order, tolerance):
    check(EmpiricalCRF(order=order).fit(dicts(X), Y), dicts(OTHERS), tolerance)
    pipeline = make_pipeline(TokenFeatures(["shape"]), EmpiricalCRF(order=order))
    check(pipeline.fit(X, Y), OTHERS, tolerance)
    crf = EmpiricalCRF(order=order)
    pairs = [[{"word": word, "end": word[-1:]} for word in sequence] for sequence in X]
    tagger = crf.fit(pairs, Y).tagger()
    for tokens in pairs:
        assert tagger([tuple(token.values()) for token in tokens]) == tagger(tokens)
    with pytest.raises(ValueError, match="position 1: the token has 3 columns, but the model has"):
        tagger([("a", "b"), ("a", "b", "c")])
    with pytest.raises(TypeError, match="position 0: the token must be a dict or a tuple, but is"):
        tagger(["a"])
    with pytest.raises(TypeError, match="position 0: 'end' must be a str, number, dict or list"):
        tagger([{"word": "a", "end": None}])


def test_files(tmp_path):
    pipeline = make_sequence_pipeline(text_features("names"), CRF(max_iter=3)).fit(X, Y)
    pipeline.tagger().save(tmp_path / "names")
    assert load_tagger(tmp_path / "names").many(OTHERS) == pipeline.tagger().many(OTHERS)
    for order in (2, 3):
        crf = EmpiricalCRF(order=order).fit(dicts(X), Y)
        crf.tagger().save(tmp_path / "columns")
        tagger = load_tagger(tmp_path / "columns")
        assert tagger.many(dicts(OTHERS)) == crf.predict(dicts(OTHERS)).tolist()
        for tokens, marginals in zip(dicts(OTHERS), crf.predict_proba(dicts(OTHERS)), strict=True):
            assert_allclose(tagger.probabilities(tokens), marginals, atol=2e-3)
            assert_allclose(tagger.confidence(tokens), crf.confidence([tokens]), atol=2e-3)
        assert tagger([]) == []


def test_what_taggers_cannot_do():
    pipeline = make_sequence_pipeline(Gazetteer({"a": ["the"]}), SequenceVectorizer(), CRF())
    with pytest.raises(ValueError, match="a tagger cannot do what Gazetteer"):
        pipeline.fit(X[:5], Y[:5]).tagger()
    with pytest.raises(ValueError, match="SequenceVectorizer as the last transformer, not Window"):
        CRF().fit(X, Y).tagger([Window().fit(X)])


def test_steps_of_damaged_files():
    for settings in ([], ["other"], ["spelling", "a"], ["window", [["a", "b"]], ["c"]], None, 3):
        with pytest.raises(ValueError, match=r"the step .* of the tagger is not valid"):
            step_of(settings)
    with pytest.raises(TypeError, match="tokens must be a list"):
        read_columns("abc", ["token"])
