"""Best paths of one sequence in which types have at most some number of segments."""

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np

# The search gives up after this number of steps, and the sum at this number of combined counts.
MOST_STEPS, MOST_COUNTS = 100_000, 50_000
# The probability that the sum may leave out, of a sequence and of what it sums to.
LEFT_OUT, LARGEST_SHARE = 1e-16, 1e-6


class Counter(NamedTuple):
    """A limit on the number of segments whose labels are among some labels.

    Parameters
    ----------
    counted : ndarray of shape (n_labels,), bool
        The labels of these segments.
    opens, joins : ndarray of shape (n_labels,), int
        A label continues a segment if ``joins`` is what the label before it ``opens``.
    most : int
    """

    counted: np.ndarray
    opens: np.ndarray
    joins: np.ndarray
    most: int

    def begins(self, previous: Any, current: Any) -> np.ndarray:
        """Say whether a counted segment begins at a label, given the label before it."""
        return self.counted[current] & (self.opens[previous] != self.joins[current])

    def number(self, y: np.ndarray) -> int:
        """Count the segments of one sequence."""
        return int(self.counted[y[:1]].sum() + self.begins(y[:-1], y[1:]).sum())


class LimitedPaths:
    """The paths of one sequence that keep within limits.

    Parameters
    ----------
    scores : ChainScores or Scores
        Of one sequence of at least one token, without NaN and inf.
    counters : iterable of Counter

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.serving.segment_limits import Counter, LimitedPaths
    >>> from sklearn_crcrf.structures import Scores
    >>> scores = Scores.of(np.array([[2.0, 0.0], [0.0, 0.5], [1.0, 0.0]]), np.zeros((2, 2)))
    >>> one_run_of_0 = Counter(np.array([True, False]), np.arange(2), np.arange(2), 1)
    >>> LimitedPaths(scores, [one_run_of_0]).best()
    [(3.0, array([0, 0, 0]))]
    """

    def __init__(self, scores: Any, counters: Iterable[Counter]):
        state = np.array(scores.state, dtype=float)
        state[0] += scores.begin
        state[-1] += scores.end
        self._state, self._n_tokens = state, len(state)
        self._shared, self._of_tokens = scores.transition, scores.token_transitions
        # A sequence cannot have more segments than tokens.
        self._counters = [counter for counter in counters if counter.most < len(state)]

    def _step(self, t: int) -> np.ndarray:
        """Return the scores of the labels of token t, given the label before it."""
        step, edges = self._shared, self._of_tokens
        row = edges.row[t]
        if row >= 0:
            step, entries = step.copy(), slice(*edges.indptr[row : row + 2])
            step[edges.previous[entries], edges.current[entries]] = edges.score[entries]
        return step + self._state[t]

    def _backward(self, reduce: Any) -> np.ndarray:
        """Return the sums or maxima over all paths after each token, (n_tokens, n_labels)."""
        after = np.zeros_like(self._state)
        for t in range(self._n_tokens - 1, 0, -1):
            after[t - 1] = reduce(self._step(t) + after[t], axis=1)
        return after

    def best(self, k: int = 1) -> list[tuple[float, np.ndarray]] | None:
        """Return the scores and labels of the k best paths, best first; None if it takes too long.

        It is a search from the first token to the last for the paths with the highest bound (A*,
        Hart et al. 1968), whose bound is the best path without limits. A state is a label and the
        numbers of segments so far of those counters alone that better paths have exceeded.
        """
        bound = self._backward(np.max)
        chosen: list[Counter] = []
        while True:
            found = self._search(bound, chosen, k)
            exceeded = [
                counter
                for counter in self._counters
                if not any(counter is one for one in chosen)
                and any(counter.number(y) > counter.most for _, y in found or ())
            ]
            if not exceeded:
                return found
            chosen += exceeded

    def _search(
        self, bound: np.ndarray, counters: list[Counter], k: int
    ) -> list[tuple[float, np.ndarray]] | None:
        """Find the k best paths that keep within the limits of some counters."""
        n_labels = self._state.shape[1]
        radix = [1]
        for counter in counters:
            radix.append(radix[-1] * (counter.most + 1))
        begins = [
            (
                counter.counted.tolist(),
                counter.begins(*np.indices((n_labels, n_labels), sparse=True)).tolist(),
                counter.most,
                unit,
            )
            for counter, unit in zip(counters, radix, strict=False)
        ]

        def counts_after(counts: int, previous: int, current: int) -> int:
            """Return the numbers of segments, as one integer, after a label; -1 if too many."""
            for first, pairs, most, unit in begins:
                if first[current] if previous < 0 else pairs[previous][current]:
                    if counts // unit % (most + 1) == most:
                        return -1
                    counts += unit
            return counts

        def successors(t: int, label: int) -> tuple[list, list, list]:
            """Return the labels of token t, best first, their scores, and these with bounds."""
            score = self._state[0] if t == 0 else self._step(t)[label]
            order = np.argsort(-(score + bound[t]), kind="stable")
            return order.tolist(), score[order].tolist(), (score + bound[t])[order].tolist()

        found: list[tuple[float, np.ndarray]] = []
        known: dict[tuple[int, int], tuple] = {}
        times: dict[tuple[int, int, int], int] = {}
        # An entry: minus its bound, a number, token, place among the successors, and the node
        # before it, which is its label, counts, score, and the node before that.
        heap: list[tuple] = []
        n_steps = 0

        def push(t: int, place: int, node: tuple) -> None:
            after = known.get((t, node[0]))
            if after is None:
                after = known[t, node[0]] = successors(t, node[0])
            if place < n_labels and after[2][place] > -np.inf:
                heappush(heap, (-(node[2] + after[2][place]), n_steps, t, place, node))

        push(0, 0, (-1, 0, 0.0, None))
        while heap and len(found) < k:
            n_steps += 1
            if n_steps > MOST_STEPS:
                return None
            _, _, t, place, node = heappop(heap)
            push(t, place + 1, node)
            labels, scores, _ = known[t, node[0]]
            label = labels[place]
            counts = counts_after(node[1], node[0], label)
            state = t, label, counts
            if counts < 0 or times.get(state, 0) >= k:
                continue
            times[state] = times.get(state, 0) + 1
            node = label, counts, node[2] + scores[place], node
            if t + 1 < self._n_tokens:
                n_steps += 1
                push(t + 1, 0, node)
            else:
                found.append((node[2], np.fromiter(_labels_of(node), dtype=np.int64)[::-1]))
        return found

    def log_partition(self) -> float:
        """Return the logarithm of the sum over all paths that keep within the limits.

        Without limits, labels are a Markov chain with p(y_t | y_t-1, x) = exp(step + after_t -
        after_t-1), where after is the sum over all paths after a token. So the recursion

            q_t(y, n) = sum_y' p(y | y', x) q_t-1(y', n - [a segment begins at y after y'])

        has the probabilities of a label and of the numbers of segments up to it, of which the least
        are left out, up to ``LEFT_OUT`` in all.

        Raises
        ------
        ValueError
            If there are too many likely combinations of numbers of segments.
        """
        after = self._backward(np.logaddexp.reduce)
        start = self._state[0] + after[0]
        log_z = np.logaddexp.reduce(start)
        n_labels = len(start)
        if log_z == -np.inf or not self._counters:
            return float(log_z)
        counts = np.zeros((1, len(self._counters)), dtype=np.int16)
        most = np.array([counter.most for counter in self._counters])
        weights, left_out = np.exp(start - log_z)[None], 0.0
        first = np.array([counter.counted for counter in self._counters])
        pairs = np.indices((n_labels, n_labels), sparse=True)
        later = np.array([counter.begins(*pairs) for counter in self._counters])
        for t in range(self._n_tokens):
            if t == 0:  # as if from each label to itself, at which segments begin
                chance, begins = np.eye(n_labels), first[:, None] & np.eye(n_labels, dtype=bool)
            else:
                with np.errstate(invalid="ignore"):
                    chance = np.exp(self._step(t) + after[t] - after[t - 1][:, None])
                chance, begins = np.nan_to_num(chance, posinf=0.0), later
            counts, weights = self._advance(counts, weights, chance, begins, most)
            order = np.argsort(weights.sum(axis=1))
            cumulative = np.cumsum(weights.sum(axis=1)[order])
            n_left_out = np.searchsorted(cumulative, LEFT_OUT / self._n_tokens)
            left_out += cumulative[n_left_out - 1] if n_left_out else 0.0
            counts, weights = counts[order[n_left_out:]], weights[order[n_left_out:]]
            if len(counts) > MOST_COUNTS:
                break
        total = weights.sum()
        if len(counts) > MOST_COUNTS or left_out > LARGEST_SHARE * total:
            raise ValueError(
                "there are too many likely combinations of numbers of segments to sum over: "
                "constrain fewer types"
            )
        return float(log_z + np.log(total)) if total else -np.inf

    @staticmethod
    def _advance(counts, weights, chance, begins, most) -> tuple[np.ndarray, np.ndarray]:
        """Return the counts and weights after one more token."""
        n_labels = len(chance)
        together, group = np.unique(begins.reshape(len(most), -1).T, axis=0, return_inverse=True)
        group = group.reshape(n_labels, n_labels)
        all_counts, all_weights = [], []
        for number, added in enumerate(together):
            fits = (counts + added <= most).all(axis=1)
            moved = weights[fits] @ np.where(group == number, chance, 0.0)
            all_counts.append((counts[fits] + added).astype(np.int16))
            all_weights.append(moved)
        rows = np.ascontiguousarray(np.concatenate(all_counts))
        keys = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
        _, where, place = np.unique(keys, return_index=True, return_inverse=True)
        summed = np.zeros((len(where), n_labels))
        np.add.at(summed, place.ravel(), np.concatenate(all_weights))
        return rows[where], summed


def _labels_of(node: tuple) -> Iterator[int]:
    while node[3] is not None:
        yield node[0]
        node = node[3]
