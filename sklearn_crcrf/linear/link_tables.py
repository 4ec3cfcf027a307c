"""Links with equal attributes, which share their transition scores."""

import numpy as np
import scipy.sparse as sp

from ..data.csr import csr_arrays
from ..data.ragged import joined_ranges

# Each change of a weight changes all tables. They pay if there are not more than one for this
# number of pairs of labels. The other number limits their memory: it is of all their scores.
PAIRS_PER_TABLE, MOST_SCORES = 8, 2**22
# Rows with more entries than this are rarely equal.
MOST_ENTRIES = 8


def different_rows(matrix: sp.csr_array) -> tuple[np.ndarray, sp.csr_array]:
    """Return the different rows of a matrix, and which of them each row is.

    Parameters
    ----------
    matrix : CSR of shape (n_rows, n_columns)

    Returns
    -------
    which : ndarray of shape (n_rows,), int64
    different : CSR of shape (n_different, n_columns)

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from sklearn_crcrf.linear.link_tables import different_rows
    >>> which, different = different_rows(sp.csr_array([[2.0, 0.0], [1.0, 1.0], [2.0, 0.0]]))
    >>> which, different.toarray()
    (array([0, 1, 0]), array([[2., 0.],
           [1., 1.]]))
    """
    matrix = sp.csr_array(matrix, copy=not matrix.has_canonical_format)
    matrix.sum_duplicates()
    n_rows, n_entries = matrix.shape[0], np.diff(matrix.indptr)
    if _all_equal(matrix, n_entries):
        # Most often transitions depend on no attributes; this takes a fraction of sorting.
        return np.zeros(n_rows, dtype=np.int64), matrix[:1]
    row = np.repeat(np.arange(n_rows), n_entries)
    entry = joined_ranges(np.zeros(n_rows, dtype=np.int64), n_entries)
    table = np.zeros((2, n_rows, entry.max(initial=0) + 1))
    table[:, row, entry] = matrix.indices + 1, matrix.data
    both = np.concatenate(table, axis=1)
    _, example, which = np.unique(both, axis=0, return_index=True, return_inverse=True)
    return which.reshape(-1).astype(np.int64), matrix[example]


def _all_equal(matrix: sp.csr_array, n_entries: np.ndarray) -> bool:
    """Say whether all rows have the same entries, of which row i has ``n_entries[i]``."""
    if n_entries.max(initial=0) == 0 or (n_entries != n_entries[0]).any():
        return False
    parts = (part.reshape(len(n_entries), -1) for part in (matrix.indices, matrix.data))
    return all(bool((part == part[0]).all()) for part in parts)


def link_tables(pairs: sp.csr_array, n_labels: int) -> tuple[np.ndarray, ...]:
    """Find the links that share a table of transition scores, and the attributes of each table.

    Parameters
    ----------
    pairs : CSR of shape (n_tokens, n_pair_attributes)
        Attributes of the link into each token.
    n_labels : int

    Returns
    -------
    row : ndarray of shape (n_tokens,), int64
        The table of each link.
    indptr, indices, values : ndarrays
        The attributes of the tables, a CSR matrix; without rows if most links differ.
    """
    (n_rows, n_columns), n_pairs = pairs.shape, n_labels**2
    row = np.zeros(n_rows, dtype=np.int64)
    n_entries = np.diff(pairs.indptr)
    if n_entries.max(initial=0) <= MOST_ENTRIES:
        filled = n_entries > 0
        # The same as pairs[filled], which takes longer: other rows have no entries to leave out.
        indptr = np.append(0, pairs.indptr[1:][filled])
        links = sp.csr_array((pairs.data, pairs.indices, indptr), (len(indptr) - 1, n_columns))
        row[filled], tables = different_rows(links)
        if tables.shape[0] <= max(1, min(n_pairs // PAIRS_PER_TABLE, MOST_SCORES // n_pairs)):
            return row, *csr_arrays(tables)
    return row, *csr_arrays(sp.csr_array((0, n_columns), dtype=float))
