"""Paths with few segments, against the enumeration of all paths."""

import math
from itertools import product

import numpy as np
import pytest
from cases import for_each

from sklearn_crcrf.labels import AtMostSegments, OneSegment, to_segments
from sklearn_crcrf.serving import segment_limits
from sklearn_crcrf.serving.segment_limits import LimitedPaths
from sklearn_crcrf.structures import Chain, Scores, TokenTransitions

SCHEMES = {
    "IO": ["X", "Y", "O"],
    "IOB1": ["B-X", "I-X", "I-Y", "O"],
    "IOB2": ["B-X", "I-X", "B-Y", "I-Y", "O"],
    "IOBES": ["B-X", "I-X", "E-X", "S-X", "O", "S-Y"],
    "BILOU": ["B-X", "L-X", "U-X", "O"],
}


def drawn_scores(rng, n_tokens, n_labels):
    scores = Scores.of(*(rng.normal(size=(n, n_labels)) * 2 for n in (n_tokens, n_labels)))
    begin, end = rng.normal(size=(2, n_labels))
    state = np.where(rng.random(scores.state.shape) < 0.1, -np.inf, scores.state)
    transition = np.where(rng.random((n_labels, n_labels)) < 0.1, -np.inf, scores.transition)
    scores = scores._replace(state=state, transition=transition, begin=begin, end=end)
    if rng.random() < 0.5:
        return scores
    pairs = np.sort(rng.choice(n_labels**2, n_labels, replace=False)).astype(np.int32)
    current, previous = np.divmod(pairs, n_labels)
    finite = np.where(transition > -np.inf, transition, 0.0)
    gain = finite[previous, current] + rng.random(n_labels) * 3
    row = np.where(rng.random(n_tokens) < 0.5, 0, -1)
    edges = TokenTransitions(row, np.array([0, n_labels]), previous, current, gain)
    return scores._replace(token_transitions=edges)


def enumerated(scores, labels, constraints, scheme):
    """The scores of all paths that satisfy the constraints, by path."""
    n_tokens = len(scores.state)
    chain, found = Chain(np.array([0, n_tokens])), {}
    for path in product(range(len(labels)), repeat=n_tokens):
        kinds = to_segments([[labels[i] for i in path]], scheme).type.tolist()
        if all(satisfies(one, kinds) for one in constraints):
            value = chain.score(scores, np.array(path))[0][0]
            if value > -np.inf:
                found[path] = value
    return found


def satisfies(constraint, kinds):
    kinds = [kind for kind in kinds if constraint.types is None or kind in constraint.types]
    if constraint.per == "sample":
        return len(kinds) <= constraint.k
    return all(kinds.count(kind) <= constraint.k for kind in kinds)


CONSTRAINTS = [
    [OneSegment()],
    [OneSegment(per="sample")],
    [AtMostSegments("X", 2)],
    [AtMostSegments("X", 0), AtMostSegments(None, 2, per="sample")],
    [AtMostSegments(["X"], 1)],
    [OneSegment(), AtMostSegments(None, 2)],
]


@for_each(
    ("scheme", "constraints", "seed"),
    [(scheme, each, seed) for scheme in SCHEMES for each in CONSTRAINTS for seed in range(3)],
)
def test_best_paths_and_their_sum(scheme, constraints, seed):
    rng, labels = np.random.default_rng(seed), SCHEMES[scheme]
    n_tokens = int(rng.integers(1, 6))
    for constraint in constraints:
        constraint.scheme = scheme
    scores = drawn_scores(rng, n_tokens, len(labels))
    counters = [c for one in constraints for c in one.counters(np.array(labels), "c")]
    expected = enumerated(scores, labels, constraints, scheme)
    paths = LimitedPaths(scores, counters)
    best = sorted(expected.values(), reverse=True)
    for k in (1, 4, 10_000):
        found = paths.best(k)
        np.testing.assert_allclose([value for value, _ in found], best[:k], atol=1e-9)
        for value, y in found:
            assert expected[tuple(y)] == pytest.approx(value)
        assert len({tuple(y) for _, y in found}) == len(found)
    log_z = math.log(sum(map(math.exp, best))) if best else -math.inf
    assert paths.log_partition() == pytest.approx(log_z, abs=1e-9)


def test_many_types_and_long_sequences():
    """Every label has its own best tokens, alternating, so that all limits are exceeded."""
    n_labels, n_tokens = 12, 60
    labels = np.array([f"T{i:02}" for i in range(n_labels)])
    rng = np.random.default_rng(0)
    state = rng.normal(size=(n_tokens, n_labels))
    state[np.arange(n_tokens), np.arange(n_tokens) // 10] += 4.0
    scores = Scores.of(state, 2.0 * np.eye(n_labels))
    paths = LimitedPaths(scores, OneSegment().counters(labels, "c"))
    (value, y), second = paths.best(2)
    assert (np.diff(y) != 0).sum() + 1 == len(set(y.tolist()))
    assert second[0] <= value
    assert paths.log_partition() >= value


def test_what_takes_too_long(monkeypatch):
    rng = np.random.default_rng(0)
    labels = np.array(list("ABCDEFGH"))
    counters = OneSegment().counters(labels, "c")
    paths = LimitedPaths(Scores.of(rng.normal(size=(12, 8)) * 3, np.zeros((8, 8))), counters)
    assert paths.best() is not None
    monkeypatch.setattr(segment_limits, "MOST_STEPS", 20)
    assert paths.best() is None
    monkeypatch.setattr(segment_limits, "MOST_COUNTS", 20)
    with pytest.raises(ValueError, match="too many likely combinations"):
        paths.log_partition()
