from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from cases import for_each
from compiled import compiled
from numpy.testing import assert_allclose, assert_array_equal
from segmentations import CLASSES, enumerated, expected, log_sums, random_case

from sklearn_crcrf.labels import roles_of
from sklearn_crcrf.structures import (
    Chain,
    ScoreGradient,
    Scores,
    SemiMarkovChain,
    TokenTransitions,
)
from sklearn_crcrf.structures.segments import semi_markov
from sklearn_crcrf.structures.segments.positions import Positions

CASES = [(scheme, length) for scheme in CLASSES for length in (1, 2, 3, 7)]


def assert_same_gradient(found, wanted, **tolerance):
    for name in ScoreGradient._fields:
        part, other = getattr(found, name), getattr(wanted, name)
        assert_allclose(part, other, err_msg=name, **tolerance)


@pytest.mark.parametrize("kernel", compiled("segments.sums"))
@pytest.mark.parametrize(("scheme", "max_length"), CASES)
@pytest.mark.parametrize("scale", [1.0, 3000.0])
def test_sums_against_all_segmentations(kernel, scheme, max_length, scale, monkeypatch):
    monkeypatch.setattr(semi_markov, "kernels", kernel)
    structure, scores = random_case(max_length, scheme, max_length, (3, 0, 1, 4), scale)
    weight = np.array([1.0, 2.0, -0.5, 3.0])
    log_z, gradient = structure.log_partition_and_gradient(scores, weight)
    found = enumerated(structure, scores)
    assert_allclose(log_z, log_sums(found), rtol=1e-12, atol=1e-12)
    assert_same_gradient(gradient, expected(found, weight, scores), atol=1e-9)


@for_each(("scheme", "max_length"), CASES)
@for_each("seed", range(2))
def test_maximum_against_all_segmentations(scheme, max_length, seed):
    structure, scores = random_case(seed, scheme, max_length, (4, 0, 1, 4))
    value, y = structure.maximum(scores)
    found = enumerated(structure, scores)
    for u, (paths, values, _) in enumerate(found):
        a, b = structure.offsets[u : u + 2]
        assert_allclose(value[u], max(values))
        assert_array_equal(y[a:b], paths[int(np.argmax(values))])
    assert_allclose(structure.score(scores, y)[0], value)


@pytest.mark.parametrize("scheme", CLASSES)
def test_impossible_labels(scheme):
    structure, scores = random_case(3, scheme)
    rng = np.random.default_rng(0)
    scores.state[rng.random(scores.state.shape) < 0.4] = -np.inf
    scores.transition[rng.random(scores.transition.shape) < 0.2] = -np.inf
    scores.own[rng.random(scores.own.shape) < 0.2] = -np.inf
    found = enumerated(structure, scores)
    log_z, gradient = structure.log_partition_and_gradient(scores, np.ones(4))
    assert_allclose(log_z, log_sums(found))
    assert_same_gradient(gradient, expected(found, np.ones(4), scores), atol=1e-12)
    assert_allclose(structure.maximum(scores)[0], [max(v, default=-np.inf) for _, v, _ in found])


def test_score_of_labellings():
    structure, scores = random_case(5)
    found = enumerated(structure, scores)
    for u in (0, 3):
        one = structure.take(np.array([u]))
        a, b = structure.offsets[u : u + 2]
        spans = slice(*structure.spans.indptr[[a, b]])
        by_length, by_span = structure.layout.split(scores.own)
        own = one.layout.join(by_length, by_span[spans])
        mine = scores.tokens(slice(a, b))._replace(own=own)
        for path, value, use in zip(*found[u], strict=True):
            got, pullback = one.score(mine, path)
            assert_allclose(got, [value])
            assert_allclose(pullback(np.ones(1)).state, use.state[a:b])
            assert_allclose(
                one.layout.split(pullback(np.ones(1)).own)[0], structure.layout.split(use.own)[0]
            )


@for_each("y", [[4, 2], [2, 2], [0, 3], [4, 3]])
def test_a_labelling_that_spells_no_segmentation_is_impossible(y):
    structure = SemiMarkovChain(np.array([0, 2]), roles_of(CLASSES["IOB2"], "IOB2"), 2)
    value, _ = structure.score(Scores.of(np.zeros((2, 5)), np.zeros((5, 5))), np.array(y))
    assert value == -np.inf
    assert not structure.is_segmentation(np.array(y)).all()


@for_each("scheme", CLASSES)
@for_each("max_length", [1, 3])
def test_without_scores_of_segments_it_is_a_constrained_chain(scheme, max_length):
    structure, scores = random_case(7, scheme, max_length, lengths=(30, 3, 200))
    scores = scores._replace(own=np.empty(0))
    roles = structure.roles
    never = np.where(roles.allowed(), 0.0, -np.inf)
    constrained = scores._replace(
        transition=scores.transition + never,
        begin=np.where(roles.begins(), scores.begin, -np.inf),
        end=np.where(roles.ends(), scores.end, -np.inf),
    )
    chain, weight = Chain(structure.offsets), np.array([1.0, 2.0, 0.5])
    value, gradient = structure.log_partition_and_gradient(scores, weight)
    expected_value, expected_gradient = chain.log_partition_and_gradient(constrained, weight)
    assert_allclose(value, expected_value)
    assert_same_gradient(gradient, expected_gradient, atol=1e-10)
    value, y = structure.maximum(scores)
    assert_allclose(value, chain.maximum(constrained)[0])
    assert_array_equal(y, chain.maximum(constrained)[1])


def test_a_length_that_decides_late_is_not_lost():
    # A segment of 60 tokens, each much worse than O, which only its length makes the best.
    n = 60
    structure = SemiMarkovChain(np.array([0, n]), roles_of(["B-X", "I-X", "O"], "IOB2"), n)
    state = np.tile([-30.0, -30.0, 0.0], (n, 1))
    own = np.zeros(n + 1)
    own[n - 1] = 30.0 * n + 5.0
    scores = Scores.of(state, np.zeros((3, 3)))._replace(own=own)
    log_z, gradient = structure.log_partition_and_gradient(scores, np.ones(1))
    assert_allclose(log_z, np.logaddexp(5.0, 0.0), rtol=1e-9)
    assert_allclose(gradient.own[n - 1], 1 / (1 + np.exp(-5.0)), rtol=1e-9)


@pytest.mark.parametrize("kernel", compiled("segments.sums"))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scheme", CLASSES)
def test_sequences_in_lock_step_against_a_chain_of_positions(kernel, scheme, dtype, monkeypatch):
    monkeypatch.setattr(semi_markov, "kernels", kernel)
    rng = np.random.default_rng(0)
    lengths = rng.integers(0, 12, 40)
    structure, scores = random_case(0, scheme, 3, lengths, 2.0, dtype)
    scores.state[rng.integers(len(scores.state), size=3)] = -400.0  # of all labels
    scores.state[structure.offsets[7], 1:] = -400.0  # of all labels but one
    weight = rng.normal(size=40)
    log_z, gradient = structure.log_partition_and_gradient(scores, weight)
    positions = Positions(structure, structure.states, scores)
    expected_z, pullback = structure.chain.log_partition(positions.scores)
    tolerance = 1e-4 if dtype == np.float32 else 1e-10
    assert_allclose(log_z, expected_z, rtol=tolerance)
    wanted = positions.pulled(pullback)(weight)
    assert_same_gradient(gradient, wanted, rtol=tolerance, atol=tolerance)


def test_sums_that_need_double_precision_or_logarithms():
    # The first label is 100 worse than the other, 1000 worse, or as good, and decides the rest.
    structure = SemiMarkovChain(np.array([0, 2, 4, 6]), roles_of(CLASSES["IOB2"], "IOB2"), 2)
    state = np.zeros((6, 5), dtype=np.float32)
    state[[0, 2], 0] = -100.0, -1000.0
    transition = np.zeros((5, 5))
    transition[4] = -2000.0
    transition[1:4, :] = -2000.0
    scores = Scores.of(state, transition)
    log_z, gradient = structure.log_partition_and_gradient(scores, np.ones(3))
    assert_allclose(log_z, np.log(4) - np.array([100.0, 1000.0, 0.0]), rtol=1e-6)
    assert_allclose(gradient.state[::2, 0], np.ones(3), rtol=1e-6)


def test_thousands_of_tokens():
    structure, scores = random_case(1, lengths=(4000,), scale=3.0, dtype=np.float32)
    log_z, gradient = structure.log_partition_and_gradient(scores, np.ones(1))
    assert gradient.state.dtype == np.float32
    assert_allclose(gradient.state.sum(axis=1), np.ones(4000), rtol=1e-5)
    assert log_z > structure.maximum(scores)[0]


@pytest.mark.parametrize("units", [slice(1, 4), np.array([3, 0])])
def test_take(units):
    structure, scores = random_case(2)
    log_z, _ = structure.log_partition(scores)
    ids = np.arange(4)[units]
    tokens = np.concatenate([np.arange(*structure.offsets[u : u + 2]) for u in ids])
    by_length, by_span = structure.layout.split(scores.own)
    spans = np.concatenate(
        [np.arange(*structure.spans.indptr[structure.offsets[u : u + 2]]) for u in ids]
    )
    part = structure.take(units)
    own = part.layout.join(by_length, by_span[spans])
    assert_allclose(part.log_partition(scores.tokens(tokens)._replace(own=own))[0], log_z[units])


def test_scores_that_are_no_numbers():
    structure, scores = random_case(1)
    scores.state[2, 1] = np.nan
    scores.state[6, 0] = np.inf
    for value in (structure.log_partition(scores)[0], structure.maximum(scores)[0]):
        assert_array_equal(np.isnan(value), [True, False, False, True])


@pytest.mark.parametrize("kernel", compiled("segments.sums"))
@pytest.mark.parametrize(("scheme", "max_length"), CASES)
@pytest.mark.parametrize("scale", [1.0, 3000.0])
def test_token_transitions(kernel, scheme, max_length, scale, monkeypatch):
    monkeypatch.setattr(semi_markov, "kernels", kernel)
    structure, scores = random_case(max_length, scheme, max_length, (3, 0, 1, 2), scale)
    rng, n = np.random.default_rng(max_length), len(CLASSES[scheme])
    gains = scale * sp.random_array((2, n * n), density=0.5, format="csr", rng=rng)
    row = rng.integers(-1, 2, structure.n_tokens)
    edges = TokenTransitions.from_gains(row, gains, scores.transition)
    scores = scores._replace(token_transitions=edges)
    found, weight = enumerated(structure, scores), np.array([1.0, 2.0, -0.5, 3.0])
    log_z, gradient = structure.log_partition_and_gradient(scores, weight)
    assert_allclose(log_z, log_sums(found), rtol=1e-12, atol=1e-12)
    assert_same_gradient(gradient, expected(found, weight, scores), atol=1e-9)
    value, y = structure.maximum(scores)
    assert_allclose(value, [max(values) for _, values, _ in found])
    for (paths, values, _), (a, b) in zip(found, pairwise(structure.offsets), strict=True):
        assert_array_equal(y[a:b], paths[int(np.argmax(values))])


def with_edges(scores, rng, share=0.5, scale=2.0):
    """Scores in which a share of the tokens have edges, and half of the pairs of labels."""
    n_tokens, n = scores.state.shape
    gains = scale * sp.random_array((4, n * n), density=0.5, format="csr", rng=rng)
    row = np.where(rng.random(n_tokens) < share, rng.integers(0, 4, n_tokens), -1)
    edges = TokenTransitions.from_gains(row, gains, scores.transition)
    return scores._replace(token_transitions=edges)


@pytest.mark.parametrize("kernel", compiled("segments.sums"))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scheme", CLASSES)
def test_token_transitions_in_lock_step_against_positions(kernel, scheme, dtype, monkeypatch):
    monkeypatch.setattr(semi_markov, "kernels", kernel)
    rng = np.random.default_rng(0)
    structure, scores = random_case(0, scheme, 3, rng.integers(0, 12, 40), 2.0, dtype)
    scores.transition[rng.random(scores.transition.shape) < 0.1] = -np.inf
    scores = with_edges(scores, rng, share=0.3)
    scores.state[structure.offsets[7]] = -400.0  # of all labels
    # A gain that is infinite in probabilities, and one that is large in single precision.
    score = scores.token_transitions.score
    score[rng.integers(len(score), size=2)] = 60.0, 1000.0
    weight = rng.normal(size=40)
    positions = Positions(structure, structure.states, scores)
    expected_z, pullback = structure.chain.log_partition(positions.scores)
    wanted = positions.pulled(pullback)(weight)
    log_z, gradient = structure.log_partition_and_gradient(scores, weight)
    tolerance = 1e-4 if dtype == np.float32 else 1e-10
    assert_allclose(log_z, expected_z, rtol=tolerance)
    assert_same_gradient(gradient, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("scheme", CLASSES)
def test_token_transitions_are_summed_in_lock_step(scheme, monkeypatch):
    monkeypatch.setattr(semi_markov, "Positions", None)
    structure, scores = random_case(0, scheme, 3, (3, 4, 0, 2, 1) * 9)
    scores = with_edges(scores, np.random.default_rng(0))
    scores.token_transitions.row[: structure.offsets[5]] = -1
    found, weight = enumerated(structure, scores), np.linspace(-1, 2, 45)
    log_z, gradient = structure.log_partition_and_gradient(scores, weight)
    assert_allclose(log_z, log_sums(found), atol=1e-12)
    assert_same_gradient(gradient, expected(found, weight, scores), atol=1e-11)
    log_z, gradient = structure.log_partition_and_gradient(scores, weight, gradient)
    assert_allclose(gradient.token_transitions, 2 * expected(found, weight, scores)[4], atol=1e-11)


@pytest.mark.parametrize("low", [-50.0, -np.inf])
def test_token_transitions_that_are_lower_or_impossible(low):
    structure, scores = random_case(3, lengths=(4, 0, 1, 3))
    scores = with_edges(scores, np.random.default_rng(0))
    scores.token_transitions.score[::2] = low
    found = enumerated(structure, scores)
    log_z, gradient = structure.log_partition_and_gradient(scores, np.ones(4))
    assert_allclose(log_z, log_sums(found))
    assert_same_gradient(gradient, expected(found, np.ones(4), scores), atol=1e-12)


def test_token_transitions_of_one_label():
    structure = SemiMarkovChain(np.array([0, 3, 4, 6]), roles_of(["O"], "IOB2"), 2)
    edges = TokenTransitions.from_gains(
        np.array([0, -1, 0, 0, 0, 0]), sp.csr_array([[3.0]]), np.ones((1, 1))
    )
    scores = Scores.of(np.zeros((6, 1)), np.ones((1, 1)))._replace(token_transitions=edges)
    log_z, gradient = structure.log_partition_and_gradient(scores, np.ones(3))
    assert_allclose(log_z, [5.0, 0.0, 4.0])
    assert_allclose(gradient.token_transitions, [2.0])
    assert_allclose(gradient.transition, [[1.0]])


@for_each(("scheme", "max_length"), CASES)
def test_capabilities_against_all_segmentations(scheme, max_length):
    structure, scores = random_case(20 + max_length, scheme, max_length, (3, 0, 1, 4))
    found = enumerated(structure, scores)
    log_z, best = log_sums(found), structure.maximum(scores)[1]
    every = [np.exp(np.array(values) - z) for (_, values, _), z in zip(found, log_z, strict=True)]

    assert_allclose(structure.entropy(scores), [-(p * np.log(p)).sum() for p in every], atol=1e-12)

    for (values, paths), (all_paths, all_values, _) in zip(
        structure.k_best(scores, 4), found, strict=True
    ):
        order = np.argsort(-np.array(all_values))[:4]
        assert_allclose(values, np.array(all_values)[order])
        assert_array_equal(paths, all_paths[order])

    value, pullback = structure.log_partition_excluding(scores, best)
    others, other_value = structure.best_excluding(scores, best)[::-1]
    assert others.shape == best.shape
    without = []
    for u, (paths, values, uses) in enumerate(found):
        is_other = (paths != best[slice(*structure.offsets[u : u + 2])]).any(axis=1)
        kept = np.flatnonzero(is_other)
        without.append((paths[kept], [values[i] for i in kept], [uses[i] for i in kept]))
    assert_allclose(value, log_sums(without))
    assert_allclose(other_value, [max(v, default=-np.inf) for _, v, _ in without])
    wanted = expected(without, np.ones(4), scores)
    assert_same_gradient(pullback(np.ones(4)), wanted, atol=1e-12)

    marginals, pullback = structure.token_marginals(scores)
    assert_allclose(marginals, structure.marginals(scores)[1], atol=1e-12)
    weight = np.random.default_rng(0).normal(size=marginals.shape)
    gradient = pullback(weight)
    moved, h = np.random.default_rng(1).normal(size=scores.own.shape), 1e-5
    ahead, behind = (
        (weight * structure.marginals(scores._replace(own=scores.own + x * moved))[1]).sum()
        for x in (h, -h)
    )
    assert_allclose(gradient.own @ moved, (ahead - behind) / (2 * h), atol=1e-7)


@for_each(("scheme", "max_length"), CASES)
def test_probabilities_of_runs_of_labels(scheme, max_length):
    structure, scores = random_case(30 + max_length, scheme, max_length, lengths=(4,))
    ((paths, values, _),) = enumerated(structure, scores)
    p = np.exp(np.array(values) - np.array(log_sums([(paths, values, None)])))
    n_labels = len(structure.roles.kind)
    rng = np.random.default_rng(0)
    following, preceding = rng.random((2, n_labels)) < 0.6
    spans, of_labels, with_neighbours = [], [], []
    for start in range(4):
        for stop in range(start + 1, 5):
            for labels in np.unique(paths[:, start:stop], axis=0):
                has = (paths[:, start:stop] == labels).all(axis=1)
                spans.append((start, stop, labels))
                of_labels.append(p[has].sum())
                if stop < 4:
                    has &= following[paths[:, stop]]
                if start:
                    has &= preceding[paths[:, start - 1]]
                with_neighbours.append(p[has].sum())
    starts, stops, labels = zip(*spans, strict=True)
    given = scores, starts, stops, np.concatenate(labels)
    assert_allclose(structure.span_log_probability(*given), np.log(of_labels), atol=1e-9)
    found = structure.span_log_probability(*given, following, preceding)
    assert_allclose(np.exp(found), with_neighbours, atol=1e-12)


@for_each(("scheme", "max_length"), CASES)
def test_costs_of_segments_against_all_segmentations(scheme, max_length):
    structure, scores = random_case(40 + max_length, scheme, max_length, (4, 0, 1, 4))
    found = enumerated(structure, scores)
    y = np.concatenate([paths[len(paths) // 2] for paths, _, _ in found if len(paths[0])])

    def segments(unit, path):
        all_y = y.copy()
        all_y[slice(*structure.offsets[unit : unit + 2])] = path
        start, stop, kind, _ = structure.segments(all_y)
        short = stop - start <= max_length
        return set(zip(start[short], stop[short], kind[short], strict=True))

    gold = segments(0, y[:4])
    costly = [
        (
            paths,
            [
                v + 1.5 * len(segments(u, path) - gold)
                for path, v in zip(paths, values, strict=True)
            ],
            uses,
        )
        for u, (paths, values, uses) in enumerate(found)
    ]
    costs, weight = structure.segment_costs(scores, y, 1.5), np.array([1.0, 2.0, -1.0, 0.5])
    value, pullback = costs.structure.log_partition(costs.scores)
    assert_allclose(value, log_sums(costly))
    wanted = expected(costly, weight, scores)
    assert_same_gradient(costs.pulled(pullback)(weight), wanted, atol=1e-12)
    out = costs.pulled(pullback)(weight)
    costs.pulled(pullback)(weight, out)
    assert_allclose(out.own, 2 * wanted.own, atol=1e-12)


@for_each(("scheme", "max_length"), CASES)
def test_margins_of_segments_against_all_segmentations(scheme, max_length):
    structure, scores = random_case(50 + max_length, scheme, max_length, (5,))
    ((paths, values, uses),) = enumerated(structure, scores)
    values, continues = np.array(values), structure.roles.continues()
    start, stop, *_ = structure.segments(paths[7])
    for a, b in zip(start, stop, strict=True):
        labels = paths[7][a:b]
        following, preceding = ~continues[labels[-1]], ~continues.T[labels[0]]
        has = (paths[:, a:b] == labels).all(axis=1)
        has &= following[paths[:, b]] if b < 5 else True
        has &= preceding[paths[:, a - 1]] if a else True
        span = [a], [b], labels, following, preceding
        value, pullback = structure.span_margin(scores, *span)
        assert_allclose(value, values[has].max() - values[~has].max())
        best, other = (np.where(of, values, -np.inf).argmax() for of in (has, ~has))
        assert_same_gradient(pullback(np.ones(1)), uses[best] - uses[other], atol=1e-12)


def test_margins_are_of_whole_segments():
    structure, scores = random_case(0, lengths=(3,))
    b, inside = CLASSES["IOB2"].index("B-X"), CLASSES["IOB2"].index("I-X")
    for start, stop, labels in [(0, 1, [b]), (1, 2, [inside])]:
        with pytest.raises(ValueError, match=rf"span 0, from {start} to {stop}, may be a part"):
            structure.span_margin(scores, [start], [stop], labels)
    assert len(structure.span_margin(scores, [2], [3], [b])[0]) == 1
    assert len(structure.span_margin(scores, [], [], [])[0]) == 0


def test_samples_have_the_marginals():
    structure, scores = random_case(2)
    drawn = structure.sample(scores, 4000, np.random.default_rng(0))
    rates = (drawn[:, :, None] == np.arange(5)).mean(axis=0)
    assert_allclose(rates, structure.marginals(scores)[1], atol=0.05)
    for y in drawn[:50]:
        assert structure.is_segmentation(y).all()
