"""The weights of a lattice, and the scores of runs of candidates as linear functions of these."""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..._kernels.lattice import sums as lattices
from ..._kernels.lattice.runs import (
    add_pair_derivatives,
    add_pair_weights,
    add_run_derivatives,
    count_numbers,
    number_candidate_pairs,
    write_run_weights,
)
from ..._kernels.sizes import check_number
from ..._kernels.sparse.keys import number_keys
from ...structures import Lattice
from .label_runs import Ends, end_runs, keys_of_runs, positions

__all__ = ["Derivatives", "Features", "LatticeDesign", "choose_features"]


class Derivatives(NamedTuple):
    """Derivatives by all weights.

    Parameters
    ----------
    pairs : ndarray of shape (n_pairs,), of the type of the weights
    runs : float64 ndarray of shape (n_run_weights,)
    known : float64 ndarray of shape (n_labels,) or (0,)
    """

    pairs: np.ndarray
    runs: np.ndarray
    known: np.ndarray


class Features(NamedTuple):
    """What has a weight.

    Parameters
    ----------
    pairs : CSR of shape (n_attributes, n_labels)
        Its entries are pairs of attribute and label.
    runs : int64 ndarray of shape (n_run_weights,)
        Increasing keys of runs of labels.
    has_known : bool
        Whether the scores that are known beforehand have a weight for each label.
    """

    pairs: sp.csr_array
    runs: np.ndarray
    has_known: bool

    @property
    def sizes(self) -> tuple[int, int, int]:
        """The numbers of weights of pairs, of runs, and of scores known beforehand."""
        return self.pairs.nnz, len(self.runs), self.pairs.shape[1] if self.has_known else 0

    @property
    def n_weights(self) -> int:
        """The number of all weights."""
        return sum(self.sizes)

    def split(self, vector: np.ndarray) -> list[np.ndarray]:
        """The weights of pairs, of runs, and of scores known beforehand."""
        return np.split(vector, np.cumsum(self.sizes)[:-1])

    def derivatives(self, vector: np.ndarray) -> Derivatives:
        """Derivatives that can be added to; those by pairs are in the vector itself."""
        of_pairs, of_runs, of_known = self.split(vector)
        return Derivatives(of_pairs, of_runs.astype(float), of_known.astype(float))

    def join(self, derivatives: Derivatives, vector: np.ndarray) -> np.ndarray:
        """The inverse of :meth:`derivatives`, into the same vector."""
        _, of_runs, of_known = self.split(vector)
        of_runs[:], of_known[:] = derivatives.runs, derivatives.known
        return vector


class LatticeDesign:
    """Attributes, candidates and runs of labels, with the numbers of their weights.

    A vector of weights has the weights of pairs of attribute and label first, then of runs of
    labels, then of the scores known beforehand, which are the log-probabilities of candidates.

    Attributes of tokens with a single candidate have no part in any probability, so they are left
    out.

    Parameters
    ----------
    X : CSR of shape (n_tokens, n_attributes)
        With sorted indices.
    lattice : Lattice
    features : Features
    """

    def __init__(self, X: sp.csr_array, lattice: Lattice, features: Features):
        self.lattice, self.features, self.dtype = lattice, features, X.dtype
        self.X = ambiguous(X, lattice)
        keys = keys_of_runs(lattice)
        self.ends: Ends = end_runs(lattice, keys)
        check_number(features.n_weights, "weights")
        self.run = positions(keys, features.runs)
        self.end = positions(self.ends.key, features.runs)
        self.known = np.zeros(1, dtype=X.dtype)
        if features.has_known:
            self.known = lattice.candidates.log_probability.astype(X.dtype)

    @cached_property
    def first_pair(self) -> np.ndarray:
        """Where the numbers of the pairs of each entry of X are."""
        sizes = np.diff(self.lattice.candidates.indptr)[np.repeat(*_rows(self.X))]
        return np.append(0, np.cumsum(sizes)).astype(np.int64)

    @cached_property
    def pair(self) -> np.ndarray:
        """The weights of the pairs of each entry of X with the candidates of its token."""
        numbers = np.empty(self.first_pair[-1], dtype=np.int32)
        candidates, pairs = self.lattice.candidates, self.features.pairs
        number_candidate_pairs(
            *_columns(self.X),
            self.first_pair,
            candidates.indptr,
            candidates.label,
            pairs.indptr.astype(np.int64),
            pairs.indices.astype(np.int32, copy=False),
            pairs.shape[1],
            numbers,
        )
        return numbers

    def numbers(self) -> Any:
        """The numbers of all weights, as the kernel of stochastic learning takes them."""
        return lattices.LatticeWeights(
            self.lattice.runs_of_candidates,
            self.X.indptr.astype(np.int64),
            self.first_pair,
            self.pair,
            self.run,
            (self.ends.indptr, self.ends.place, self.end),
            self.lattice.candidates.label,
            self.features.sizes,
        )

    def uses(self) -> np.ndarray:
        """How many scores each weight has a part in, float64 of shape (n_weights,)."""
        used = [np.zeros(n, dtype=np.int64) for n in self.features.sizes]
        for numbers, uses in ((self.pair, used[0]), (self.run, used[1]), (self.end, used[1])):
            count_numbers(numbers, uses)
        if self.features.has_known:
            count_numbers(self.lattice.candidates.label, used[2])
        return np.concatenate(used).astype(float)

    def scores(self, w: np.ndarray) -> np.ndarray:
        """The scores of all runs, of shape (n_runs,)."""
        of_pairs, of_runs, of_known = self.features.split(w)
        scores, candidates = np.empty(self.lattice.n_runs, dtype=w.dtype), self.lattice.candidates
        write_run_weights(self.run, self.ends.place, self.end, of_runs, scores)
        state = scores[: len(candidates.label)]
        if len(of_known):
            state += of_known[candidates.label] * self.known
        add_pair_weights(*self._entries, of_pairs, state, 0, self.lattice.n_tokens)
        return scores

    def add_gradient(self, derivatives: np.ndarray, out: Derivatives) -> None:
        """Add the derivatives by the weights, given the derivatives by the scores of all runs."""
        label = self.lattice.candidates.label
        state = derivatives[: len(label)]
        add_run_derivatives(self.run, self.ends.place, self.end, derivatives, out.runs)
        if len(out.known):
            out.known[:] += np.bincount(label, state * self.known, minlength=len(out.known))
        add_pair_derivatives(*self._entries, state, out.pairs, 0, self.lattice.n_tokens)

    @cached_property
    def _entries(self) -> tuple[np.ndarray, ...]:
        """The attributes of candidates, and the numbers of their weights, as kernels take them."""
        indptr = self.X.indptr.astype(np.int64)
        return indptr, self.X.data, self.lattice.candidates.indptr, self.first_pair, self.pair


def choose_features(X: sp.csr_array, lattice: Lattice, shown: Lattice, has_known: bool) -> Features:
    """The pairs of attribute and label, and the runs of labels, that occur.

    Parameters
    ----------
    X : CSR of shape (n_tokens, n_attributes)
    lattice : Lattice
    shown : Lattice
        Of the labels that are shown to occur: all candidates, or the gold labels alone.
    has_known : bool
        As in :class:`Features`.

    Returns
    -------
    Features
    """
    X, candidates = ambiguous(X, lattice), shown.candidates
    n_labels, n_shown = candidates.n_labels, len(candidates.label)
    shape = X.shape[0], n_labels
    attributes = sp.csr_array((np.ones(X.nnz, dtype=np.int32), X.indices, X.indptr), X.shape)
    labels = np.ones(n_shown, dtype=np.int32), candidates.label, candidates.indptr
    pairs = sp.csr_array(attributes.T @ sp.csr_array(labels, shape))
    pairs.sort_indices()
    keys = keys_of_runs(shown)
    keys = np.concatenate([keys, end_runs(shown, keys).key])
    return Features(pairs, np.sort(keys[number_keys(keys)[1]]), has_known)


def ambiguous(X: sp.csr_array, lattice: Lattice) -> sp.csr_array:
    """The attributes of the tokens that have more than one candidate."""
    kept = np.diff(lattice.candidates.indptr) > 1
    lengths = np.diff(X.indptr)
    of_entry = np.repeat(kept, lengths)
    indptr = np.append(0, np.cumsum(np.where(kept, lengths, 0)))
    return sp.csr_array((X.data[of_entry], X.indices[of_entry], indptr), X.shape)


def _columns(X: sp.csr_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The entries of X by columns: indptr, tokens, and places in X."""
    columns = sp.csr_array((np.arange(X.nnz), X.indices, X.indptr), X.shape).tocsc()
    return (
        columns.indptr.astype(np.int64),
        columns.indices.astype(np.int32, copy=False),
        columns.data.astype(np.int64),
    )


def _rows(X: sp.csr_array) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(X.shape[0]), np.diff(X.indptr)
