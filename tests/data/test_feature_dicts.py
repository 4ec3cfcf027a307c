"""Feature dicts that are nested without end are refused by every reader, with their place."""

import pytest
from cases import for_each
from sklearn.base import clone
from sklearn_crcrf._kernels.text.tokens import number_items

from sklearn_crcrf import (
    CRF,
    HMM,
    CRFsuiteCRF,
    EmpiricalCRF,
    SequenceVectorizer,
    StructuredPerceptron,
    Window,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

X, y = [[{"w": "a"}, {"w": "b"}], [{"w": "b"}]], [["A", "B"], ["B"]]


def nested(levels, n_copies=1):
    """A feature dict with levels of dicts, each of which holds the next one several times."""
    token, names = {"w": "a"}, [*map(str, range(n_copies))]
    for _ in range(levels - 1):
        token = dict.fromkeys(names, token)
    return token


def cyclic():
    """A feature dict that contains itself twice."""
    token = {"w": "a"}
    token["self"] = token
    token["again"] = token
    return token


ENDLESS = {
    "cyclic": (cyclic(), "nested more than 100 levels deep, or contains itself"),
    "deep": (nested(101), "nested more than 100 levels deep, or contains itself"),
    "very deep": (nested(200_000), "nested more than 100 levels deep"),
}


@for_each(
    "estimator",
    [
        CRF(max_iter=1),
        HMM(),
        EmpiricalCRF(),
        StructuredPerceptron(max_iter=1),
        SequenceVectorizer(),
        Window(),
    ],
)
@for_each("name", ["cyclic", "very deep"])
def test_estimators(estimator, name):
    token, message = ENDLESS[name]
    bad = [[{"w": "a"}, token], [{"w": "b"}]]
    with pytest.raises(
        ValueError, match=rf"X, sequence 0, position 1: the feature dict .*{message}"
    ):
        clone(estimator).fit(bad, y)
    fitted = clone(estimator).fit(X, y)
    ask = fitted.predict if hasattr(fitted, "predict") else fitted.transform
    with pytest.raises(ValueError, match=message):
        ask(bad)


def test_items_of_crfsuite():
    with pytest.raises(ValueError, match=r"contains itself|nested|must be"):
        CRFsuiteCRF().fit([[cyclic(), {"w": "a"}], [{"w": "b"}]], y)


@for_each("name", ENDLESS)
@for_each("estimator", [CRF(max_iter=1), EmpiricalCRF()])
def test_taggers(estimator, name):
    token, message = ENDLESS[name]
    tagger = clone(estimator).fit(X, y).tagger()
    for ask in (tagger, tagger.probabilities, lambda tokens: tagger.many([tokens])):
        with pytest.raises(ValueError, match=rf"position 1: the feature dict .*{message}"):
            ask([{"w": "a"}, token])


def test_more_attributes_than_any_token_has():
    wide, tagger = nested(60, 2), CRF(max_iter=1).fit(X, y).tagger()
    with pytest.raises(ValueError, match="has more than 1,048,576 attributes in nested dicts"):
        tagger([wide])


def test_a_dict_twice_is_no_cycle():
    shared = {"pos": "D", "list": ["x", "y"]}
    rows = [[{"here": shared, "there": shared}, {"here": shared}], [{"here": nested(99)}]]
    crf = CRF(max_iter=1).fit(rows, y)
    assert crf.tagger().many(rows) == crf.predict(rows).tolist()


def test_names_and_order():
    token = {"a": {"b": "x", "c": {"d": 2.0, "e": ["f", "g"]}}, "h": {"z", "y"}, "i": True}
    keys, symbols, key_ids, symbol_ids, starts = number_items([{"a": "1"}, token], str)
    assert [keys[i] for i in key_ids] == [
        "a",
        "a:b",
        "a:c:d",
        "a:c:e:f",
        "a:c:e:g",
        "h:y",
        "h:z",
        "i",
    ]
    assert [symbols[i] for i in symbol_ids] == ["1", "x", "2.0"] + ["True"] * 5
    assert starts.tolist() == [0, 1, 8]


@for_each("value", [nested(5000), [[[]]] * 3, cyclic()])
@for_each("estimator", [CRF(max_iter=1), EmpiricalCRF()])
def test_labels_that_are_nested_are_named(estimator, value):
    with pytest.raises(ValueError, match=r"y, sequence 1, position 0: .* but is "):
        clone(estimator).fit(X, [["A", "B"], [value]])


def test_lists_that_contain_themselves():
    endless = []
    endless.append(endless)
    for bad in (endless, [endless], [[endless]]):
        with pytest.raises(ValueError, match="X"):
            CRF(max_iter=1).fit(bad, [["A"]])
    for bad in (endless, [endless, endless]):
        with pytest.raises(ValueError, match="y"):
            CRF(max_iter=1).fit(X, bad)
