"""Some of the entries of a sparse matrix."""

import numpy as np

from libc.stdint cimport int32_t, int64_t

from sklearn_crcrf._kernels.vectors cimport real


def some_entries(
    const int64_t[::1] indptr,     # (n_rows + 1,) of a CSR matrix IN
    const int32_t[::1] columns,    # (n_entries,) -1 for what is left out IN
    const real[::1] values,        # (n_entries,) IN
    const int32_t[::1] renamed=None,  # (n_columns,) new names, -1 for what is left out IN
):
    """The values, columns and indptr of the entries that are not left out."""
    cdef:
        int64_t n_rows = indptr.shape[0] - 1, n_kept = 0, r, e
        bint rename = renamed is not None
        int64_t[::1] starts = np.zeros(n_rows + 1, dtype=np.int64)
        int32_t c
        int32_t[::1] kept
        real[::1] kept_values
    with nogil:
        for r in range(n_rows):
            for e in range(indptr[r], indptr[r + 1]):
                n_kept += columns[e] >= 0 and (not rename or renamed[columns[e]] >= 0)
            starts[r + 1] = n_kept
    kept = np.empty(n_kept, dtype=np.int32)
    kept_values = np.empty(n_kept, dtype=np.asarray(values).dtype)
    n_kept = 0
    with nogil:
        for e in range(columns.shape[0]):
            c = columns[e]
            if c >= 0 and rename:
                c = renamed[c]
            if c >= 0:
                kept[n_kept] = c
                kept_values[n_kept] = values[e]
                n_kept += 1
    return np.asarray(kept_values), np.asarray(kept), np.asarray(starts)
