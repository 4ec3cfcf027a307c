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
    number_candidate_pairs,
    write_run_keys,
    write_run_weights,
)
from ..._kernels.sizes import check_number
from ..._kernels.sparse.keys import number_keys
from ...data.csr import csr_arrays
from ...data.ragged import joined_ranges
from ...structures import Lattice, LatticeScores
from ...utils.searching import places_in


class Ends(NamedTuple):
    """The runs of candidates at the beginnings and ends of sequences.

    Parameters
    ----------
    indptr : ndarray of shape (n_sequences + 1,)
    place : ndarray of shape (n,)
        Where the score of each run is.
    key : ndarray of shape (n,)
        The key of the run, with a mark before or after it.
    """

    indptr: np.ndarray
    place: np.ndarray
    key: np.ndarray


def keys_of_runs(lattice: Lattice) -> np.ndarray:
    """Return the labels of all runs of candidates, as numbers with one digit for each label.

    Parameters
    ----------
    lattice : Lattice

    Returns
    -------
    int64 ndarray of shape (n_runs,)
        The digits, to the base ``n_labels + 2``, are label ids plus 1.
    """
    keys, base = np.empty(lattice.n_runs, dtype=np.int64), lattice.candidates.n_labels + 2
    write_run_keys(lattice.runs_of_candidates, lattice.candidates.label, base, keys)
    return keys


def end_runs(lattice: Lattice, keys: np.ndarray) -> Ends:
    """Return the runs of up to ``order`` candidates at the first and last tokens of sequences."""
    base, places, marked, units = lattice.candidates.n_labels + 2, [], [], []
    mark, unit = base - 1, np.arange(lattice.n_units)
    first, last = lattice.offsets[:-1], lattice.offsets[1:] - 1
    for n in range(lattice.order):
        long = last - first >= n
        for token, is_begin in ((first + n, True), (last, False)):
            at = token[long]
            starts = lattice.start[n, at]
            lengths = lattice.start[n, at + 1] - starts
            place = joined_ranges(starts, lengths)
            key = keys[place]
            marked.append(mark * base ** (n + 1) + key if is_begin else key * base + mark)
            places.append(place)
            units.append(np.repeat(unit[long], lengths))
    of_unit = np.concatenate(units)
    order = np.argsort(of_unit, kind="stable")
    counts = np.bincount(of_unit, minlength=lattice.n_units)
    return Ends(
        np.append(0, np.cumsum(counts)).astype(np.int64),
        np.concatenate(places)[order],
        np.concatenate(marked)[order],
    )


def positions(keys: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return where keys are among sorted known keys, int32; -1 for a key that is not known."""
    if len(keys) > len(known):
        numbers, _ = number_keys(np.concatenate([known, keys]))
        at = numbers[len(known) :].copy()
        at[at >= len(known)] = -1
        return at
    return places_in(known, keys).astype(np.int32)


def run_key(digits: np.ndarray, n_labels: int) -> np.ndarray:
    """Return keys of runs of labels; digits, (n_runs, length), are ids plus 1, or marks."""
    key = np.zeros(len(digits), dtype=np.int64)
    for column in digits.T:
        key = key * (n_labels + 2) + column
    return key


def labels_of_key(key: int, n_labels: int) -> tuple[int, ...]:
    """Return the label ids of a key; -1 for the mark of the begin or end of a sequence."""
    digits = []
    while key:
        key, digit = divmod(key, n_labels + 2)
        digits.append(-1 if digit == n_labels + 1 else digit - 1)
    return tuple(reversed(digits))


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
        """Return the weights of pairs, of runs, and of scores known beforehand."""
        return np.split(vector, np.cumsum(self.sizes)[:-1])

    def derivatives(self, vector: np.ndarray) -> list[np.ndarray]:
        """Return derivatives to add to; only derivatives by pairs are in the vector itself."""
        of_pairs, *others = self.split(vector)
        return [of_pairs, *(part.astype(float) for part in others)]

    def join(self, derivatives: list[np.ndarray], vector: np.ndarray) -> np.ndarray:
        """Write :meth:`derivatives` into the same vector."""
        for part, derivative in zip(self.split(vector)[1:], derivatives[1:], strict=True):
            part[:] = derivative
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
        self.ends = end_runs(lattice, keys)
        check_number(features.n_weights, "weights")
        self.run = positions(keys, features.runs)
        self.end = positions(self.ends.key, features.runs)
        self.known = np.zeros(1, dtype=X.dtype)
        if features.has_known:
            self.known = lattice.candidates.log_probability.astype(X.dtype)

    @cached_property
    def first_pair(self) -> np.ndarray:
        """Where the numbers of the pairs of each entry of X are."""
        sizes = np.repeat(np.diff(self.lattice.candidates.indptr), np.diff(self.X.indptr))
        return np.append(0, np.cumsum(sizes)).astype(np.int64)

    @cached_property
    def pair(self) -> np.ndarray:
        """The weights of the pairs of each entry of X with the candidates of its token."""
        numbers = np.empty(self.first_pair[-1], dtype=np.int32)
        candidates, pairs = self.lattice.candidates, self.features.pairs
        places = np.arange(self.X.nnz)  # of the entries of X, here by columns
        columns = sp.csr_array((places, self.X.indices, self.X.indptr), self.X.shape).tocsc()
        number_candidate_pairs(
            *csr_arrays(columns),
            self.first_pair,
            candidates.indptr,
            candidates.label,
            *csr_arrays(pairs)[:2],
            pairs.shape[1],
            numbers,
        )
        return numbers

    def numbers(self) -> Any:
        """Return the numbers of all weights, as the kernel of stochastic learning takes them."""
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
        """Return how many scores each weight has a part in, float64 of shape (n_weights,)."""
        used = [np.zeros(n, dtype=np.int64) for n in self.features.sizes]
        for numbers, uses in ((self.pair, used[0]), (self.run, used[1]), (self.end, used[1])):
            uses += np.bincount(numbers[numbers >= 0], minlength=len(uses))
        if self.features.has_known:
            used[2] += np.bincount(self.lattice.candidates.label, minlength=len(used[2]))
        return np.concatenate(used).astype(float)

    def scores(self, w: np.ndarray) -> np.ndarray:
        """Return the scores of all runs, of shape (n_runs,)."""
        of_pairs, of_runs, of_known = self.features.split(w)
        scores, candidates = np.empty(self.lattice.n_runs, dtype=w.dtype), self.lattice.candidates
        write_run_weights(self.run, self.ends.place, self.end, of_runs, scores)
        state = scores[: len(candidates.label)]
        if len(of_known):
            state += of_known[candidates.label] * self.known
        add_pair_weights(*self._entries, of_pairs, state, 0, self.lattice.n_tokens)
        return scores

    def lattice_scores(self, w: np.ndarray) -> LatticeScores:
        """Return the scores of all runs, as the lattice takes them."""
        return LatticeScores(self.scores(w), self.lattice.candidates)

    def add_gradient(self, derivatives: np.ndarray, out: list[np.ndarray]) -> None:
        """Add the derivatives by the weights, given the derivatives by the scores of all runs."""
        of_pairs, of_runs, of_known = out
        label = self.lattice.candidates.label
        state = derivatives[: len(label)]
        add_run_derivatives(self.run, self.ends.place, self.end, derivatives, of_runs)
        if len(of_known):
            of_known += np.bincount(label, state * self.known, minlength=len(of_known))
        add_pair_derivatives(*self._entries, state, of_pairs, 0, self.lattice.n_tokens)

    @cached_property
    def _entries(self) -> tuple[np.ndarray, ...]:
        """The attributes of candidates, and the numbers of their weights, as kernels take them."""
        indptr = self.X.indptr.astype(np.int64)
        return indptr, self.X.data, self.lattice.candidates.indptr, self.first_pair, self.pair


def choose_features(X: sp.csr_array, lattice: Lattice, shown: Lattice, has_known: bool) -> Features:
    """Return the pairs of attribute and label, and the runs of labels, that occur.

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
    """Return the attributes of the tokens that have more than one candidate."""
    kept = np.diff(lattice.candidates.indptr) > 1
    lengths = np.diff(X.indptr)
    of_entry = np.repeat(kept, lengths)
    indptr = np.append(0, np.cumsum(np.where(kept, lengths, 0)))
    return sp.csr_array((X.data[of_entry], X.indices[of_entry], indptr), X.shape)
