"""Sums of rows of a matrix: state scores X @ W, and their gradient X.T @ D."""

import numpy as np

from libc.stdint cimport int32_t, int64_t

from sklearn_crcrf._kernels.machine cimport give_turn, take_turn
from sklearn_crcrf._kernels.vectors cimport add_row, add_sum, fetch_row, real

# Rows of the result are fetched from memory this number of entries ahead.
cdef enum: NEXT = 8


def write_row_sums(
    const int64_t[::1] indptr,     # (n_rows + 1,) of a CSR matrix IN
    const int32_t[::1] indices,
    const real[::1] values,
    const real[:, ::1] matrix,     # (n_columns, n) IN
    real[:, ::1] out,              # (stop - start, n) OUT
    int64_t start,
    int64_t stop,
):
    """out[r - start] = sum_k values[k] * matrix[indices[k]], for r in start:stop."""
    cdef:
        int64_t r, after, n = matrix.shape[1]
        const real[::1] zeros = np.zeros(n, dtype=np.asarray(out).dtype)
        # Rows behind the last entry begin where there is none.
        const int32_t *columns = &indices[0] if indices.shape[0] else NULL
        const real *factors = &values[0] if values.shape[0] else NULL
        const real *summands = &matrix[0, 0] if matrix.shape[0] and n else NULL
    if n == 0:
        return
    with nogil:
        give_turn()
        for r in range(start, stop):
            after = indptr[r + 1]
            add_sum(
                columns + indptr[r], factors + indptr[r], after - indptr[r], indptr[stop] - after,
                summands, n, &zeros[0], &out[r - start, 0],
            )
        take_turn()


def add_row_sums(
    const int64_t[::1] indptr,
    const int32_t[::1] indices,
    const real[::1] values,
    const int32_t[::1] target,     # (n_rows,) IN
    const real[:, ::1] matrix,
    real[:, ::1] out,              # (n_targets, n) INOUT
    int64_t start,
    int64_t stop,
    int64_t origin,
):
    """out[target[r] - origin] += sum_k values[k] * matrix[indices[k]], for r in start:stop."""
    cdef:
        int64_t r, after, n = matrix.shape[1]
        real *row
    if n == 0:
        return
    with nogil:
        give_turn()
        for r in range(start, stop):
            if r + NEXT < stop:
                fetch_row(&out[target[r + NEXT] - origin, 0], n)
            after = indptr[r + 1]
            if indptr[r] < after:
                row = &out[target[r] - origin, 0]
                add_sum(
                    &indices[indptr[r]], &values[indptr[r]], after - indptr[r],
                    indptr[stop] - after, &matrix[0, 0], n, row, row,
                )
        take_turn()


def add_outer_products(
    const int64_t[::1] indptr,     # (n_rows + 1,) of a CSR matrix IN
    const int32_t[::1] indices,
    const real[::1] values,
    const int32_t[::1] source,     # (n_rows,) IN
    const real[:, ::1] matrix,     # (n_sources, n) IN
    real[:, ::1] out,              # (n_columns, n) INOUT
    int64_t start,
    int64_t stop,
    int64_t origin,
):
    """out[indices[k]] += values[k] * matrix[source[r] - origin], for entries k of r in start:stop.
    """
    cdef int64_t r, k, n = matrix.shape[1]
    with nogil:
        give_turn()
        for r in range(start, stop):
            for k in range(indptr[r], indptr[r + 1]):
                if k + NEXT < indptr[stop]:
                    fetch_row(&out[indices[k + NEXT], 0], n)
                add_row(values[k], &matrix[source[r] - origin, 0], n, &out[indices[k], 0])
        take_turn()
