"""Which attributes come together wherever one of them comes."""

import numpy as np

from libc.stdint cimport int32_t, int64_t

cdef extern from "vectors.h":
    void prefetch "PREFETCH"(const void *) nogil

cdef fused real:
    float
    double

# Rows so many entries ahead are fetched from memory.
cdef enum: AHEAD = 8


def find_companions(
    const int64_t[::1] indptr,     # (n_rows + 1,) of a CSR matrix IN
    int32_t[::1] indices,          # all different in a row IN, -1 for what is left out OUT
    const real[:] values,          # (n_entries,) IN
    const int64_t[::1] by_indptr,  # (n_attributes + 1,) of its transpose IN
    const int32_t[::1] by_row,     # (n_entries,) the row of each entry of the transpose IN
    const int32_t[::1] by_entry,   # (n_entries,) its place in the matrix IN
    const int32_t[::1] order,      # the attributes to look at, those of most rows first IN
    int64_t fewest,
):
    """Leave out of the rows of each attribute what all of them have in common besides it.

    Each attribute sees what those before it have left, and has companions only if ``fewest`` rows
    or more have it still; their values must be those of the attribute. Returns the attributes
    that have companions; where their companions begin and end; and the companions.
    """
    cdef:
        int32_t[::1] owners = np.empty(len(order), dtype=np.int32)
        int64_t[::1] starts = np.zeros(len(order) + 1, dtype=np.int64)
        # At least ``fewest`` entries are left out for each; then there are those to choose from.
        int64_t longest = np.diff(indptr).max(initial=0)
        int32_t[::1] companions = np.empty(len(indices) // fewest + longest, dtype=np.int32)
        # In how many of the rows of an attribute, without a gap, each of the others was.
        int32_t[::1] n_seen = np.zeros(len(by_indptr), dtype=np.int32)
        int64_t n_owners = 0, i, k, e, kept, last
        int32_t a, b, n_rows, n_common
        real value
    with nogil:
        for i in range(order.shape[0]):
            a = order[i]
            last = starts[n_owners]
            n_rows = n_common = 0
            for k in range(by_indptr[a], by_indptr[a + 1]):
                if k + AHEAD < by_indptr[a + 1]:
                    prefetch(&indices[by_entry[k + AHEAD]])
                if indices[by_entry[k]] < 0:
                    continue
                value = values[by_entry[k]]
                n_common = 0
                for e in range(indptr[by_row[k]], indptr[by_row[k] + 1]):
                    b = indices[e]
                    if b < 0 or b == a or n_seen[b] != n_rows or values[e] != value:
                        continue
                    n_seen[b] += 1
                    n_common += 1
                    if n_rows == 0:
                        companions[last] = b
                        last += 1
                n_rows += 1
                if n_common == 0:
                    break
            if n_common == 0 or n_rows < fewest:
                n_rows = -1
            else:
                leave_out(
                    indptr, indices, by_row, by_entry, by_indptr[a], by_indptr[a + 1], n_seen, n_rows
                )
            kept = starts[n_owners]
            for k in range(kept, last):
                b = companions[k]
                if n_seen[b] == n_rows:
                    companions[kept] = b
                    kept += 1
                n_seen[b] = 0
            if kept > starts[n_owners]:
                owners[n_owners] = a
                n_owners += 1
                starts[n_owners] = kept
    return (
        np.asarray(owners)[:n_owners],
        np.asarray(starts)[: n_owners + 1],
        np.asarray(companions)[: starts[n_owners]],
    )


cdef void leave_out(
    const int64_t[::1] indptr,
    int32_t[::1] indices,
    const int32_t[::1] by_row,
    const int32_t[::1] by_entry,
    int64_t start,
    int64_t stop,
    const int32_t[::1] n_seen,
    int32_t n_rows,
) noexcept nogil:
    """Leave out of the rows of an attribute what was seen in so many rows."""
    cdef int64_t k, e
    for k in range(start, stop):
        if k + AHEAD < stop:
            prefetch(&indices[by_entry[k + AHEAD]])
        if indices[by_entry[k]] >= 0:
            for e in range(indptr[by_row[k]], indptr[by_row[k] + 1]):
                if indices[e] >= 0 and n_seen[indices[e]] == n_rows:
                    indices[e] = -1
