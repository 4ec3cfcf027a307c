"""Chains of second and third order against the enumeration of all paths."""

import itertools

import numpy as np
import oracle
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp

from sklearn_crcrf.base.batch_values import best_paths
from sklearn_crcrf.structures import (
    Chain,
    HigherOrderChain,
    RunTable,
    Scores,
    TokenTransitions,
)
from sklearn_crcrf.structures.chain import higher_order

LENGTHS = [5, 0, 1, 2, 3]
OFFSETS = np.append(0, np.cumsum(LENGTHS))
UNITS = list(itertools.pairwise(OFFSETS.tolist()))


def random_scores():
    rng = np.random.default_rng(0)
    n_labels, n_tokens = 3, OFFSETS[-1]
    transition = rng.normal(size=(n_labels, n_labels))
    gains = sp.random_array((3, n_labels**2), density=0.5, format="csr", rng=rng)
    edges = TokenTransitions.from_gains(rng.integers(-1, 3, n_tokens), gains, transition)
    state = rng.normal(size=(n_tokens, n_labels))
    return Scores(state, transition, *rng.normal(size=(2, n_labels)), edges)


SCORES = random_scores()
TABLES = [np.random.default_rng(n).normal(size=(3,) * n) for n in (3, 4)]
RUN_SCORES = [lambda i, j, k: TABLES[0][i, j, k], lambda h, i, j, k: TABLES[1][h, i, j, k]]


def chain_of(order, threshold=0.0):
    return HigherOrderChain(OFFSETS, RUN_SCORES[: order - 1], threshold)


def _paths(order, start, stop, scores=SCORES):
    every, path_scores = oracle.paths(scores, start, stop)
    more = [
        sum(
            table[p[t - n + 1 : t + 1]]
            for n, table in zip((3, 4), TABLES[: order - 1], strict=False)
            for t in range(n - 1, len(p))
        )
        for p in every
    ]
    return every, path_scores + np.array(more)


orders = pytest.mark.parametrize("order", [2, 3])


@orders
@pytest.mark.parametrize("threshold", [0.0, 1e-12])
def test_against_all_paths(order, threshold):
    structure = chain_of(order, threshold)
    value, y = structure.maximum(SCORES)
    log_z, marginals = structure.marginals(SCORES)
    best, entropy = structure.k_best(SCORES, 3), structure.entropy(SCORES)
    assert_allclose(structure.score(SCORES, y)[0], value)
    for s, (a, b) in enumerate(UNITS):
        every, path_scores = _paths(order, a, b)
        assert_allclose(value[s], path_scores.max())
        assert tuple(y[a:b]) == every[path_scores.argmax()]
        assert_allclose(log_z[s], logsumexp(path_scores))
        assert_allclose(best[s][0], np.sort(path_scores)[::-1][:3])
        assert tuple(best[s][1][0]) == every[path_scores.argmax()]
        probability = np.exp(path_scores - logsumexp(path_scores))
        assert_allclose(entropy[s], -(probability * np.log(probability)).sum(), atol=1e-12)
        for t in range(b - a):
            reference = np.bincount([p[t] for p in every], probability, 3)
            assert_allclose(marginals[a + t], reference)


@orders
def test_gradients_are_finite_differences(order):
    structure, rng = chain_of(order), np.random.default_rng(5)
    weight, y = rng.normal(size=len(UNITS)), rng.integers(0, 3, OFFSETS[-1])
    moves = [rng.normal(size=np.shape(part)) for part in (*SCORES[:4], SCORES[4].score)]

    def moved(step):
        parts = [part + step * move for part, move in zip(SCORES[:4], moves, strict=False)]
        edges = SCORES.token_transitions
        return Scores(*parts, edges._replace(score=edges.score + step * moves[4]))

    for value in (structure.log_partition, lambda scores: structure.score(scores, y)):
        gradient = value(SCORES)[1](weight)
        expected = sum((g * m).sum() for g, m in zip(gradient[:5], moves, strict=True))
        ahead, behind = (weight @ value(moved(step))[0] for step in (1e-6, -1e-6))
        assert_allclose((ahead - behind) / 2e-6, expected, rtol=1e-6)


@orders
def test_labels_below_the_threshold_are_left_out(order):
    scores = SCORES.with_state(3 * SCORES.state)
    exact, pruned = (chain_of(order, threshold) for threshold in (0.0, 1e-3))
    (log_z, marginals), (less, found) = (s.marginals(scores) for s in (exact, pruned))
    assert (found == 0.0).any()
    assert (less <= log_z).all()
    assert_allclose(found, marginals, atol=0.1)
    assert_array_equal(pruned.maximum(scores)[1], exact.maximum(scores)[1])


@orders
def test_k_best_paths_may_have_labels_below_the_threshold(order):
    ours = chain_of(order, 0.3).k_best(SCORES, 10)
    for (a, b), (values, paths) in zip(UNITS, ours, strict=True):
        every, path_scores = _paths(order, a, b)
        assert_allclose(values, np.sort(path_scores)[::-1][:10])
        assert [*map(tuple, paths)] == [every[i] for i in np.argsort(-path_scores)[:10]]


@orders
def test_k_does_not_change_the_best_paths(order):
    structure = chain_of(order, 0.3)
    for few, all_of_them in zip(
        best_paths(structure, SCORES, 0, 2), best_paths(structure, SCORES, 0, 10**4), strict=True
    ):
        for mine, theirs in zip(few, all_of_them, strict=True):
            assert_allclose(mine, theirs[: len(mine)], rtol=1e-12)
        assert_allclose(all_of_them[0].sum(), 1.0)


@orders
def test_only_sequences_with_few_paths_get_more_labels(order, monkeypatch):
    monkeypatch.setattr(higher_order, "RARE", 0.3)
    monkeypatch.setattr(higher_order, "MANY", 4)
    chains = chain_of(order, 0.3)
    usual, more = (c.lattice(SCORES)[0].candidates for c in (chains, chains.for_k_best()))
    n_gains = 0
    for start, stop in UNITS:
        few, many = (len(c.take(slice(start, stop)).label) for c in (usual, more))
        n_paths = np.prod(np.diff(usual.indptr)[start:stop])
        assert many == (3 * (stop - start) if n_paths < 4 else few)
        n_gains += many > few
    assert 0 < n_gains < np.count_nonzero(LENGTHS)


def test_no_label_is_left_out_if_no_path_would_be_possible():
    state = np.array([[1.0, 0.0]] * 5)
    transition = np.array([[-np.inf, 0.0], [0.0, 0.0]])
    scores, offsets = Scores.of(state, transition), np.array([0, 1, 3, 5])
    structure = HigherOrderChain(offsets, [lambda i, j, k: np.zeros(len(i))], 0.9)
    value, y = structure.maximum(scores)
    assert_allclose(value, 1.0)
    assert_array_equal(y[0], 0)
    assert (structure.marginals(scores)[0] > -np.inf).all()
    impossible = Scores.of(state, np.full((2, 2), -np.inf))
    assert_array_equal(structure.maximum(impossible)[0], [1.0, -np.inf, -np.inf])
    broken = Scores.of(np.where(state == 1.0, np.nan, state), transition)
    assert np.isnan(structure.maximum(broken)[0]).all()


@orders
def test_without_scores_of_runs_it_is_the_first_order_chain(order):
    scores = [lambda *labels: np.zeros(len(labels[0]))] * (order - 1)
    structure = HigherOrderChain(OFFSETS, scores, 0.0)
    for ours, theirs in zip(structure.maximum(SCORES), Chain(OFFSETS).maximum(SCORES), strict=True):
        assert_allclose(ours, theirs)


@orders
def test_samples_against_all_paths(order):
    y = chain_of(order).sample(SCORES, 20_000, np.random.default_rng(0))
    for a, b in UNITS:
        _, path_scores = _paths(order, a, b)
        probability = np.exp(path_scores - logsumexp(path_scores))
        observed = np.bincount(y[:, a:b] @ 3 ** np.arange(b - a)[::-1], minlength=len(path_scores))
        error = np.sqrt(probability * (1 - probability) / len(y))
        assert_allclose(observed / len(y), probability, atol=5 * error.max())


@orders
def test_spans_against_all_paths(order):
    following, preceding = np.array([True, False, True]), np.array([True, True, False])
    spans = [
        (a, start, stop, b, labels)
        for a, b in UNITS
        for start, stop in itertools.combinations(range(a, b + 1), 2)
        if stop - start < 3
        for labels in itertools.product(range(3), repeat=stop - start)
    ]
    _, start, stop, _, labels = zip(*spans, strict=True)
    value = chain_of(order).span_log_probability(
        SCORES, start, stop, np.concatenate(labels), following, preceding
    )
    found = {unit: _paths(order, *unit) for unit in UNITS}
    for ours, (a, start, stop, b, labels) in zip(value, spans, strict=True):
        every, path_scores = found[a, b]
        probability = np.exp(path_scores - logsumexp(path_scores))
        is_so = [
            p[start - a : stop - a] == labels
            and (stop == b or following[p[stop - a]])
            and (start == a or preceding[p[start - a - 1]])
            for p in every
        ]
        assert_allclose(np.exp(ours), probability @ is_so, atol=1e-12)


def test_no_spans():
    structure = chain_of(2)
    assert structure.span_log_probability(SCORES, [], [], []).shape == (0,)
    with pytest.raises(ValueError, match="span 0 is not a part of one sequence"):
        structure.span_log_probability(SCORES, [3], [6], [0, 0, 0])


def sparse_table(n, seed=7):
    """The scores of n labels in a row: some contexts, with scores of some last labels."""
    rng = np.random.default_rng(seed)
    contexts = np.sort(rng.permutation(3 ** (n - 1))[: 3 ** (n - 1) * 2 // 3])
    keys = np.sort(rng.permutation(3**n)[: 3**n // 2])
    keys = keys[np.isin(keys // 3, contexts)]
    values = rng.normal(size=len(keys)), contexts, rng.normal(size=len(contexts))
    return RunTable.of_keys(3, keys, *values)


def test_tables_of_runs():
    tables = [sparse_table(3), sparse_table(4)]
    scores = SCORES.with_state(SCORES.state.astype(np.float32))
    for given in (SCORES, scores):
        ours, ours_runs = HigherOrderChain(OFFSETS, tables, 1e-2).lattice(given)
        slow = [lambda *labels, table=table: table(*labels) for table in tables]
        _, theirs = HigherOrderChain(OFFSETS, slow, 1e-2).lattice(given)
        assert_allclose(ours_runs.runs, theirs.runs)
        assert ours_runs.runs.dtype == given.state.dtype
        assert ours.order == 3
    for n, table in zip((3, 4), tables, strict=True):
        every = np.array(list(np.ndindex(*(3,) * n)))
        expected = np.zeros(len(every))
        for c, context in enumerate(table.contexts):
            expected[3 * context : 3 * context + 3] = table.unseen[c]
            entries = slice(table.starts[c], table.starts[c + 1])
            expected[3 * context + table.last[entries]] = table.score[entries]
        assert_array_equal(table(*every.T), expected)
    nothing = RunTable.of_keys(3, *(np.empty(0, t) for t in (np.int64, float, np.int64, float)))
    lattice, runs = HigherOrderChain(OFFSETS, [nothing], 1e-2).lattice(SCORES)
    assert_array_equal(runs.runs[lattice.start[2, 0] :], 0.0)
    assert_array_equal(nothing(*np.zeros((3, 2), dtype=int)), 0.0)
