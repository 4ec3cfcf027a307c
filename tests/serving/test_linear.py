"""Taggers of classifiers with linear scores: the bits of the classifier."""

import pickle
import threading

import numpy as np
import pytest
from cases import for_each

from sklearn_crcrf import (
    CRF,
    MEMM,
    CRFsuiteCRF,
    EmpiricalCRF,
    GraphCRF,
    MaxMarginCRF,
    OutputCodeCRF,
    StructuredPerceptron,
)
from sklearn_crcrf.serving import load_tagger

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

WORDS = [*(f"w{i}" for i in range(40)), "日本", "é", "", "a\0b", "\ud800"]


def tokens(rng, n):
    return [
        {
            "w": WORDS[rng.integers(len(WORDS))],
            "x": float(rng.random()),
            "b": bool(rng.integers(2)),
            "n": {"k": f"v{rng.integers(3)}", "l": ["a", "b"][: rng.integers(3)]},
        }
        for _ in range(n)
    ]


def corpus(n, n_labels=5, seed=0):
    rng = np.random.default_rng(seed)
    X = [tokens(rng, rng.integers(0, 12)) for _ in range(n)]
    return X, [[f"L{rng.integers(n_labels)}" for _ in sequence] for sequence in X]


def check(estimator, X, tagger=None):
    """The tagger gives the same bits."""
    tagger = estimator.tagger() if tagger is None else tagger
    assert [tagger(tokens) for tokens in X] == [list(labels) for labels in estimator.predict(X)]
    for tokens, wanted in zip(X, estimator.predict_proba(X), strict=True):
        probabilities = tagger.probabilities(tokens)
        assert probabilities.dtype == wanted.dtype
        np.testing.assert_array_equal(probabilities, wanted)
    confidence = [tagger.confidence(tokens) for tokens in X]
    np.testing.assert_array_equal(confidence, estimator.confidence(X))
    check_many(tagger, X)


def check_many(tagger, X):
    """Many sequences have the scores and labels that each sequence has alone."""
    for some in (X, X[:1], [[]], []):
        states = [tagger.scores(tokens).state for tokens in some]
        joined = tagger.scores_of_many(some)
        assert joined.state.shape == (sum(map(len, some)), len(tagger.labels))
        np.testing.assert_array_equal(joined.state, np.vstack([joined.state[:0], *states]))
        labels = [label for tokens in some for label in tagger(tokens)]
        assert [tagger.labels[i] for i in tagger.label_ids(some)] == labels


@for_each(
    "parameters",
    [
        {},
        {"features": "observed"},
        {"c1": 0.1},
        {"min_freq": 3, "boundaries": True},
        {"dtype": "float32"},
        {"dtype": "float32", "features": "observed"},
        {"decoding": "marginal"},
    ],
)
def test_crf(parameters):
    X, y = corpus(40)
    check(CRF(max_iter=10, **parameters).fit(X, y), corpus(60, seed=1)[0])


@for_each("n_labels", [1, 2, 3, 9, 20, 70])
def test_numbers_of_labels(n_labels):
    X, y = corpus(60, n_labels)
    check(CRF(max_iter=3, boundaries=True).fit(X, y), corpus(30, seed=1)[0])


def test_other_classifiers():
    X, y = corpus(40)
    check(StructuredPerceptron(max_iter=3, random_state=0).fit(X, y), X)
    check(MaxMarginCRF(max_iter=3).fit(X, y), X)


def test_crfsuite():
    X, y = corpus(40)
    X = [[list(token) + list(token) if "a" in token["n"]["l"] else token for token in s] for s in X]
    crf = CRFsuiteCRF(max_iterations=5).fit(X, y)
    tagger = crf.tagger()
    assert [tagger(tokens) for tokens in X] == crf.predict(X).tolist()
    for tokens, wanted in zip(X, crf.predict_marginals(X), strict=True):
        found = tagger.probabilities(tokens)
        assert [dict(zip(tagger.labels, row, strict=True)) for row in found.tolist()] == wanted


def test_token_strings_and_dicts_mixed():
    X = [["the", "dog"], ["a", "cat", "a"]]
    crf = CRF(max_iter=5).fit(X, [["D", "N"], ["D", "N", "D"]])
    check(crf, [["the", "cat"], ["the", "unknown", ""], [], ["日本", {"the": 0.5, "dog": True}]])
    assert crf.tagger()(("the", "dog")) == ["D", "N"] == crf.tagger()(iter(["the", "dog"]))
    assert crf.tagger()(np.array(["the", "dog"])) == ["D", "N"]


def test_tokens_with_many_attributes():
    rng = np.random.default_rng(0)
    X = [[{"l": [f"a{i}" for i in rng.permutation(200)], "x": 2.0} for _ in range(3)]]
    X += [[{"l": [f"a{i}" for i in rng.permutation(200)[:90]]} for _ in range(4)]]
    check(CRF(max_iter=5).fit(X, [["A", "B", "C"], ["A", "B", "C", "A"]]), X)


def test_probabilities_close_to_zero():
    X, y = [["a", "b"] * 5], [["A", "B"] * 5]
    crf = CRF(max_iter=5).fit(X, y)
    crf.coef_ = crf.coef_ * 1e4
    check(crf, [["a", "b", "b", "a"], ["a"]])


def test_long_sequences():
    X, y = corpus(40, 3)
    crf = StructuredPerceptron(max_iter=2, random_state=0).fit(X, y)
    check(crf, [[token for sequence in X for token in sequence] * 60])


def fitted():
    X = [["the", "dog"], ["a", "cat"]]
    return CRF(max_iter=5).fit(X, [["D", "N"], ["D", "N"]])


def test_a_tagger_does_not_change():
    crf = fitted()
    tagger = crf.tagger()
    before = tagger.probabilities(["the", "dog"])
    crf.coef_ *= 2
    crf.transitions_ += 1
    np.testing.assert_array_equal(tagger.probabilities(["the", "dog"]), before)
    with pytest.raises(AttributeError):
        tagger.labels = ("A", "B")
    assert repr(tagger) == "<Tagger of 2 labels>"


def test_pickle(tmp_path):
    tagger = fitted().tagger()
    tagger.save(tmp_path / "file")
    for one in (tagger, load_tagger(tmp_path / "file")):
        assert pickle.loads(pickle.dumps(one))(["the", "dog"]) == ["D", "N"]


def test_threads():
    X, y = corpus(60, 20)
    tagger = CRF(max_iter=3).fit(X, y).tagger()
    X.append(X[0] * 400)  # long enough to give up the interpreter lock
    wanted, found = [tagger(tokens) for tokens in X], []

    def work():
        found.append([tagger(tokens) for _ in range(3) for tokens in X])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [wanted * 3] * 4


def test_what_has_no_tagger():
    X, y = corpus(20)
    with pytest.raises(ValueError, match="transitions depend on attributes"):
        CRF(max_iter=2, edge_columns=["w"]).fit(X, y).tagger()
    with pytest.raises(ValueError, match="X was numeric"):
        CRF(max_iter=2).fit([np.eye(2)], [["A", "B"]]).tagger()
    with pytest.raises(ValueError, match="not fitted"):
        CRF().tagger()
    for estimator in (MEMM(), GraphCRF(), OutputCodeCRF()):
        assert not hasattr(estimator, "tagger")


def test_lists_of_attributes():
    X = [[["the", "det"], ["dog"]], [["dog", "dog"], "det"]]
    crf = CRF().fit(X, [["D", "N"], ["N", "D"]])
    assert crf.tagger().many(X) == [list(labels) for labels in crf.predict(X)]


def test_tokens_of_many_attributes():
    rng = np.random.default_rng(0)
    names = [f"a{i}" for i in range(400)]
    sizes = 300, 257, 256, 90, 17, 16, 15, 3, 1, 0
    X = [[{name: rng.normal() for name in rng.permutation(names)[:n]} for n in sizes]]
    X[0] += [{"l": rng.choice(names, n).tolist()} for n in (50, 500)]  # some several times
    crf = CRF(max_iter=5).fit(X, [["A", "B"] * 6])
    np.testing.assert_array_equal(crf.tagger().probabilities(X[0]), crf.predict_proba(X)[0])


def test_errors_name_the_position():
    crf = fitted()
    tagger = crf.tagger()
    with pytest.raises(TypeError, match="tokens, position 1: the token must be a str or a dict"):
        tagger(["the", 3])
    for many in (tagger.many, tagger.label_ids, tagger.scores_of_many):
        with pytest.raises(TypeError, match="sequence 1: tokens, position 0: the token must be a"):
            many([["the"], [3]])
    with pytest.raises(TypeError, match="tokens must be a list of the tokens of one sequence, but"):
        tagger(None)
    both = {"word": "the", "last": "e"}
    counted = (EmpiricalCRF().fit(X, [["D", "N"]]) for X in ([["a", "b"]], [[both, both]]))
    for each in (tagger, *(model.tagger() for model in counted)):
        for wrong in ({"the", "dog"}, frozenset({"the"}), {"the": 1}.keys(), "the", None):
            said = rf"tokens must be a list of the tokens .* of type {type(wrong).__name__}"
            with pytest.raises(TypeError, match=said):
                each(wrong)
    crf.coef_ *= 1e10
    tagger = crf.tagger()
    with pytest.raises(ValueError, match="tokens, position 1: the scores of labels are not finite"):
        tagger(["the", {"the": 1e308}] * 2)
    with pytest.raises(ValueError, match="the scores of labels are not finite"):
        tagger.probabilities([{"the": 1e308}])


def test_no_path_is_possible():
    allowed = np.array([[False, True], [False, False]])  # "D" and "N", in this order
    crf = CRF(max_iter=5, constraints=allowed).fit([["the", "dog"]], [["D", "N"]])
    check(crf, [["the", "dog"], ["dog"]])
    tokens = ["the", "dog", "dog"]
    tagger = crf.tagger()
    with pytest.raises(ValueError, match="no path of the tokens is possible"):
        tagger(tokens)
    with pytest.raises(ValueError, match="no path of the tokens is possible"):
        tagger.probabilities(tokens)
    assert tagger.confidence(tokens) == 0.0 == crf.confidence([tokens])[0]
