"""Chains over a few candidate labels per token, of any order."""

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..._kernels.chain.scores import BatchScores
from ..._kernels.lattice import sums as lattices
from ..._kernels.lattice.runs import (
    LatticeRuns,
    add_lattice_covariances,
    add_lattice_paths,
    best_lattice_paths,
    k_best_lattice_paths,
    move_lattice_sums,
    score_labels_and_pairs,
    score_lattice_paths,
    starts_of_runs,
)
from ...data.ragged import joined_ranges
from ..candidates import Candidates
from ..k_best import k_best_paths
from ..scores import Pullback, ScoreGradient, Scores, add_with_ends
from ..spans import HasWindows


class LatticeScores(NamedTuple):
    """Scores of all runs of candidates of a :class:`Lattice`, or derivatives by these scores.

    Parameters
    ----------
    runs : ndarray of shape (n_runs,)
        The scores of the candidates come first; see ``Lattice.start``.
    candidates : Candidates

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.structures import Candidates, Lattice, LatticeScores
    >>> lattice = Lattice(np.array([0, 2]), Candidates.above(np.full((2, 2), 0.5), 0.1))
    >>> scores = LatticeScores(np.arange(8.0), lattice.candidates)  # 4 of labels, 4 of pairs
    >>> scores.state
    array([0., 1., 2., 3.])
    """

    runs: np.ndarray
    candidates: Candidates

    @property
    def state(self) -> np.ndarray:
        """The scores of single candidates, of shape (n_candidates,)."""
        return self.runs[: len(self.candidates.label)]

    def shared(self) -> Iterator[tuple[str, np.ndarray]]:
        """Return the scores that tokens share: none."""
        return iter(())

    def are_below(self, limit: float, start: int, stop: int) -> np.ndarray:
        """Return which of the tokens ``start`` to ``stop`` have only state scores below a limit."""
        above = np.append(0, np.cumsum(~(self.state < limit)))[self.candidates.indptr]
        return np.diff(above[start : stop + 1]) == 0

    def largest(self) -> float:
        """Return the largest of all scores, at least 0."""
        return float(self.runs.max(initial=0.0))

    def with_state(self, state: np.ndarray) -> "LatticeScores":
        """Return the same scores but for the scores of single candidates."""
        longer = self.runs[len(state) :]
        return LatticeScores(np.concatenate([state, longer]), self.candidates)

    def costs(self, y: np.ndarray) -> np.ndarray:
        """Return the cost of each candidate: 1 where it is wrong; as :meth:`Scores.costs`."""
        token, label = self.candidates.token, self.candidates.label
        right = y[token, label] if y.ndim == 2 else y[token] == label
        return np.logical_not(right).astype(self.runs.dtype)

    def allow(self, labels: np.ndarray) -> "LatticeScores":
        """Return the same scores, but -inf for candidates that are not allowed."""
        allowed = labels[self.candidates.token, self.candidates.label]
        return self.with_state(np.where(allowed, self.state, -np.inf).astype(self.runs.dtype))

    def times(self, factor: float) -> "LatticeScores":
        """Return all scores times a positive number."""
        return LatticeScores(float(factor) * self.runs, self.candidates)


class Lattice(HasWindows):
    """Linear chains over some candidate labels of each token, of any order.

    The score of a path is the sum of the scores of all its runs: sequences of 1, 2, ...,
    ``order + 1`` candidates of tokens that follow each other. Paths consist of candidates only;
    over these, all sums are exact. The time is proportional to the number of runs of ``order + 1``
    candidates [1]_. Scores are :class:`LatticeScores`.

    Parameters
    ----------
    offsets : ndarray of shape (n_sequences + 1,), int64
    candidates : Candidates
    order : int, default=1

    Attributes
    ----------
    start : int64 ndarray of shape (order + 1, n_tokens + 1)
        The runs of ``n + 1`` candidates that end at token ``t`` are the runs from ``start[n, t]``
        to ``start[n, t + 1] - 1``, in lexicographic order of candidates.

    References
    ----------
    .. [1] Müller, Schmid, Schütze, "Efficient Higher-Order CRFs for Morphological Tagging",
       EMNLP 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.structures import Candidates, Lattice, Scores
    >>> candidates = Candidates.above(np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]]), 0.1)
    >>> lattice = Lattice(np.array([0, 2]), candidates)
    >>> scores = lattice.scores_of(Scores.of(np.zeros((2, 3)), np.eye(3)))
    >>> lattice.maximum(scores)
    (array([1.]), array([1, 1], dtype=int32))
    >>> np.exp(lattice.log_partition(scores)[0]) - 3  # e + three paths of score 0
    array([2.71828183])
    """

    own_scores = True

    def __init__(self, offsets: np.ndarray, candidates: Candidates, order: int = 1):
        super().__init__(offsets)
        self.candidates, self.order = candidates, order
        self.start = starts_of_runs(self.offsets, candidates.indptr, order)

    @cached_property
    def runs_of_candidates(self) -> LatticeRuns:
        """Where the runs are, as kernels take it."""
        return LatticeRuns(self.offsets, self.start)

    @property
    def n_runs(self) -> int:
        """The number of runs of all lengths, and of scores."""
        return int(self.start[-1, -1])

    def runs(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the runs of ``n + 1`` candidates: the token each ends at, and its number there."""
        first = self.start[n, :-1]
        token = np.repeat(np.arange(self.n_tokens), np.diff(self.start[n]))
        return token, np.arange(self.start[n, 0], self.start[n, -1]) - first[token]

    def labels_of_runs(self, n: int) -> np.ndarray:
        """Return the labels of the runs of ``n + 1`` candidates, int32 of shape (n + 1, n_runs)."""
        token, number = self.runs(n)
        sizes, labels = np.diff(self.candidates.indptr), np.empty((n + 1, len(token)), np.int32)
        for k in range(n, -1, -1):
            number, here = np.divmod(number, sizes[token])
            labels[k] = self.candidates.label[self.candidates.indptr[token] + here]
            token = token - 1
        return labels

    def take(self, units: slice | np.ndarray) -> "Lattice":
        if isinstance(units, slice):
            first, last, _ = units.indices(self.n_units)
            offsets = self.offsets[first : last + 1]
            tokens: Any = slice(offsets[0], offsets[-1])
            offsets = offsets - offsets[0]
        else:
            lengths = np.diff(self.offsets)[units]
            offsets = np.append(0, np.cumsum(lengths))
            tokens = joined_ranges(self.offsets[units], lengths)
        return Lattice(offsets, self.candidates.take(tokens), self.order)

    def places_at(self, n: int, token: int) -> slice:
        """Return where the runs of ``n + 1`` candidates that end at a token are."""
        return slice(*self.start[n, token : token + 2].tolist())

    def places_of(self, units: np.ndarray) -> np.ndarray:
        """Return where the runs of some of the units are, in the order of ``take(units)``."""
        first, stop = self.start[:, self.offsets[units]], self.start[:, self.offsets[units + 1]]
        return joined_ranges(first.ravel(), (stop - first).ravel())

    def links(self) -> tuple[np.ndarray, np.ndarray]:
        current = np.setdiff1d(np.arange(self.n_tokens), self.offsets)
        return current - 1, current

    def scores_of(self, scores: Scores) -> LatticeScores:
        """Return the scores of chains, for the candidates; runs of more than two have the score 0.

        Parameters
        ----------
        scores : Scores

        Returns
        -------
        LatticeScores
            Of the type of the state scores.
        """
        runs = np.zeros(self.n_runs, dtype=scores.state.dtype)
        batch, state = BatchScores(self.offsets, scores), np.ascontiguousarray(scores.state)
        score_labels_and_pairs(self.runs_of_candidates, self.candidates.label, batch, state, runs)
        return LatticeScores(runs, self.candidates)

    def add_to_chain(self, gradient: Any, scores: Scores, out: ScoreGradient) -> ScoreGradient:
        """Add derivatives by the runs to the derivatives by the scores of chains.

        Parameters
        ----------
        gradient : LatticeScores
        scores : Scores
            As in :meth:`scores_of`.
        out : ScoreGradient

        Returns
        -------
        ScoreGradient
            ``out``.
        """
        state = np.zeros(out.state.shape)
        state[self.candidates.token, self.candidates.label] = gradient.state
        add_with_ends(out, state, self.ends)
        previous, current = self.labels_of_runs(1)
        of_pairs = gradient.runs[self.start[1, 0] : self.start[1, -1]]
        out.add_transitions(scores, self.runs(1)[0], previous, current, of_pairs)
        return out

    def unit_lattice(
        self, scores: Any, unit: int, also: np.ndarray | None = None
    ) -> tuple["Lattice", LatticeScores]:
        """As :meth:`Capabilities.unit_lattice`; other labels than candidates have no scores."""
        part, units = self.take(slice(unit, unit + 1)), np.array([unit])
        return part, LatticeScores(scores.runs[self.places_of(units)], part.candidates)

    def score(self, scores: Any, y: np.ndarray) -> tuple[np.ndarray, Pullback]:
        path, value = self.candidates.find(y), np.empty(self.n_units)
        score_lattice_paths(self.runs_of_candidates, scores.runs, path, value)

        def pullback(weight: np.ndarray, out: Any = None) -> Any:
            gradient = self._gradient(out, scores)
            add_lattice_paths(self.runs_of_candidates, path, _weights(weight), gradient.runs)
            return gradient

        return value, pullback

    def log_partition(self, scores: Any) -> tuple[np.ndarray, Pullback]:
        log_z, message, conditional = self._sums(scores)

        def pullback(weight: np.ndarray, out: Any = None) -> Any:
            gradient = self._gradient(out, scores)
            sums = message, conditional, log_z
            lattices.sum_lattice_backward(
                self.runs_of_candidates, *sums, _weights(weight), gradient.runs
            )
            return gradient

        return log_z, pullback

    def maximum(self, scores: Any) -> tuple[np.ndarray, np.ndarray]:
        """As :meth:`Structure.maximum`; of ties, the path with the lowest labels at its end."""
        value, path = np.empty(self.n_units), np.zeros(self.n_tokens, dtype=np.int32)
        message, choice = np.empty(self.n_runs), np.empty(self.n_runs, dtype=np.int32)
        best_lattice_paths(self.runs_of_candidates, scores.runs, message, choice, value, path)
        return value, self._labels(path)

    def marginals(self, scores: Any) -> tuple[np.ndarray, np.ndarray]:
        """As :meth:`Structure.marginals`; 0 for labels that are no candidates."""
        log_z, pullback = self.log_partition(scores)
        gradient: Any = pullback(np.ones(self.n_units))
        shape = self.n_tokens, self.candidates.n_labels
        marginals = np.zeros(shape, dtype=scores.runs.dtype)
        marginals[self.candidates.token, self.candidates.label] = gradient.state
        return log_z, marginals

    def covariance(self, scores: Any, direction: Any) -> tuple[np.ndarray, Pullback]:
        """As :meth:`Capabilities.covariance`; the direction has the form of the scores."""
        log_z, message, conditional = self._sums(scores)
        v = np.ascontiguousarray(direction.runs, dtype=float)
        moved_message, moved = np.empty((2, self.n_runs))
        mean = np.zeros(self.n_units)
        runs = self.runs_of_candidates
        if self.n_runs:
            move_lattice_sums(runs, v, message, conditional, log_z, moved_message, moved, mean)

        def pullback(weight: np.ndarray, out: Any = None) -> Any:
            gradient = self._gradient(out, scores)
            sums, moves = (message, conditional, log_z), (moved_message, moved, mean)
            add_lattice_covariances(runs, sums, moves, _weights(weight), gradient.runs)
            return gradient

        return mean, pullback

    def entropy(self, scores: Any) -> np.ndarray:
        # The derivative of the log-partition by the scores, times the scores, is the mean score.
        log_z, pullback = self.log_partition(scores)
        gradient: Any = pullback(np.ones(self.n_units))
        finite = np.where(np.isneginf(scores.runs), 0.0, scores.runs)
        products, mean = gradient.runs * finite, np.zeros(self.n_units)
        sequence = np.repeat(np.arange(self.n_units), np.diff(self.offsets))
        for n in range(self.order + 1):
            token, _ = self.runs(n)
            of_length = products[self.start[n, 0] : self.start[n, -1]]
            mean += np.bincount(sequence[token], of_length, minlength=self.n_units)
        return np.where(log_z > -np.inf, np.maximum(log_z - mean, 0.0), np.nan)

    def sample(
        self,
        scores: Any,
        n_samples: int,
        rng: np.random.Generator | np.random.RandomState,
    ) -> np.ndarray:
        log_z, message, conditional = self._sums(scores)
        if not (log_z > -np.inf).all():
            sequence = int(np.argmin(log_z > -np.inf))
            raise ValueError(f"no path of sequence {sequence} is possible")
        path = np.zeros((n_samples, self.n_tokens), dtype=np.int32)
        uniform = rng.uniform(size=path.shape)
        lattices.sample_lattice_paths(self.runs_of_candidates, message, conditional, uniform, path)
        return self._labels(path)

    def k_best(self, scores: Any, k: int) -> list[tuple[np.ndarray, np.ndarray]]:
        tokens, candidates = np.arange(self.n_tokens), self.candidates
        position = tokens - np.repeat(self.offsets[:-1], np.diff(self.offsets))
        longest = np.minimum(position, self.order - 1)
        n_states = self.start[longest, tokens + 1] - self.start[longest, tokens]

        def search(unit: int, paths: np.ndarray, value: np.ndarray) -> None:
            n = int(n_states[self.offsets[unit] : self.offsets[unit + 1]].sum())
            k_best_lattice_paths(self.runs_of_candidates, unit, scores.runs, n, paths, value)

        sizes = np.diff(candidates.indptr)
        found = k_best_paths(self.offsets, sizes, n_states, k, search)
        return [
            (value, candidates.label[candidates.indptr[start:stop] + paths])
            for (value, paths), (start, stop) in zip(found, pairwise(self.offsets), strict=True)
        ]

    def part(self, units: np.ndarray, scores: Any) -> tuple["Lattice", Any]:
        own, runs = self.take(units), scores.runs[self.places_of(units)].astype(float, copy=False)
        return own, scores._replace(runs=runs, candidates=own.candidates)

    def windows(
        self, scores: Any, unit: np.ndarray, start: np.ndarray, stop: np.ndarray
    ) -> tuple["Lattice", LatticeScores, np.ndarray]:
        """As ``HasWindows.windows``; -inf also for probabilities that underflow.

        Given all paths, p(y) = p(s) prod_t p(a_t | s_t), where s is the last run of ``order``
        candidates, and a_t the first candidate of a run that ends at t with the rest s_t.
        """
        first = np.maximum(start - self.order, self.offsets[unit])
        end = np.minimum(stop + self.order, self.offsets[unit + 1])
        log_z, message, conditional = self._sums(scores)
        marginals = np.zeros(self.n_runs)
        lattices.sum_lattice_backward(
            self.runs_of_candidates, message, conditional, log_z, np.ones(self.n_units), marginals
        )
        bounds, tokens = np.append(0, np.cumsum(end - first)), joined_ranges(first, end - first)
        windows = Lattice(bounds, self.candidates.take(tokens), self.order)
        runs, last = np.zeros(windows.n_runs), self.order - 1
        for n, values, mine, ours in (
            (self.order, conditional, tokens, np.arange(len(tokens))),
            (last, marginals, end - 1, bounds[1:] - 1),
        ):
            sizes = windows.start[n, ours + 1] - windows.start[n, ours]
            to, of = (
                joined_ranges(place, sizes)
                for place in (windows.start[n, ours], self.start[n, mine])
            )
            with np.errstate(divide="ignore"):
                runs[to] = np.log(values[of])
        return windows, LatticeScores(runs, windows.candidates), bounds[:-1] - first

    def n_labels_of(self, scores: Any) -> int:
        return self.candidates.n_labels

    def _sums(self, scores: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        log_z, message, conditional = np.empty(self.n_units), *np.empty((2, self.n_runs))
        lattices.sum_lattice_forward(
            self.runs_of_candidates, scores.runs, message, conditional, log_z
        )
        return log_z, message, conditional

    def _gradient(self, out: Any, scores: LatticeScores) -> LatticeScores:
        return out or LatticeScores(np.zeros_like(scores.runs), self.candidates)

    def _labels(self, path: np.ndarray) -> np.ndarray:
        return self.candidates.label[self.candidates.indptr[:-1] + path]


def _weights(weight: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(weight, dtype=float)
