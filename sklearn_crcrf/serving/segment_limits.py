"""Best paths of one sequence in which types have at most some number of segments."""

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np

# The search gives up after this number of steps, and the sum at this number of combined counts.
MOST_STEPS, MOST_COUNTS = 100_000, 20_000
# Of more combined counts than this, the sum leaves out the least, at most this share of the result.
FEW, LARGEST_SHARE = 500, 1e-3
LARGEST_CODE = 2**62
TOO_MANY = (
    "there are too many types with likely segments to sum over all labels that satisfy limits"
)


class Limits(NamedTuple):
    """Limits on the numbers of segments, each of segments whose labels are among some labels.

    Parameters
    ----------
    counted : ndarray of shape (n_limits, n_labels), bool
        The labels of the segments of each limit.
    opens, joins : ndarray of shape (n_limits, n_labels), int
        A label continues a segment if ``joins`` is what the label before it ``opens``.
    most : ndarray of shape (n_limits,), int
    """

    counted: np.ndarray
    opens: np.ndarray
    joins: np.ndarray
    most: np.ndarray

    @classmethod
    def of(cls, setting: Any, n_labels: int) -> "Limits":
        """Return the limits of a setting of a tagger, which may come from a file."""
        try:
            arrays = [np.array(part, dtype=np.int64) for part in setting]
        except (TypeError, ValueError, OverflowError):
            arrays = []
        shape = (len(arrays[-1]), n_labels) if len(arrays) == 4 and arrays[-1].ndim == 1 else None
        if any(array.shape != shape for array in arrays[:3]) or not shape or arrays[3].min() < 0:
            raise ValueError("the setting 'limits' is not valid")
        return cls(arrays[0] != 0, *arrays[1:])

    @classmethod
    def join(cls, several: Iterable["Limits"]) -> "Limits":
        """Return all limits of several."""
        return cls(*(np.concatenate(parts) for parts in zip(*several, strict=True)))

    def setting(self) -> list:
        """Return the inverse of :meth:`of`."""
        return [part.astype(int).tolist() for part in self]

    def take(self, which: Any) -> "Limits":
        """Return some of the limits."""
        return Limits(*(part[which] for part in self))

    def begins(self, previous: Any, current: Any) -> np.ndarray:
        """Say whether a counted segment begins at labels, given the labels before: one row each."""
        return self.counted[:, current] & (self.opens[:, previous] != self.joins[:, current])

    def exceeded(self, y: np.ndarray) -> np.ndarray:
        """Say which limits the labels of one sequence exceed."""
        numbers = self.counted[:, y[:1]].sum(axis=1) + self.begins(y[:-1], y[1:]).sum(axis=1)
        return numbers > self.most


class LimitedPaths:
    """The paths of one sequence that keep within limits.

    Parameters
    ----------
    scores : ChainScores or Scores
        Of one sequence of at least one token, without NaN and inf.
    limits : Limits

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.serving.segment_limits import LimitedPaths, Limits
    >>> from sklearn_crcrf.structures import Scores
    >>> scores = Scores.of(np.array([[2.0, 0.0], [0.0, 0.5], [1.0, 0.0]]), np.zeros((2, 2)))
    >>> one_run_of_0 = Limits.of([[[1, 0]], [[0, 1]], [[0, 1]], [1]], n_labels=2)
    >>> LimitedPaths(scores, one_run_of_0).best()
    [(3.0, array([0, 0, 0]))]
    """

    def __init__(self, scores: Any, limits: Limits):
        state = np.array(scores.state, dtype=float)
        state[0] += scores.begin
        state[-1] += scores.end
        self._state, self._n_tokens = state, len(state)
        self._shared, self._of_tokens = scores.transition, scores.token_transitions
        # A sequence cannot have more segments than tokens.
        self._limits = limits.take(limits.most < len(state))

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

    def found(self, k: int) -> list[tuple[float, np.ndarray]]:
        """Return the k best paths; ValueError if it takes too long."""
        paths = self.best(k)
        if paths is None:
            raise ValueError("the search for labels that satisfy the constraints takes too long")
        return paths

    def best(self, k: int = 1) -> list[tuple[float, np.ndarray]] | None:
        """Return the scores and labels of the k best paths, best first; None if it takes too long.

        It is a search from the first token to the last for the paths with the highest bound (A*
        search; Russell and Norvig, "Artificial Intelligence", section 3.5), where the bound is the
        best path without limits. A state is a label and the numbers of segments so far of those
        limits alone that better paths have exceeded.
        """
        bound = self._backward(np.max)
        chosen = np.zeros(len(self._limits.most), dtype=bool)
        while True:
            found = self._search(bound, self._limits.take(chosen), k)
            more = [~chosen & self._limits.exceeded(y) for _, y in found or ()]
            if not np.any(more):
                return found
            chosen |= np.any(more, axis=0)

    def _search(
        self, bound: np.ndarray, limits: Limits, k: int
    ) -> list[tuple[float, np.ndarray]] | None:
        """Find the k best paths that keep within some limits."""
        n_labels = self._state.shape[1]
        pairs = limits.begins(*np.indices((n_labels, n_labels), sparse=True))
        unit, begins = 1, []
        for row in zip(limits.counted.tolist(), pairs.tolist(), limits.most.tolist(), strict=True):
            begins.append((*row, unit))
            unit *= row[2] + 1

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

        has the probabilities of a label and of the numbers of segments up to it. If there are many
        combinations of numbers, the least are left out, at most ``LARGEST_SHARE`` of the sum.

        Raises
        ------
        ValueError
            If there are too many likely combinations of numbers of segments.
        """
        after = self._backward(np.logaddexp.reduce)
        start = self._state[0] + after[0]
        log_z, n_labels = np.logaddexp.reduce(start), len(start)
        if log_z == -np.inf or not len(self._limits.most):
            return float(log_z)
        pairs = np.indices((n_labels, n_labels), sparse=True)
        first = self._limits.counted[:, None] & np.eye(n_labels, dtype=bool)
        later = self._limits.begins(*pairs)
        # As if there were a token before, with the same label.
        steps = [(np.eye(n_labels), _patterns(first))]
        patterns = _patterns(later)
        for t in range(1, self._n_tokens):
            with np.errstate(invalid="ignore"):
                chance = np.exp(self._step(t) + after[t] - after[t - 1][:, None])
            steps.append((np.nan_to_num(chance, posinf=0.0), patterns))
        most = LARGEST_SHARE / 10
        while True:
            total, left_out = self._sum(np.exp(start - log_z), steps, most)
            if left_out <= LARGEST_SHARE * total:
                return float(log_z + np.log(total)) if total else -np.inf
            most *= max(total, 1e-3) / 10

    def _sum(self, start: np.ndarray, steps: list, most: float) -> tuple[float, float]:
        """Return the probability of the limits, and how much of it was left out, at most."""
        # Numbers of segments are one integer, a digit for each limit.
        digits = [1]
        for largest in self._limits.most.tolist():
            digits.append(digits[-1] * (largest + 1))
        places = [*zip(digits[:-1], self._limits.most.tolist(), strict=True)]
        if digits[-1] >= LARGEST_CODE:
            raise ValueError(f"{TOO_MANY}: {len(places)}")
        codes, weights, left_out = np.zeros(1, dtype=np.int64), start[None], 0.0
        for chance, patterns in steps:
            codes, weights = _advanced(codes, weights, chance, patterns, places)
            if len(codes) > FEW:
                sums = weights.sum(axis=1)
                order = np.argsort(sums)
                cumulative = np.cumsum(sums[order])
                n_left_out = int(np.searchsorted(cumulative, most / len(steps)))
                left_out += cumulative[n_left_out - 1] if n_left_out else 0.0
                kept = np.sort(order[n_left_out:])
                codes, weights = codes[kept], weights[kept]
            if len(codes) > MOST_COUNTS:
                raise ValueError(f"{TOO_MANY}: {len(places)}")
        return float(weights.sum()), left_out


def _patterns(begins: np.ndarray) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Group the pairs of labels by the limits that count a segment that begins there.

    Returns for each group the limits, the pairs, and the current labels that occur in these.
    """
    n_labels = begins.shape[1]
    different, group = np.unique(begins.reshape(len(begins), -1).T, axis=0, return_inverse=True)
    group = group.reshape(n_labels, n_labels)
    masks = [group == number for number in range(len(different))]
    return [
        (np.flatnonzero(of), mask, np.flatnonzero(mask.any(axis=0)))
        for of, mask in zip(different, masks, strict=True)
    ]


def _advanced(
    codes: np.ndarray, weights: np.ndarray, chance: np.ndarray, patterns: list, places: list
) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of segments and their weights after one more token."""
    moves = []
    for limits, mask, columns in patterns:
        to, from_codes = codes, np.arange(len(codes))
        for unit, most in (places[i] for i in limits):
            fits = to // unit % (most + 1) < most
            to, from_codes = to[fits] + unit, from_codes[fits]
        table = np.where(mask, chance, 0.0)[:, columns]
        moves.append((to, columns, weights[from_codes] @ table))
    new = np.unique(np.concatenate([to for to, _, _ in moves]))
    summed = np.zeros((len(new), len(chance)))
    for to, columns, moved in moves:
        summed[np.searchsorted(new, to)[:, None], columns] += moved
    return new, summed


def _labels_of(node: tuple) -> Iterator[int]:
    while node[3] is not None:
        yield node[0]
        node = node[3]
