"""New conjunctions, made where a model finds the labels unlikely."""

import numpy as np
import scipy.sparse as sp

from ..._kernels.sparse.keys import number_keys
from ...data.ragged import joined_ranges
from .conjunctions import Conjunctions

# Most pairs of columns that are looked at: of more, only some of the tokens are. And the largest
# number of new conjunctions.
MOST_PAIRS, MOST_PROPOSED = 2**21, 2**15


def with_proposals(
    known: Conjunctions,
    columns: sp.csr_array,
    missing: np.ndarray,
    least: float,
    max_order: int,
) -> Conjunctions:
    """Return the known conjunctions, and after them new ones of two columns at some tokens.

    A column is joined with an attribute only if labels that it could explain are missing.

    Parameters
    ----------
    known : Conjunctions
    columns : CSR of shape (n_tokens, known.n_columns)
        At the tokens where conjunctions are made.
    missing : ndarray of shape (n_tokens,)
        The probability that a model gives to labels other than the known one of each token.
    least : float
        The sum of ``missing`` over the tokens of a conjunction must be as large.
    max_order : int
        Most attributes of a conjunction.

    Returns
    -------
    Conjunctions
    """
    is_used = abs(columns).T @ missing > least
    is_parent = is_used & (known.orders() < max_order)
    parents = _entries(columns, is_parent)
    attributes = _entries(columns, is_used & (np.arange(known.n_columns) < known.n_attributes))
    n_pairs = np.diff(parents.indptr).astype(np.int64) * np.diff(attributes.indptr)
    every = max(1, -(-int(n_pairs.sum()) // MOST_PAIRS))
    if every > 1:
        parents, attributes = parents[::every], attributes[::every]
        missing, least = missing[::every], least / every
    token, parent, last = _pairs(parents, attributes)
    fits = (parent >= known.n_attributes) | (last > parent)
    token, parent, last = token[fits], parent[fits], last[fits]
    ids, first = number_keys(parent * known.n_attributes + last)
    mass = np.bincount(ids, weights=missing[token], minlength=len(first))
    kept = np.flatnonzero(mass > least)
    kept = kept[np.argsort(-mass[kept], kind="stable")[:MOST_PROPOSED]]
    return _without_copies(known, parent[first[kept]], last[first[kept]])


def _entries(rows: sp.csr_array, kept: np.ndarray) -> sp.csr_array:
    """Return the entries of some columns, which keep their numbers."""
    kept = kept[rows.indices]
    indptr = np.append(0, np.cumsum(kept))[rows.indptr]
    return sp.csr_array((rows.data[kept], rows.indices[kept], indptr), shape=rows.shape)


def _pairs(parents: sp.csr_array, attributes: sp.csr_array) -> tuple[np.ndarray, ...]:
    """Return the row, the parent and the attribute of all pairs of two entries of a row."""
    row = np.repeat(np.arange(parents.shape[0]), np.diff(parents.indptr))
    n = np.diff(attributes.indptr)[row].astype(np.int64)
    last = attributes.indices[joined_ranges(attributes.indptr[row].astype(np.int64), n)]
    return np.repeat(row, n), np.repeat(parents.indices.astype(np.int64), n), last


def _without_copies(known: Conjunctions, parent: np.ndarray, last: np.ndarray) -> Conjunctions:
    """Return the known conjunctions and new ones, each set of different attributes only once."""
    members = known.joined_with(parent, last).members()
    joined = members[known.n_attributes :]
    _, first = np.unique(joined, axis=0, return_index=True)
    new = np.sort(first[first >= len(known.parent)])
    repeats = ((joined[new, 1:] == joined[new, :-1]) & (joined[new, 1:] >= 0)).any(axis=1)
    new = new[~repeats] - len(known.parent)
    return known.joined_with(parent[new], last[new])
