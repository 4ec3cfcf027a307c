"""BoostedCRF with trees of pairs: transitions that depend on tokens."""

import numpy as np
import pytest
from enumerated import Enumerated
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_crcrf import CRF, BoostedCRF, GraphArray, explain
from sklearn_crcrf.estimators.boosting.booster import TrainingData
from sklearn_crcrf.estimators.boosting.pairs import PairScores, influential, occurring_pairs
from sklearn_crcrf.linear.corpus import Corpus
from sklearn_crcrf.model_files import load_model, save_model
from sklearn_crcrf.structures import Chain, Forest, Scores

N_LABELS, N_TOKENS = 3, 9
OFFSETS = np.array([0, 4, 5, 9])
STRUCTURES = {
    "chain": Chain(OFFSETS),
    "forest": Forest(OFFSETS, np.array([-1, 0, 0, 2, -1, 8, 5, 5, -1])),
}
structures = pytest.mark.parametrize("structure", STRUCTURES.values(), ids=STRUCTURES)


def make_switches(seed=0, n_sequences=150, n_tokens=12):
    """The label stays as it was if the number is positive, and else changes."""
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(n_tokens, 1)) for _ in range(n_sequences)]
    first = rng.integers(2, size=n_sequences)
    changes = [np.concatenate([[label], x[1:, 0] < 0]) for label, x in zip(first, X, strict=True)]
    return X, [np.cumsum(change).astype(int) % 2 for change in changes]


def right_changes(y, predicted):
    changes = [np.diff(a) % 2 == np.diff(b) % 2 for a, b in zip(y, predicted, strict=True)]
    return np.mean(changes)


@structures
@pytest.mark.parametrize("is_partial", [False, True])
def test_the_gradient_is_gold_minus_marginals_of_pairs(structure, is_partial):
    rng = np.random.default_rng(0)
    y = rng.integers(N_LABELS, size=N_TOKENS).astype(np.int32)
    allowed = np.eye(N_LABELS, dtype=bool)[y]
    if is_partial:
        y[[1, 6, 8]], allowed[[1, 6]], allowed[8, :2] = -1, True, True
    corpus = Corpus(np.zeros((N_TOKENS, 1)), y, structure, np.array([1.0, 2.0, 0.5]), allowed)
    forbidden = np.zeros((N_LABELS, N_LABELS)), np.zeros(N_LABELS), np.zeros(N_LABELS)
    data = TrainingData(corpus, forbidden, n_threads=1)
    pairs = np.array([[0, 0], [2, 0], [1, 1], [0, 2], [2, 2]], dtype=np.int32)
    state, transition = rng.normal(size=(N_TOKENS, N_LABELS)), rng.normal(size=2 * (N_LABELS,))
    pair_scores = PairScores(pairs, rng.normal(size=(N_TOKENS, len(pairs))))
    found = data.residuals(state, transition, pair_scores)

    scores = pair_scores.add_to(Scores.of(state, transition), structure)
    every = Enumerated(OFFSETS, *structure.links())
    log_z, pull = every.log_partition(scores)
    assert_allclose(found.loss, corpus.weight @ (log_z - every.gold_score(scores, allowed)[0]))
    of_links = pull(corpus.weight).token_transitions.reshape(-1, len(pairs))
    links = structure.links()[1]
    assert_allclose(found.expected_links[links], of_links, atol=1e-12)
    roots = np.delete(np.arange(N_TOKENS), links)
    assert not found.expected_links[roots].any() and not found.gold_links[roots].any()
    of_all = found.expected_pairs[tuple(pairs.T)]
    assert (of_all > found.expected_links.sum(axis=0) - 1e-12).all()
    assert_allclose(found.expected_pairs.sum(), corpus.weight[structure.units_of(links)].sum())

    step, gradient = 1e-5, np.zeros_like(pair_scores.values)
    for at in np.ndindex(gradient.shape):
        losses = []
        for sign in (1, -1):
            moved = pair_scores.values.copy()
            moved[at] += sign * step
            moved_scores = pair_scores._replace(values=moved)
            losses.append(data.residuals(state, transition, moved_scores).loss)
        gradient[at] = (losses[0] - losses[1]) / (2 * step)
    assert_allclose(found.expected_links - found.gold_links, gradient, atol=1e-8)


def test_transitions_that_depend_on_a_sign():
    (X, y), (X_test, y_test) = make_switches(), make_switches(seed=1)
    signs, signs_test = (
        [[{"sign": "+" if v > 0 else "-"} for v in x[:, 0]] for x in some] for some in (X, X_test)
    )
    linear = CRF(edge_columns=["sign"], sigma=10.0).fit(signs, y)
    assert right_changes(y_test, linear.predict(signs_test)) == 1.0
    of_states = BoostedCRF(random_state=0).fit(X, y)
    assert right_changes(y_test, of_states.predict(X_test)) < 0.6
    of_pairs = BoostedCRF(pairs=True, random_state=0).fit(X, y)
    assert right_changes(y_test, of_pairs.predict(X_test)) > 0.98
    assert of_pairs.loss_curve_[-1] < 0.1 * of_states.loss_curve_[-1]
    assert of_pairs.pairs_.tolist() == [[0, 0], [1, 0], [0, 1], [1, 1]]
    assert len(of_pairs.pair_estimators_) == len(of_pairs.estimators_) == 100
    assert of_states.pair_estimators_ == [] and of_states.pairs_.shape == (0, 2)


def test_a_stump_by_hand():
    """The first tree and the transitions stay at 0, so all pairs have a probability of 1/4."""
    X = [np.array([[0.0], [x]]) for x in (-1.0, -1.0, -1.0, 1.0, 1.0)]
    pairs = [(0, 0), (1, 1), (0, 0), (0, 1), (1, 0)]
    X, pairs = X * 2, [*pairs, *((1 - i, 1 - j) for i, j in pairs)]
    crf = BoostedCRF(
        learning_rate=0.5, max_iter=1, max_leaf_nodes=2, min_samples_leaf=1, pairs=True
    )
    crf.set_params(l2_regularization=0.1, influence_trimming=0.0).fit(X, pairs)
    change = np.log((np.array([3.0, 2.0]) + 0.1) / (2.5 + 0.1))  # of equal and different labels
    assert_allclose(crf.transitions_, 0.5 * np.where(np.eye(2), *change))
    potential = np.exp(0.5 * change)
    same, other = potential / (2 * potential.sum())
    for x, n, gold in ((-1.0, 6, [3, 0, 0, 3]), (1.0, 4, [0, 2, 2, 0])):
        p = np.array([same, other, other, same])
        newton = (np.array(gold) - n * p) / (n * p * (1 - p) + 0.1)
        found = crf.pair_estimators_[0].predict(np.array([[x]], dtype=np.float32))
        assert_allclose(found[0], 0.5 * 3 / 4 * newton)


def test_the_least_influential_tokens_are_trimmed():
    curvature = np.array([[0.1, 0.1], [0.0, 0.0], [0.3, 0.2], [0.05, 0.0], [0.2, 0.05]])
    ones = np.ones(5)
    for trimmed, kept in ((0.0, [0, 1, 2, 3, 4]), (0.05, [0, 2, 3, 4]), (0.3, [2, 4]), (0.9, [2])):
        assert influential(curvature, ones, trimmed).tolist() == kept
    # Copies of a token are what a weight is.
    of_copies = np.repeat(curvature, 3, axis=0), np.ones(15)
    of_weights = 3.0 * curvature, 3.0 * ones
    for trimmed in (0.1, 0.3, 0.6):
        kept = influential(*of_weights, trimmed)
        assert_array_equal(
            influential(*of_copies, trimmed), np.flatnonzero(np.isin(np.arange(15) // 3, kept))
        )
    assert influential(np.zeros((4, 1)), np.ones(4), 0.5).tolist() == [0, 1, 2, 3]


def test_trimming_is_of_splits_only():
    X, y = make_switches(n_sequences=60)
    options = {"pairs": True, "max_iter": 30, "random_state": 0, "max_leaf_nodes": 4}
    whole, trimmed = (
        BoostedCRF(**options, influence_trimming=part).fit(X, y) for part in (0.0, 0.5)
    )
    n_whole, n_trimmed = (
        [tree.tree_.n_node_samples[0] for tree in crf.pair_estimators_] for crf in (whole, trimmed)
    )
    assert set(n_whole) == {60 * 11} and max(n_trimmed) < 60 * 11
    assert n_trimmed[-1] < 0.5 * 60 * 11
    for crf in (whole, trimmed):
        assert right_changes(y, crf.predict(X)) > 0.98


def test_occurring_pairs():
    counts = np.array([[0.0, 2.0], [0.5, 1.0]])
    assert occurring_pairs(counts).tolist() == [[1, 0], [0, 1], [1, 1]]


def test_forests():
    """A label is that of its parent, or not, by the sign of its number."""
    rng = np.random.default_rng(0)
    rows, lengths, edges, labels = [], [], [], []
    for _ in range(60):
        parents = [-1, *(int(rng.integers(k)) for k in range(1, 8))]
        x, y = rng.normal(size=(8, 1)), []
        for value, parent in zip(x[:, 0], parents, strict=True):
            y.append(int(rng.integers(2)) if parent < 0 else int(y[parent] ^ (value < 0)))
        rows.append(x), lengths.append(8), labels.append(y)
        edges.append([[parent, k] for k, parent in enumerate(parents) if parent >= 0])
    offsets, edge_offsets = np.arange(61) * 8, np.arange(61) * 7
    trees = GraphArray(np.vstack(rows), offsets, np.concatenate(edges), edge_offsets)
    crf = BoostedCRF(pairs=True, random_state=0).fit(trees, labels)
    predicted = crf.predict(trees)
    right = [
        (predicted[i][child] != predicted[i][parent]) == (rows[i][child, 0] < 0)
        for i in range(60)
        for parent, child in edges[i]
    ]
    assert np.mean(right) > 0.98


def test_a_warm_start_may_begin_to_have_trees_of_pairs():
    X, y = make_switches(n_sequences=60)
    crf = BoostedCRF(max_iter=5, warm_start=True, random_state=0).fit(X, y)
    crf.set_params(pairs=True, max_iter=20).fit(X, y)
    assert len(crf.estimators_) == 25 and len(crf.pair_estimators_) == 20
    assert (np.diff(crf.loss_curve_) <= 0).all()
    loss = crf.loss_curve_[-1]
    crf.set_params(pairs=False, max_iter=3).fit(X, y)
    assert len(crf.estimators_) == 28 and len(crf.pair_estimators_) == 20
    assert crf.loss_curve_[-1] <= loss
    # The pairs stay: of two labels that did not follow each other, there are no trees.
    stays = [np.zeros(5, dtype=int), np.ones(5, dtype=int)]
    rows = [np.ones((5, 1)), -np.ones((5, 1))]
    some = BoostedCRF(max_iter=3, warm_start=True, pairs=True).fit(rows, stays)
    some.set_params(max_iter=4).fit(X, y)
    assert some.pairs_.tolist() == [[0, 0], [1, 1]]
    assert {tree.n_outputs_ for tree in some.pair_estimators_} == {2}


def test_without_links_there_are_no_trees_of_pairs():
    rows, labels = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    one, two = (
        BoostedCRF(max_iter=3, pairs=pairs, sample_unit="token", random_state=0).fit(rows, labels)
        for pairs in (False, True)
    )
    assert two.pair_estimators_ == [] and two.pairs_.shape == (0, 2)
    assert_array_equal(one.predict_proba(rows), two.predict_proba(rows))
    X, y = make_switches(n_sequences=20)
    # Now and then the subsample, one sequence of 21, is the one without a link.
    crf = BoostedCRF(max_iter=60, pairs=True, subsample=0.05, random_state=0)
    crf.fit([*X[:3], *([np.ones((1, 1))] * 18)], [*y[:3], *([[0]] * 18)])
    assert 0 < len(crf.pair_estimators_) < len(crf.estimators_) == 60
    one_label = BoostedCRF(max_iter=2, pairs=True).fit(X, [["A"] * len(s) for s in y])
    assert set(np.concatenate(one_label.predict(X))) == {"A"}


def test_it_is_saved_and_explained(tmp_path):
    X, y = make_switches(n_sequences=30)
    crf = BoostedCRF(max_iter=5, pairs=True, random_state=0).fit(X, y)
    save_model(crf, tmp_path / "m")
    loaded = load_model(tmp_path / "m").estimator
    assert_array_equal(np.vstack(loaded.predict_proba(X)), np.vstack(crf.predict_proba(X)))
    assert_array_equal(loaded.feature_importances_, crf.feature_importances_)
    entries = explain(crf, X[0], y[0]).contributions
    pairs = crf.pairs_.tolist()
    expected = [
        crf.transitions_[i, j]
        + sum(tree.predict(x[None])[0, pairs.index([i, j])] for tree in crf.pair_estimators_)
        for x, i, j in zip(X[0][1:], y[0][:-1], y[0][1:], strict=True)
    ]
    assert_allclose(entries.value[entries.kind == "transition"], expected)


def test_too_many_pairs_for_the_memory(monkeypatch):
    monkeypatch.setattr("sklearn_crcrf.utils.memory.available_memory", lambda: 2.0**28)
    monkeypatch.setattr("sklearn_crcrf.estimators.boosting.estimator.BYTES_PER_PAIR", 1e6)
    X, y = make_switches(n_sequences=60)
    with pytest.raises((MemoryError, ValueError), match="4 pairs of labels at 720 tokens"):
        BoostedCRF(pairs=True).fit(X, y)
    BoostedCRF(max_iter=0).fit(X, y)


@pytest.mark.parametrize("value", [-0.1, 1.0, "all"])
def test_bad_trimming(value):
    X, y = make_switches(n_sequences=5)
    with pytest.raises(ValueError, match="'influence_trimming'"):
        BoostedCRF(influence_trimming=value).fit(X, y)
