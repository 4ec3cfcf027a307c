"""HMM on forests: against chains, counts by hand, and enumeration."""

import pickle
from itertools import product

import numpy as np
import pytest
from counted_trees import LABELS, as_paths, make_trees, untyped
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from toy import make_corpus

from sklearn_crcrf import HMM, GraphArray, explain
from sklearn_crcrf.model_files import load_model, save_model
from sklearn_crcrf.structures import structure_of

TREES, Y = make_trees()
NEW, NEW_Y = make_trees(12, seed=1)
WORDS, LABELLED = make_corpus(n_sequences=40)


@pytest.mark.parametrize("hmm", [HMM(), HMM(0.5, 0.0)], ids=["default", "zeros"])
def test_a_path_is_a_chain(hmm):
    paths = as_paths(WORDS)
    chain = HMM(**hmm.get_params()).fit(WORDS[:30], LABELLED[:30])
    forest = HMM(**hmm.get_params()).fit(paths[:30], LABELLED[:30])
    for name, some in ((None, None), ("partial_fit", slice(30, 40)), ("forget", slice(5))):
        if name:
            getattr(chain, name)(WORDS[some], LABELLED[some])
            getattr(forest, name)(paths[some], LABELLED[some])
        for part in ("transitions_", "begin_", "end_", "intercept_"):
            assert_array_equal(getattr(chain, part), getattr(forest, part))
        assert_array_equal(chain.coef_.data, forest.coef_.data)
        assert_allclose(chain.confidence(WORDS), forest.confidence(paths))
        assert_allclose(
            np.concatenate(chain.predict_proba(WORDS)), forest.predict_proba(paths).data
        )
        assert_allclose(chain.score_samples(WORDS), forest.score_samples(paths))


def log_joint(hmm, X, s, y):
    """log p(x, y) of one sample, label by label."""
    start, stop = X.offsets[s : s + 2]
    words, parents = X.data[start:stop], X.parents[start:stop].tolist()
    types, known = [None] * len(words), hmm.encoder_.symbols("token")
    if hmm.encoder_.edge_types is not None:
        of_token = dict(zip(X.token_edges[:, 1].tolist(), X.edge_data.tolist(), strict=True))
        types = [of_token.get(int(start) + t) for t in range(len(words))]
    value = 0.0
    for t, (word, parent, kind) in enumerate(zip(words, parents, types, strict=True)):
        value += hmm.intercept_[y[t]]
        if word in known:
            value += hmm.coef_[[known.index(word)]].toarray()[0, y[t]]
        if parent < 0:
            value += hmm.begin_[y[t]]
        elif kind is None:
            value += hmm.transitions_[y[parent], y[t]]
        else:
            kinds = hmm.encoder_.edge_types.symbols
            value += hmm.edge_transitions_[kinds.index(kind), y[parent], y[t]]
        if t not in parents:
            value += hmm.end_[y[t]]
    return value


@pytest.mark.parametrize("has_types", [True, False])
def test_enumeration(has_types):
    X, new = (TREES, NEW) if has_types else (untyped(TREES), untyped(NEW))
    hmm = HMM().fit(X, Y)
    predicted, probability, log_p = hmm.predict(new), hmm.predict_proba(new), hmm.score_samples(new)
    for s, length in enumerate(new.lengths.tolist()):
        if not 0 < length < 6:
            continue
        paths = np.array(list(product(range(3), repeat=length)))
        scores = np.array([log_joint(hmm, new, s, path) for path in paths])
        assert log_p[s] == pytest.approx(logsumexp(scores))
        found = (hmm.classes_[paths] == predicted[s]).all(axis=1)
        assert scores[found] == pytest.approx(scores.max())
        p = np.exp(scores - logsumexp(scores))
        for t in range(length):
            assert_allclose(probability[s][t], np.bincount(paths[:, t], p, 3), atol=1e-12)


def test_transitions_by_hand():
    hmm = HMM(transition_smoothing=0.5).fit(TREES, Y)
    into, ends, roots = np.zeros((3, 3)), np.zeros(3), np.zeros(3)
    by_type = {kind: np.zeros((3, 3)) for kind in hmm.encoder_.edge_types.symbols}
    for s, labels in enumerate(Y):
        start, stop = TREES.offsets[s : s + 2]
        parents, ids = TREES.parents[start:stop].tolist(), [LABELS.index(label) for label in labels]
        for t, parent in enumerate(parents):
            ends[ids[t]] += t not in parents
            if parent < 0:
                roots[ids[t]] += 1
            else:
                into[ids[parent], ids[t]] += 1
                by_type["left" if parent < t else "right"][ids[parent], ids[t]] += 1
    total = (into + 0.5).sum(axis=1) + ends + 0.5
    assert_allclose(np.exp(hmm.begin_), (roots + 0.5) / (roots + 0.5).sum())
    assert_allclose(np.exp(hmm.end_), (ends + 0.5) / total)
    assert_allclose(np.exp(hmm.transitions_), (into + 0.5) / total[:, None])
    following = (into + 0.5) / (into + 0.5).sum(axis=1, keepdims=True)
    for table, counts in zip(hmm.edge_transitions_, by_type.values(), strict=True):
        n = counts.sum(axis=1, keepdims=True)
        expected = (counts + 10.0 * following) / (n + 10.0)
        assert_allclose(np.exp(table).sum(axis=1), 1.0 - np.exp(hmm.end_))
        assert_allclose(np.exp(table) / (1.0 - np.exp(hmm.end_))[:, None], expected)


def test_counts_add_up():
    whole = HMM().fit(TREES, Y)
    parts = HMM().fit(TREES[:12], Y[:12]).partial_fit(TREES[12:], Y[12:])
    assert_array_equal(whole.predict_proba(TREES).data, parts.predict_proba(TREES).data)
    left, expected = parts.forget(TREES[:20], Y[:20]), HMM().fit(TREES[20:], Y[20:])
    assert_array_equal(left.predict_proba(TREES).data, expected.predict_proba(TREES).data)


@pytest.mark.parametrize("smoothing", [1.0, 0.0])
def test_an_explanation_sums_to_the_score(smoothing):
    hmm = HMM(transition_smoothing=smoothing).fit(TREES, Y)
    for s in np.flatnonzero(TREES.lengths > 0)[:10].tolist():
        sample = TREES[s : s + 1]
        y = np.searchsorted(hmm.classes_, hmm.predict(sample)[0])
        found = explain(hmm, sample).contributions
        assert found.value.sum() == pytest.approx(log_joint(hmm, TREES, s, y))
    assert any("edge=" in name for name in found.name)


def test_types_that_were_never_seen():
    hmm, bare = HMM().fit(TREES, Y), HMM().fit(untyped(TREES), Y)
    other = GraphArray(NEW.data, NEW.offsets, NEW.edges, NEW.edge_offsets, ["?"] * NEW.n_edges)
    assert_allclose(hmm.predict_proba(other).data, bare.predict_proba(untyped(NEW)).data)


@pytest.mark.parametrize("X", [TREES, untyped(TREES)], ids=["typed", "untyped"])
def test_stored_models(X, tmp_path):
    hmm = HMM().fit(X, Y)
    assert pickle.loads(pickle.dumps(hmm)).predict_proba(X) == hmm.predict_proba(X)
    save_model(hmm, tmp_path / "m")
    assert load_model(tmp_path / "m").estimator.predict_proba(X) == hmm.predict_proba(X)


def test_graphs_with_cycles():
    ring = GraphArray.from_edges([["a", "b", "c"]], [[(0, 1), (1, 2), (2, 0)]])
    with pytest.raises(ValueError, match=r"sample 0 .*forest"):
        HMM().fit(ring, [["A", "B", "A"]])
    hmm = HMM().fit(WORDS, LABELLED)
    assert len(structure_of(untyped(TREES)).links()[0]) == TREES.n_edges
    assert len(hmm.predict(untyped(TREES))) == len(TREES)  # a chain has the same transitions
