"""Chains over a few candidate labels per token, of any order."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .._kernels._lattice import (
    LatticeRuns,
    add_lattice_paths,
    best_lattice_paths,
    sample_lattice_paths,
    score_lattice_paths,
    sum_lattice_backward,
    sum_lattice_forward,
)
from ..data.ragged import joined_ranges
from .base import Pullback, Structure
from .chain import Chain
from .scores import Scores

__all__ = ["Candidates", "Lattice", "LatticeScores"]


class Candidates(NamedTuple):
    """The labels that each token may have.

    Parameters
    ----------
    indptr : int64 ndarray of shape (n_tokens + 1,)
        Token ``t`` has the candidates from ``indptr[t]`` to ``indptr[t + 1] - 1``, at least one.
    label : int32 ndarray of shape (n_candidates,)
        Label ids; the candidates of a token are different, and increase.
    log_probability : float64 ndarray of shape (n_candidates,)
        Logarithms of the probabilities that the model gave them that proposed them.
    n_labels : int
        The number of all labels.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.structures import Candidates
    >>> probability = np.array([[0.7, 0.3, 0.0], [0.0, 0.01, 0.99]])
    >>> candidates = Candidates.above(probability, 0.1)
    >>> candidates.indptr, candidates.label
    (array([0, 2, 3]), array([0, 1, 2], dtype=int32))
    """

    indptr: np.ndarray
    label: np.ndarray
    log_probability: np.ndarray
    n_labels: int

    @classmethod
    def of(cls, chosen: np.ndarray, probability: np.ndarray) -> "Candidates":
        """The chosen labels of each token, at least one.

        Parameters
        ----------
        chosen : bool ndarray of shape (n_tokens, n_labels)
        probability : ndarray of shape (n_tokens, n_labels)
        """
        token, label = np.nonzero(chosen)
        indptr = np.append(0, np.cumsum(np.bincount(token, minlength=len(chosen))))
        with np.errstate(divide="ignore"):
            logarithm = np.log(probability[token, label], dtype=float)
        return cls(indptr.astype(np.int64), label.astype(np.int32), logarithm, chosen.shape[1])

    @classmethod
    def above(
        cls, probability: np.ndarray, threshold: float, gold: np.ndarray | None = None
    ) -> "Candidates":
        """The labels of a probability of at least ``threshold``, and the most probable label.

        Parameters
        ----------
        probability : ndarray of shape (n_tokens, n_labels)
        threshold : float
        gold : ndarray of shape (n_tokens,), optional
            Label ids that are candidates too; -1 for none.
        """
        every = cls.of(np.ones(probability.shape, dtype=bool), probability)
        return every.pruned(probability.ravel(), threshold, gold)

    @classmethod
    def concatenate(cls, parts: Sequence["Candidates"]) -> "Candidates":
        """The candidates of the tokens of all parts, at least one part."""
        sizes = np.concatenate([np.diff(part.indptr) for part in parts])
        label, logarithm = (
            np.concatenate(arrays) for arrays in zip(*(part[1:3] for part in parts), strict=True)
        )
        indptr = np.append(0, np.cumsum(sizes))
        return cls(indptr.astype(np.int64), label, logarithm, parts[0].n_labels)

    @property
    def token(self) -> np.ndarray:
        """The token of each candidate."""
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))

    def take(self, tokens: slice | np.ndarray) -> "Candidates":
        """The candidates of some of the tokens, in the order given."""
        if isinstance(tokens, slice):
            start, stop, _ = tokens.indices(len(self.indptr) - 1)
            indptr = self.indptr[start : stop + 1]
            chosen: Any = slice(indptr[0], indptr[-1])
            indptr = indptr - indptr[0]
        else:
            start, length = self.indptr[tokens], np.diff(self.indptr)[tokens]
            chosen, indptr = joined_ranges(start, length), np.append(0, np.cumsum(length))
        return self._replace(
            indptr=indptr, label=self.label[chosen], log_probability=self.log_probability[chosen]
        )

    def where(self, kept: np.ndarray) -> "Candidates":
        """The candidates for which a bool array of shape (n_candidates,) is True."""
        indptr = np.append(0, np.cumsum(kept))[self.indptr]
        return self._replace(
            indptr=indptr, label=self.label[kept], log_probability=self.log_probability[kept]
        )

    def pruned(
        self, probability: np.ndarray, threshold: float, gold: np.ndarray | None = None
    ) -> "Candidates":
        """The candidates of a probability of at least ``threshold``, and the most probable one.

        Parameters
        ----------
        probability : ndarray of shape (n_candidates,)
            Their logarithms replace ``log_probability``.
        threshold : float
        gold : ndarray of shape (n_tokens,), optional
            Label ids that stay candidates; -1 for none.
        """
        if len(self.label) == 0:
            return self
        token = self.token
        best = np.maximum.reduceat(probability, self.indptr[:-1])
        kept = (probability >= threshold) | (probability == best[token])
        if gold is not None:
            kept |= self.label == gold[token]
        with np.errstate(divide="ignore"):
            return self._replace(log_probability=np.log(probability, dtype=float)).where(kept)

    def find(self, y: np.ndarray) -> np.ndarray:
        """Which of the candidates of its token each label id is, int32; -1 for none."""
        token = self.token
        found = np.flatnonzero(self.label == np.asarray(y)[token])
        numbers = np.full(len(self.indptr) - 1, -1, dtype=np.int32)
        numbers[token[found]] = found - self.indptr[token[found]]
        return numbers


class LatticeScores(NamedTuple):
    """Scores of all runs of candidates of a :class:`Lattice`, or derivatives by these scores.

    Parameters
    ----------
    runs : ndarray of shape (n_runs,)
        The scores of the candidates come first; see :attr:`Lattice.start`.
    candidates : Candidates
    """

    runs: np.ndarray
    candidates: Candidates

    @property
    def state(self) -> np.ndarray:
        """The scores of single candidates, of shape (n_candidates,)."""
        return self.runs[: len(self.candidates.label)]

    def shared(self) -> Iterator[tuple[str, np.ndarray]]:
        """The scores that tokens share: none."""
        return iter(())

    def is_finite(self, start: int, stop: int) -> np.ndarray:
        """Which of the tokens ``start`` to ``stop`` have no state score that is NaN or inf."""
        finite = np.append(0, np.cumsum(~(self.state < np.inf)))[self.candidates.indptr]
        return np.diff(finite[start : stop + 1]) == 0

    def with_state(self, state: np.ndarray) -> "LatticeScores":
        """The same scores but for the scores of single candidates."""
        longer = self.runs[len(state) :]
        return LatticeScores(np.concatenate([state, longer]), self.candidates)

    def costs(self, y: np.ndarray) -> np.ndarray:
        """The cost of each candidate: 1 where it is wrong; as :meth:`Scores.costs`."""
        token, label = self.candidates.token, self.candidates.label
        right = y[token, label] if y.ndim == 2 else y[token] == label
        return np.logical_not(right).astype(self.runs.dtype)

    def allow(self, labels: np.ndarray) -> "LatticeScores":
        """The same scores, but -inf for candidates that are not allowed."""
        allowed = labels[self.candidates.token, self.candidates.label]
        return self.with_state(np.where(allowed, self.state, -np.inf).astype(self.runs.dtype))

    def times(self, factor: float) -> "LatticeScores":
        """All scores times a positive number."""
        return LatticeScores(float(factor) * self.runs, self.candidates)


class Lattice(Structure):
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
        position = np.arange(self.n_tokens) - np.repeat(self.offsets[:-1], np.diff(self.offsets))
        sizes = [np.diff(candidates.indptr)]
        for n in range(1, order + 1):
            longer = np.zeros_like(sizes[0])
            longer[1:] = sizes[-1][:-1] * sizes[0][1:]
            sizes.append(np.where(position < n, 0, longer))
        self.start = np.zeros((order + 1, self.n_tokens + 1), dtype=np.int64)
        np.cumsum(sizes, axis=1, out=self.start[:, 1:])
        self.start += np.append(0, np.cumsum(self.start[:-1, -1]))[:, None]

    @cached_property
    def runs_of_candidates(self) -> LatticeRuns:
        """Where the runs are, as kernels take it."""
        return LatticeRuns(self.offsets, self.start)

    @property
    def n_runs(self) -> int:
        """The number of runs of all lengths, and of scores."""
        return int(self.start[-1, -1])

    def runs(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """The runs of ``n + 1`` candidates: the token each ends at, and its number there."""
        first = self.start[n, :-1]
        token = np.repeat(np.arange(self.n_tokens), np.diff(self.start[n]))
        return token, np.arange(self.start[n, 0], self.start[n, -1]) - first[token]

    def take(self, units: slice | np.ndarray) -> "Lattice":
        offsets = Chain(self.offsets).take(units).offsets
        if isinstance(units, slice):
            start, stop, _ = units.indices(self.n_units)
            tokens: Any = slice(self.offsets[start], self.offsets[stop])
        else:
            tokens = joined_ranges(self.offsets[units], np.diff(self.offsets)[units])
        return Lattice(offsets, self.candidates.take(tokens), self.order)

    def links(self) -> tuple[np.ndarray, np.ndarray]:
        return Chain(self.offsets).links()

    def scores_of(self, scores: Scores) -> LatticeScores:
        """The scores of chains, for the candidates; runs of more than two have the score 0.

        Parameters
        ----------
        scores : Scores

        Returns
        -------
        LatticeScores
            Of the type of the state scores.
        """
        token, label = self.candidates.token, self.candidates.label
        runs = np.zeros(self.n_runs, dtype=scores.state.dtype)
        state = runs[: len(label)]
        state[:] = scores.state[token, label]
        for at, boundary in ((self.first_tokens(), scores.begin), (self.last_tokens(), scores.end)):
            places = joined_ranges(self.candidates.indptr[at], np.diff(self.candidates.indptr)[at])
            state[places] += boundary[label[places]]
        token, number = self.runs(1)
        previous, current = np.divmod(number, np.diff(self.candidates.indptr)[token])
        previous += self.candidates.indptr[token - 1]
        current += self.candidates.indptr[token]
        pairs = slice(self.start[1, 0], self.start[1, -1])
        runs[pairs] = scores.of_transitions(token, label[previous], label[current])
        return LatticeScores(runs, self.candidates)

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
            sum_lattice_backward(self.runs_of_candidates, *sums, _weights(weight), gradient.runs)
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
        sample_lattice_paths(self.runs_of_candidates, message, conditional, log_z, uniform, path)
        return self._labels(path)

    def _sums(self, scores: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        log_z, message, conditional = np.empty(self.n_units), *np.empty((2, self.n_runs))
        sum_lattice_forward(self.runs_of_candidates, scores.runs, message, conditional, log_z)
        return log_z, message, conditional

    def _gradient(self, out: Any, scores: LatticeScores) -> LatticeScores:
        return out or LatticeScores(np.zeros_like(scores.runs), self.candidates)

    def _labels(self, path: np.ndarray) -> np.ndarray:
        return self.candidates.label[self.candidates.indptr[:-1] + path]


def _weights(weight: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(weight, dtype=float)
