"""The model is what its definition says: against every labelling of short sequences."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from cases import for_each
from log_linear import distribution, log_likelihood, marginals, objective, rows_of, score
from numpy.testing import assert_allclose
from toy import make_corpus, with_tags

from sklearn_crcrf import CRF, SequenceArray
from sklearn_crcrf.feature_extraction import SequenceVectorizer

X, y = make_corpus(n_sequences=25)
SHORT = [x for x in X if len(x) <= 4][:6]
RNG = np.random.default_rng(0)
ROWS = [RNG.normal(size=(len(x), 3)) for x in X]

MODELS = [
    CRF(),
    CRF(sigma=0.3, boundaries=True),
    CRF(features="observed"),
    CRF(features="observed", c1=0.5, boundaries=True),
    CRF(min_freq=3),
]


def assert_is(crf, x, rows, **options):
    """All ways to predict agree with the enumeration."""
    paths, probability = distribution(crf, rows, **options)
    best = np.argsort(-probability, kind="stable")
    assert crf.predict([x])[0] == crf.classes_[list(paths[best[0]])].tolist()
    assert_allclose(crf.confidence([x]), probability[best[0]])
    assert_allclose(crf.predict_proba([x])[0], marginals(crf, paths, probability), atol=1e-12)
    (found,) = crf.predict_k_best([x], k=3)
    assert_allclose([p for _, p in found], probability[best[:3]])
    for labels, p in found:
        ids = tuple(crf.classes_.tolist().index(label) for label in labels)
        assert_allclose(p, probability[paths.index(ids)])
    known = probability > 0
    entropy = -(probability[known] @ np.log(probability[known]))
    assert_allclose(crf.entropy([x]), entropy, atol=1e-10)


@for_each("crf", MODELS)
def test_token_strings(crf):
    crf.fit(X, y)
    for x in SHORT:
        assert_is(crf, x, rows_of(crf, x))


@for_each("crf", [*MODELS[:4], CRF(edge_columns=[0, 2])])
def test_rows_of_numbers(crf):
    edges = list(crf.edge_columns)
    crf.fit(ROWS, y)
    for rows in ROWS[:6]:
        assert_is(crf, rows[:4], rows[:4], edges=edges)


def test_scores_are_linear():
    crf = CRF().fit(ROWS, y)
    rows = ROWS[3][:2]
    scores = rows @ crf.coef_
    paths = scores[0][:, None] + crf.transitions_ + scores[1]
    probability = np.exp(paths) / np.exp(paths).sum()
    assert_allclose(crf.predict_proba([rows])[0][0], probability.sum(axis=1))
    assert_allclose(crf.confidence([rows]), probability.max())
    assert_allclose(crf.begin_, 0)
    assert_allclose(crf.end_, 0)


def test_columns_that_transitions_depend_on():
    tagged = with_tags(X)
    crf = CRF(edge_columns=["tag"]).fit(tagged, y)
    names = SequenceVectorizer().fit(tagged).get_feature_names_out()
    edges = [k for k, name in enumerate(names) if name.startswith("tag=")]
    assert crf.edge_coef_.shape == (len(edges), 4, 4)
    for x in tagged[:6]:
        rows = SequenceVectorizer().fit(tagged).transform([x[:4]]).data.toarray()
        assert_is(crf, x[:4], rows, edges=edges)
    renamed = [[{"a=b": token["tag"], "a": token["word"]} for token in x] for x in tagged]
    assert CRF(edge_columns=["a=b"]).fit(renamed, y).edge_coef_.shape == (len(edges), 4, 4)
    of_words = CRF(edge_columns=["token"]).fit(X, y)
    assert of_words.edge_coef_.shape == (len(of_words.attribute_names_), 4, 4)
    for x in SHORT:
        assert_is(of_words, x, rows_of(of_words, x), edges=range(len(of_words.attribute_names_)))


OBJECTIVES = [
    ({}, {}),
    ({"sigma": 0.5, "boundaries": True}, {}),
    ({"features": "observed", "c1": 0.3}, {}),
    ({"edge_columns": [1]}, {"edges": [1]}),
    ({"solver": "newton-cg", "boundaries": True}, {}),
    ({"solver": "sgd", "random_state": 0, "max_iter": 3}, {}),
]


@pytest.mark.filterwarnings("ignore:training did not converge")
@for_each(("parameters", "options"), OBJECTIVES)
def test_the_loss_curve_ends_with_the_objective(parameters, options):
    short = [(rows[:4], labels[:4]) for rows, labels in zip(ROWS, y, strict=True)]
    crf = CRF(**parameters).fit(*zip(*short, strict=True))
    assert_allclose(crf.loss_curve_[-1], objective(crf, short, **options))


UNIQUE = ["A", "B", {"C", "D"}, None]


@for_each("boundaries", [False, True])
@for_each("kind", ["dense", "sparse"])
def test_the_objective_of_partial_labels(kind, boundaries):
    rng = np.random.default_rng(1)
    labels = [[UNIQUE[i] for i in rng.integers(4, size=min(4, len(x)))] for x in X]
    rows = [r[: len(s)] for r, s in zip(ROWS, labels, strict=True)]
    crf = CRF(boundaries=boundaries)
    crf.fit(rows if kind == "dense" else [sp.csr_array(r) for r in rows], labels)
    assert_allclose(crf.loss_curve_[-1], objective(crf, list(zip(rows, labels, strict=True))))


def test_the_objective_under_constraints():
    follow = {"A": ["A", "B", "C"], "B": ["B", "D"], "C": {"A", "D"}}
    allowed = np.array([[b in follow.get(a, "ABCD") for b in "ABCD"] for a in "ABCD"])

    def is_possible(path):
        return all(allowed[i, j] for i, j in pairwise(path))

    labels = [["A", "B", "D", "D"], ["C", "A", None], ["B", "B", {"B", "D"}], ["D", "C"]] * 3
    rows = [np.random.default_rng(i).normal(size=(len(s), 2)) for i, s in enumerate(labels)]
    crf = CRF(constraints=follow, boundaries=True).fit(rows, labels)
    corpus = list(zip(rows, labels, strict=True))
    assert_allclose(crf.loss_curve_[-1], objective(crf, corpus, is_possible=is_possible))
    new = [np.random.default_rng(5).normal(size=(4, 2)) * 5]
    assert_is(crf, new[0], new[0], is_possible=is_possible)


def test_samples_follow_the_distribution():
    crf = CRF().fit(ROWS, y)
    rows = ROWS[3][:3]
    paths, probability = distribution(crf, rows)
    drawn = crf.sample([rows], n_samples=4000, random_state=0)
    best = crf.classes_[list(paths[probability.argmax()])].tolist()
    share = np.mean([labels[0] == best for labels in drawn])
    assert share == pytest.approx(probability.max(), abs=0.03)


def test_decoding_by_marginals():
    crf = CRF(sigma=0.3).fit(X, y)
    best = crf.predict(X)
    crf.set_params(decoding="marginal")
    expected = [crf.classes_[p.argmax(axis=1)].tolist() for p in crf.predict_proba(X)]
    assert crf.predict(X).tolist() == expected
    assert expected != best.tolist()


def test_labels_that_are_known_at_prediction():
    crf = CRF().fit(ROWS, y)
    rows = max(ROWS, key=len)[:3]
    known = ["B", None, {"C", "D"}]
    paths, probability = distribution(crf, rows)
    agree = [path for path in paths if path[0] == 1 and path[2] in (2, 3)]
    best = max(agree, key=lambda path: score(crf, rows, path))
    assert crf.predict([rows], allowed=[known])[0] == crf.classes_[list(best)].tolist()
    assert np.exp(log_likelihood(crf, rows, known)) == pytest.approx(
        sum(probability[paths.index(path)] for path in agree)
    )


def test_weights_are_readable():
    crf = CRF(features="observed", c1=1.0).fit(X, y)
    dense = crf.coef_.toarray()
    found = {
        (str(name), str(label)): dense[i, j]
        for i, name in enumerate(crf.attribute_names_)
        for j, label in enumerate(crf.classes_)
        if dense[i, j]
    }
    assert crf.state_features_ == found
    assert 0 < len(found) < crf.coef_.nnz
    transitions = crf.transition_features_
    assert len(transitions) == np.count_nonzero(crf.transitions_)
    assert transitions["A", "B"] == crf.transitions_[0, 1]


def test_empty_sequences_between_others():
    crf = CRF().fit([[], *X, []], [[], *y, []])
    expected = CRF().fit(X, y)
    assert_allclose(crf.coef_, expected.coef_)
    assert crf.confidence([[], X[0], []]).tolist() == [1, expected.confidence([X[0]])[0], 1]
    assert crf.predict_k_best([[]], k=3) == [[([], 1.0)]]
    assert isinstance(crf.predict(SequenceArray.from_sequences([[]])), SequenceArray)
