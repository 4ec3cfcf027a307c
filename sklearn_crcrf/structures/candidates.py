"""Candidate labels: the few labels that each token may have."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._kernels.lattice.runs import find_candidates
from ..data.ragged import joined_ranges


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
        """Return the chosen labels of each token, at least one.

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
        """Return labels of a probability of at least ``threshold``, and the most probable.

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
        """Return the candidates of the tokens of all parts, at least one part."""
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
        """Return the candidates of some of the tokens, in the order given."""
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
        """Return the candidates for which a bool array of shape (n_candidates,) is True."""
        indptr = np.append(0, np.cumsum(kept))[self.indptr]
        return self._replace(
            indptr=indptr, label=self.label[kept], log_probability=self.log_probability[kept]
        )

    def pruned(
        self, probability: np.ndarray, threshold: float, gold: np.ndarray | None = None
    ) -> "Candidates":
        """Return candidates of at least a probability ``threshold``, and the most probable.

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

    def most_probable(self, n: int, gold: np.ndarray | None = None) -> "Candidates":
        """Return the ``n`` candidates of each token with the greatest probabilities.

        Parameters
        ----------
        n : int
        gold : ndarray of shape (n_tokens,), optional
            Label ids that stay candidates; -1 for none.
        """
        sizes = np.diff(self.indptr)
        many = np.flatnonzero(sizes > n)
        places, part = joined_ranges(self.indptr[many], sizes[many]), self.take(many)
        token, kept = part.token, np.empty(len(places), dtype=bool)
        order = np.lexsort((-part.log_probability, token))
        kept[order] = np.arange(len(order)) - part.indptr[token] < n
        if gold is not None:
            kept |= part.label == gold[many][token]
        every = np.ones(len(self.label), dtype=bool)
        every[places] = kept
        return self.where(every)

    def find(self, y: np.ndarray) -> np.ndarray:
        """Return which of the candidates of its token each label id is, int32; -1 for none."""
        numbers = np.empty(len(self.indptr) - 1, dtype=np.int32)
        find_candidates(self.indptr, self.label, np.ascontiguousarray(y, np.int32), numbers)
        return numbers
