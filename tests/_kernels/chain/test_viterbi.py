"""The best paths against plain recursions in numpy, for every instruction set."""

from functools import partial
from itertools import pairwise

import numpy as np
from cases import for_each
from compiled import compiled
from numpy.testing import assert_allclose, assert_array_equal
from sklearn_crcrf._kernels.chain.scores import BatchScores

from sklearn_crcrf.data.ragged import longest_first
from sklearn_crcrf.structures import Scores, TokenTransitions

# Numbers of labels that fill 1 to 8 vectors of 2, 4 or 8 numbers, or one number more; masks of 64
# bits, and one more; and many labels.
N_LABELS = sorted({v * lanes + more for lanes in (2, 4, 8) for v in range(9) for more in (0, 1)})
N_LABELS = [*N_LABELS[1:], 121, 205]
LENGTHS = [3, 0, 1, 12, 2, 0, 7]

every_instruction_set = for_each("kernel", compiled("chain.viterbi"))
# Sequences with edges go one by one; of many without edges several may go in lock step.
alone_and_together = for_each(("lengths", "with_edges"), [(LENGTHS, True), (8 * LENGTHS, False)])
every_type = for_each("dtype", [np.float32, np.float64])


def _transitions(scores, t):
    """The transition scores into token t, with its edges."""
    transition, edges = scores.transition.copy(), scores.token_transitions
    if edges.row[t] >= 0:
        of_token = slice(*edges.indptr[edges.row[t] :][:2])
        transition[edges.previous[of_token], edges.current[of_token]] = edges.score[of_token]
    return transition


def _reference(offsets, scores):
    """Best paths and their values, and the scores of the best ways to each label."""
    prefixes = scores.state.astype(float)
    y, values = np.zeros(len(prefixes), dtype=int), np.zeros(len(offsets) - 1)
    for s, (start, stop) in enumerate(pairwise(offsets)):
        if start == stop:
            continue
        prefixes[start] += scores.begin
        prefixes[stop - 1] += scores.end
        for t in range(start + 1, stop):
            prefixes[t] += (prefixes[t - 1][:, None] + _transitions(scores, t)).max(axis=0)
        values[s], y[stop - 1] = prefixes[stop - 1].max(), prefixes[stop - 1].argmax()
        for t in range(stop - 1, start, -1):
            y[t - 1] = (prefixes[t - 1] + _transitions(scores, t)[:, y[t]]).argmax()
    return values, y, prefixes


def _maximum(kernel, offsets, scores):
    y = np.full(len(scores.state), -1, dtype=np.int32)
    values, prefixes = np.full(len(offsets) - 1, np.nan), np.full(scores.state.shape, np.nan)
    batch, order = BatchScores(offsets, scores), longest_first(offsets)
    kernel.viterbi(batch, order, scores.state, prefixes, y, values)
    return values, y, prefixes


def _assert_like_the_reference(kernel, offsets, scores):
    values, y, prefixes = _maximum(kernel, offsets, scores)
    reference, message = _reference(offsets, scores), f"{len(scores.begin)} labels"
    assert_allclose(values, reference[0], rtol=1e-13, err_msg=message)
    assert_array_equal(y, reference[1], err_msg=message)
    assert_allclose(prefixes, reference[2], rtol=1e-12, atol=1e-12, err_msg=message)


def _assert_for_all_sizes(kernel, dtype, lengths, with_edges, draw):
    for n_labels in N_LABELS:
        rng = np.random.default_rng(n_labels)
        draw_one = partial(draw, rng)
        scores = _draw_scores(rng, sum(lengths), n_labels, dtype, draw_one, with_edges)
        _assert_like_the_reference(kernel, _offsets(lengths), scores)


def _offsets(lengths):
    return np.append(0, np.cumsum(lengths)).astype(np.int64)


def _draw_scores(rng, n_tokens, n_labels, dtype, draw, with_edges=True):
    """Scores of which ``draw`` gives as many as are needed."""
    transition = draw((n_labels, n_labels))
    state = draw((n_tokens, n_labels)).astype(dtype)
    edges = _edges(rng, n_tokens, transition) if with_edges else TokenTransitions.none(n_tokens)
    return Scores(state, transition, draw(n_labels), draw(n_labels), edges)


def _edges(rng, n_tokens, transition, n_rows=3):
    """Some pairs of labels score one more, or are possible, at three quarters of the tokens."""
    n_labels = len(transition)
    pairs = [np.unique(rng.integers(n_labels**2, size=n_labels)) for _ in range(n_rows)]
    current, previous = np.divmod(np.concatenate(pairs), n_labels)
    common = transition[previous, current]
    return TokenTransitions(
        rng.integers(-1, n_rows, n_tokens),
        _offsets([len(row) for row in pairs]),
        previous.astype(np.int32),
        current.astype(np.int32),
        np.where(np.isneginf(common), 0.0, common + 1),
    )


@every_instruction_set
@every_type
@alone_and_together
def test_random_scores(kernel, dtype, lengths, with_edges):
    def draw(rng, shape):
        return rng.normal(size=shape)

    _assert_for_all_sizes(kernel, dtype, lengths, with_edges, draw)


@every_instruction_set
@every_type
@alone_and_together
def test_ties_go_to_the_lowest_label(kernel, dtype, lengths, with_edges):
    def draw(rng, shape):
        return rng.integers(-1, 2, size=shape).astype(float)

    _assert_for_all_sizes(kernel, dtype, lengths, with_edges, draw)


@every_instruction_set
@every_type
@alone_and_together
def test_impossible_labels_and_transitions(kernel, dtype, lengths, with_edges):
    def draw(rng, shape):
        return np.where(rng.random(shape) < 0.6, -np.inf, rng.integers(-3, 4, size=shape))

    _assert_for_all_sizes(kernel, dtype, lengths, with_edges, draw)


@every_instruction_set
@every_type
def test_a_thousand_labels(kernel, dtype):
    rng = np.random.default_rng(0)
    scores = _draw_scores(rng, 12, 1000, dtype, lambda shape: rng.normal(size=shape))
    _assert_like_the_reference(kernel, _offsets([5, 7]), scores)


@every_instruction_set
@every_type
@for_each("n_labels", [5, 22, 70])
def test_many_sequences(kernel, dtype, n_labels):
    rng = np.random.default_rng(n_labels)
    lengths = rng.integers(0, 9, size=300)
    scores = _draw_scores(rng, lengths.sum(), n_labels, dtype, lambda shape: rng.normal(size=shape))
    _assert_like_the_reference(kernel, _offsets(lengths), scores)


@every_instruction_set
def test_nothing_is_possible(kernel):
    scores = Scores.of(np.zeros((4, 9)), np.full((9, 9), -np.inf))
    values, y, _ = _maximum(kernel, _offsets([1, 3]), scores)
    assert_array_equal(values, [0.0, -np.inf])
    assert_array_equal(y, 0)


@every_instruction_set
def test_there_are_no_sequences(kernel):
    values, y, _ = _maximum(kernel, _offsets([]), Scores.of(np.empty((0, 3)), np.zeros((3, 3))))
    assert len(values) == len(y) == 0


@every_instruction_set
def test_prefixes_are_optional(kernel):
    rng = np.random.default_rng(0)
    scores = _draw_scores(rng, 7, 6, float, lambda shape: rng.normal(size=shape))
    offsets, y, values = _offsets([4, 3]), np.empty(7, dtype=np.int32), np.empty(2)
    batch, order = BatchScores(offsets, scores), longest_first(offsets)
    kernel.viterbi(batch, order, scores.state, None, y, values)
    expected_values, expected_y, _ = _maximum(kernel, offsets, scores)
    assert_array_equal(values, expected_values)
    assert_array_equal(y, expected_y)
