"""Taggers of models that are trained by counting: the bits of the estimator."""

import pickle

import numpy as np
import pytest
from cases import for_each
from odd_words import ODD, corpus, others

from sklearn_crcrf import EmpiricalCRF, as_sequences
from sklearn_crcrf.base.classifier import BaseSequenceClassifier
from sklearn_crcrf.feature_extraction.spelling import spelling_table
from sklearn_crcrf.serving import Tagger, load_tagger
from sklearn_crcrf.serving.content import Content
from sklearn_crcrf.serving.counted import FEATURES, spell


def in_general(estimator):
    """The same estimator, which predicts as if it had no tagger."""
    twin = pickle.loads(pickle.dumps(estimator))
    twin.model_.word_tagger = False
    return twin


def check(estimator, X):
    tagger = estimator.tagger()
    found = [tagger(tokens) for tokens in X]
    assert found == in_general(estimator).predict(X).tolist()
    probabilities = in_general(estimator).predict_proba(X)
    for _ in range(2):
        assert found == estimator.predict(X).tolist()
        assert found == BaseSequenceClassifier.predict(estimator, X).tolist()
        again = estimator.predict_proba(X)
        for tokens, wanted in zip(again, probabilities, strict=True):
            np.testing.assert_array_equal(tokens, wanted)
    assert estimator.model_.word_tagger is not None
    assert found == [estimator.predict([tokens])[0] for tokens in X]
    # Of a second-order chain the estimator drops unlikely labels, and then adds in another order.
    rtol = 0.0 if estimator.order == 1 else 1e-3
    for tokens, wanted in zip(X, probabilities, strict=True):
        np.testing.assert_allclose(tagger.probabilities(tokens), wanted, rtol, atol=rtol)
    assert tagger.many(X) == [tagger(tokens) for tokens in X]
    confidence = [tagger.confidence(tokens) for tokens in X]
    np.testing.assert_allclose(confidence, estimator.confidence(X), rtol)
    for some in (X, X[:1], [[]], []):
        ids = tagger.label_ids(some)
        labels = [label for tokens in some for label in tagger(tokens)]
        assert [tagger.labels[i] for i in ids] == labels
        check_joined(tagger.scores_of_many(some), [tagger.scores(tokens) for tokens in some])


def check_joined(joined, each):
    """Many sequences have the state scores and edges that each sequence has alone."""
    states = [scores.state for scores in each]
    np.testing.assert_array_equal(joined.state, np.vstack([joined.state[:0], *states]))
    found = edges_of(joined.token_transitions)
    assert found == [token for scores in each for token in edges_of(scores.token_transitions)]


def edges_of(edges):
    """For each token the edges into it."""
    entries = [*zip(edges.previous, edges.current, edges.score, strict=True)]
    return [entries[slice(*edges.indptr[row : row + 2])] if row >= 0 else [] for row in edges.row]


@for_each(
    "parameters",
    [
        {},
        {"sigma": 3.0, "mu_oov": 0.5},
        {"order": 2},
        {"exponents": {"edges": 0.0, "token[+2]": 0.0}},
        {"exponents": {"token:suffix3[-1]|token:suffix3[+1]": 0.2, "token:shape[-1]/seldom": 0.3}},
        {"experts": ["token[-1]", "token[0]|token[-1]", "token:lower[-2]|token[+1]"]},
        {"experts": ["token[0]|token[+1]", "token[0]|token[+1]|token[-1]", "token[-2]|token[0]"]},
        {"experts": []},
    ],
)
def test_empirical_crf(parameters):
    check(EmpiricalCRF(**parameters).fit(*corpus(150)), others())


@for_each("n_labels", [1, 2, 30, 80])
def test_numbers_of_labels(n_labels):
    check(EmpiricalCRF().fit(*corpus(150, n_labels=n_labels)), others()[:80])


def test_one_token_and_frequent_words():
    check(EmpiricalCRF().fit([["a"]], [["A"]]), [["a"], ["b"], ["a", "b"], []])
    X, y = corpus(20)
    check(EmpiricalCRF().fit(X * 20, y * 20), others()[:80])


def test_after_more_and_less_data():
    X, y = corpus(100)
    crf = EmpiricalCRF().fit(X, y).partial_fit(*corpus(30, seed=5, most=1.0))
    check(crf, others()[:60])
    check(crf.forget(X[:50], y[:50]), others()[:60])


def test_spelling_is_that_of_feature_extraction():
    rng = np.random.default_rng(0)
    letters = [*map(chr, range(1, 0x250)), "日", "\u0301", "ǅ", "\ud800", "\U0001d400", "Σ", "ς"]
    some = ["".join(rng.choice(letters, rng.integers(1, 12))) for _ in range(3000)]
    every = [*ODD, *some]
    table = spelling_table(every, FEATURES)
    wanted = zip(*(table.column(feature) for feature in FEATURES), strict=True)
    assert [(*spell(word),) for word in every] == [*wanted]


def test_files_and_pickles(tmp_path):
    X, y = corpus(100)
    tagger = EmpiricalCRF().fit(X, y).tagger()
    tagger.save(tmp_path / "file")
    for one in (load_tagger(tmp_path / "file"), pickle.loads(pickle.dumps(tagger))):
        assert [one(tokens) for tokens in others()] == [tagger(tokens) for tokens in others()]


def test_any_byte_changed(tmp_path):
    X, y = corpus(10)
    EmpiricalCRF().fit(X, y).tagger().save(tmp_path / "file")
    data, rng = (tmp_path / "file").read_bytes(), np.random.default_rng(0)
    for place in rng.integers(0, len(data), 600):
        changed = bytearray(data)
        changed[place] ^= 1 << int(rng.integers(8))
        (tmp_path / "file").write_bytes(changed)
        try:
            tagger = load_tagger(tmp_path / "file")
            for tokens in [*X[:5], ODD]:
                assert set(tagger(tokens)) <= set(tagger.labels)
                tagger.probabilities(tokens)
        except ValueError:
            pass


def test_arrays_that_lie():
    content = EmpiricalCRF().fit(*corpus(30)).tagger()._content
    for name, array in content.arrays.items():
        is_strings = name.endswith((".key", ".blob", ".slots", ".starts"))
        worse = [array.astype(object)]
        if array.dtype.kind == "i" and not is_strings:
            worse += [np.full_like(array, 120), np.full_like(array, -100), array[:-1]]
            if array.dtype == np.int32:
                worse.append(np.full_like(array, 2**31 - 1))
        for other in worse:
            if other.size == 0:
                continue
            try:
                tagger = Tagger(Content(content.settings, {**content.arrays, name: other}))
                for tokens in others()[:60]:
                    assert set(tagger(tokens)) <= set(tagger.labels)
            except ValueError:
                pass
    for name in content.settings:
        with pytest.raises(ValueError, match=r"setting|no tagger"):
            Tagger(Content({**content.settings, name: None}, content.arrays))


def test_what_has_no_tagger():
    X, y = corpus(30)
    for parameters, message in (
        ({"zeros": "floored"}, 'zeros="smoothed"'),
        ({"spelling": "joint"}, 'spelling="product"'),
        ({"experts": ["token[-1]|token[0]|token[+1]|token[+2]"]}, "at most three symbols"),
    ):
        with pytest.raises(ValueError, match=message):
            EmpiricalCRF(**parameters).fit(X, y).tagger()
    many = [[{"w": "a", **{f"c{i}": "x" for i in range(16)}}]]
    with pytest.raises(
        ValueError, match="at most 16 kinds of rates of two labels, but the columns"
    ):
        EmpiricalCRF(observation="w").fit(many, [["A"]]).tagger()
    few = EmpiricalCRF(observation="w", experts=["w[+1]"]).fit(many, [["A"]])
    assert few.tagger()(many[0]) == ["A"]
    with pytest.raises(ValueError, match="columns of strings"):
        EmpiricalCRF().fit([np.eye(2)], [["A", "B"]]).tagger()


def test_tokens_must_be_strings():
    tagger = EmpiricalCRF().fit(*corpus(30)).tagger()
    with pytest.raises(TypeError, match=r"^tokens, position 1: the token must be a str, but is 3"):
        tagger(["a", 3])
    with pytest.raises(TypeError, match="tokens must be a list"):
        tagger("the")
    assert tagger([np.str_("dog")]) == tagger(["dog"])
    assert len(tagger(["x" * 10**5, "日" * 10**5])) == 2


def test_predict_by_the_kernel_of_taggers():
    X, y = corpus(60)
    crf = EmpiricalCRF().fit(X, y)
    for more in (None, corpus(20, seed=3)):
        if more is not None:
            crf.partial_fit(*more)
        first = crf.predict(others())
        assert first.tolist() == crf.predict(others()).tolist()
        assert crf.model_.word_tagger is not None
        assert first.tolist() == crf.set_params(n_jobs=2).predict(others()).tolist()
        crf.set_params(n_jobs=None)
    assert pickle.loads(pickle.dumps(crf)).model_.word_tagger is None
    assert crf.predict([]).tolist() == [] and crf.predict([[]]).tolist() == [[]]
    with pytest.raises(ValueError, match="sequence 1, position 0: the token must be a str"):
        crf.predict([["a"], [3]])
    flat = crf.predict(as_sequences(X).X)
    assert flat.data.dtype == crf.classes_.dtype
    assert [list(labels) for labels in flat] == crf.predict(X).tolist()
    crf.fit_exponents(X, y)
    assert crf.predict(X).tolist() == crf.predict(X).tolist()
