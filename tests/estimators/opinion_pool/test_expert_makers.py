"""Experts that differ: by their attributes, their positions and their labels."""

from itertools import product

import numpy as np
import oracle
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks
from toy import make_corpus

from sklearn_crcrf import CRF, OpinionPoolCRF, SequenceArray
from sklearn_crcrf.estimators.opinion_pool import (
    MergedLabels,
    RandomAttributes,
    label_experts,
    positional_experts,
    random_experts,
)
from sklearn_crcrf.estimators.opinion_pool.relabelled import relabelled
from sklearn_crcrf.feature_extraction import SequenceVectorizer
from sklearn_crcrf.structures import Scores, TokenTransitions

X, y = make_corpus(n_sequences=40)
X, y = [s[:4] for s in X], [s[:4] for s in y]


@parametrize_with_checks(
    [RandomAttributes(random_state=0), MergedLabels(CRF(boundaries=True), [0, 1])]
)
def test_estimator_checks(estimator, check):
    check(estimator)


def test_random_attributes():
    rows = np.random.default_rng(0).normal(size=(6, 10))
    some = RandomAttributes(0.3, random_state=0).fit(rows)
    assert len(some.columns_) == 3
    assert np.array_equal(some.transform(rows), rows[:, some.columns_])
    assert (some.transform(sp.csr_array(rows)) != sp.csr_array(rows[:, some.columns_])).nnz == 0
    flat = SequenceArray(rows, [0, 2, 6])
    assert some.transform(flat) == SequenceArray(rows[:, some.columns_], [0, 2, 6])
    assert some.transform([rows[:2], rows[2:]]) == some.transform(flat)
    assert some.get_feature_names_out().tolist() == [f"x{j}" for j in some.columns_]
    assert len(RandomAttributes(1e-9).fit(rows).columns_) == 1
    assert RandomAttributes(1.0).fit(rows).columns_.tolist() == list(range(10))
    with pytest.raises(ValueError, match="SequenceVectorizer"):
        RandomAttributes().fit(X)
    with pytest.raises(ValueError, match="9 features"):
        some.transform([rows[:, :9]])


def test_random_experts():
    experts = random_experts(CRF(sigma=10.0), 3, random_state=0)
    pool = OpinionPoolCRF([("all", CRF(sigma=10.0)), *experts], random_state=0)
    pipeline = make_pipeline(SequenceVectorizer(), pool).fit(X, y)
    columns = [expert[0].columns_.tolist() for expert in pipeline[-1].estimators_[1:]]
    assert len(set(map(tuple, columns))) == 3
    again = make_pipeline(SequenceVectorizer(), clone(pool)).fit(X, y)
    assert pipeline.predict(X).tolist() == again.predict(X).tolist()
    assert pipeline.score(X, y) > 0.6


def test_positional_experts():
    experts = positional_experts(CRF(sigma=10.0))
    pool = OpinionPoolCRF(experts, random_state=0).fit(X, y)
    before = pool.named_estimators_["before"][-1]
    assert all("[-" in name for name in before.attribute_names_)
    assert pool.score(X, y) > 0.6
    only = positional_experts(CRF(), {"wide": (-1, (0, 1))})
    assert [name for name, _ in only] == ["wide"]


def test_label_experts():
    experts = label_experts(CRF(sigma=10.0), {"A": ["A"], "BC": ["B", "C", "Z"]})
    pool = OpinionPoolCRF([("all", CRF(sigma=10.0)), *experts], random_state=0).fit(X, y)
    assert pool.classes_.tolist() == list("ABCD")
    assert len(pool.named_estimators_["A"].estimator_.classes_) == 2
    assert len(pool.named_estimators_["BC"].estimator_.classes_) == 3
    assert pool.score(X, y) > 0.6


@pytest.mark.parametrize("parameters", [{}, {"edge_columns": ["token"], "boundaries": True}])
def test_merged_labels_share_the_probability_of_what_stands_for_them(parameters):
    """p(y) is in proportion to p(merged y), so that labels that are merged are equally likely."""
    expert = MergedLabels(CRF(**parameters), ["B"]).fit(X, y)
    flat = np.concatenate(y)
    others = list("ACD")
    frequent = max(others, key=lambda label: (np.sum(flat == label), -ord(label)))
    assert expert.estimator_.classes_.tolist() == sorted(["B", frequent])
    for x in [X[0][:3], X[1][:3], []]:
        (inner,) = expert.estimator_.predict_k_best([x], 2 ** len(x))
        inner = {tuple(path): p for path, p in inner}
        (found,) = expert.predict_k_best([x], 4 ** len(x))
        found = {tuple(path): p for path, p in found}
        every = list(product("ABCD", repeat=len(x)))
        merged = [tuple("B" if label == "B" else frequent for label in path) for path in every]
        expected = np.array([inner[path] for path in merged])
        assert_allclose([found[path] for path in every], expected / expected.sum(), rtol=1e-7)


def test_nothing_is_merged_if_all_labels_are_told_apart():
    expert, crf = MergedLabels(CRF(), list("ABCD")).fit(X, y), CRF().fit(X, y)
    assert np.array_equal(np.vstack(expert.predict_proba(X)), np.vstack(crf.predict_proba(X)))


def test_merged_labels_of_pipelines_and_weights():
    weights = np.arange(len(X)) % 2
    expert = MergedLabels(make_pipeline(SequenceVectorizer(), CRF()), {"A"})
    weighted = clone(expert).fit(X, y, sample_weight=weights)
    kept = np.flatnonzero(weights)
    left = clone(expert).fit([X[i] for i in kept], [y[i] for i in kept])
    probability = np.vstack(weighted.predict_proba([X[i] for i in kept[:5]]))
    assert_allclose(probability, np.vstack(left.predict_proba([X[i] for i in kept[:5]])), atol=1e-4)
    with pytest.raises(ValueError, match="requires y"):
        expert.fit(X, None)


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 5))
def test_scores_of_other_labels(seed, n_labels, n_new):
    rng = np.random.default_rng(seed)
    transition, n_tokens = rng.normal(size=(n_labels, n_labels)), 3
    transition[rng.random(transition.shape) < 0.2] = -np.inf
    gains = sp.random_array((3, n_labels**2), density=0.6, format="csr", rng=rng)
    edges = TokenTransitions.from_gains(rng.integers(-1, 3, n_tokens), gains, transition)
    scores = Scores(
        rng.normal(size=(n_tokens, n_labels)), transition, *rng.normal(size=(2, n_labels)), edges
    )
    label = rng.integers(n_labels, size=n_new)
    found = relabelled(scores, label)
    every, path_scores = oracle.paths(found, 0, n_tokens)
    expected = [oracle.score(scores, 0, label[list(path)]) for path in every]
    assert_allclose(path_scores, expected)
    within = (
        np.diff(found.token_transitions.current) * n_new + np.diff(found.token_transitions.previous)
        > 0
    )
    ends = np.isin(
        np.arange(1, len(found.token_transitions.current)), found.token_transitions.indptr
    )
    assert (within | ends).all()
