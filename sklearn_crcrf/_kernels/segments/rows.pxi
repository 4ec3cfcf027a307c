# The rows that sums over segmentations work on: a number for each of SEQUENCES sequences, which go in
# lock step. See segments/sums.pyx.

from libc.math cimport isfinite
from libc.stdint cimport int32_t

from sklearn_crcrf._kernels.segments.batch cimport BatchSegments

cdef extern from "segments/rows.h" nogil:
    cdef enum: SEQUENCES
    ctypedef struct SegmentType:
        int64_t single, first, inside, last
        int64_t single_begin, first_begin
        int64_t single_end, last_end
    ctypedef struct SegmentRows:
        int64_t labels, begins, ends, types, positions
        int64_t v, closed, opened, share
        int64_t factor, within, kept_within
        int64_t entry, top, after_closed, after_open, after_entry, closing
        int64_t pairs, inner, lengths, ended, totals, kept_inner
    void mix_rows_d(
        const double *table, const double *rows, int64_t n_rows, const double *factor,
        int64_t n_out, double *out
    )
    void mix_rows_f(
        const float *table, const float *rows, int64_t n_rows, const float *factor,
        int64_t n_out, float *out
    )
    void add_row_pairs_d(
        const double *factor, const double *first, int64_t n_first, const double *second,
        int64_t n_second, double *pairs
    )
    void add_row_pairs_f(
        const float *factor, const float *first, int64_t n_first, const float *second,
        int64_t n_second, float *pairs
    )
    void raise_to_d(const double *rows, int64_t n_rows, double *largest)
    void raise_to_f(const float *rows, int64_t n_rows, float *largest)
    void weigh_rows_d(const double *rows, int64_t n_rows, const double *weight, double *out)
    void weigh_rows_f(const float *rows, int64_t n_rows, const float *weight, float *out)
    void extend_segments_d(
        const SegmentRows *n, const SegmentType *type, int64_t k, int64_t t, double *memory
    )
    void extend_segments_f(
        const SegmentRows *n, const SegmentType *type, int64_t k, int64_t t, float *memory
    )
    void retract_segments_d(
        const SegmentRows *n, const SegmentType *type, int64_t k, int64_t t, double *memory
    )
    void retract_segments_f(
        const SegmentRows *n, const SegmentType *type, int64_t k, int64_t t, float *memory
    )


cdef inline void mix_rows(
    const real *table, const real *rows, int64_t n_rows, const real *factor, int64_t n_out,
    real *out,
) noexcept nogil:
    if real is double:
        mix_rows_d(table, rows, n_rows, factor, n_out, out)
    else:
        mix_rows_f(table, rows, n_rows, factor, n_out, out)


cdef inline void add_row_pairs(
    const real *factor, const real *first, int64_t n_first, const real *second, int64_t n_second,
    real *pairs,
) noexcept nogil:
    if real is double:
        add_row_pairs_d(factor, first, n_first, second, n_second, pairs)
    else:
        add_row_pairs_f(factor, first, n_first, second, n_second, pairs)


cdef inline void raise_to(const real *rows, int64_t n_rows, real *largest) noexcept nogil:
    if real is double:
        raise_to_d(rows, n_rows, largest)
    else:
        raise_to_f(rows, n_rows, largest)


cdef inline void weigh_rows(
    const real *rows, int64_t n_rows, const real *weight, real *out
) noexcept nogil:
    if real is double:
        weigh_rows_d(rows, n_rows, weight, out)
    else:
        weigh_rows_f(rows, n_rows, weight, out)


cdef inline void extend_segments(
    const SegmentRows *n, const SegmentType *type, int64_t k, int64_t t, real *memory
) noexcept nogil:
    if real is double:
        extend_segments_d(n, type, k, t, memory)
    else:
        extend_segments_f(n, type, k, t, memory)


cdef inline void retract_segments(
    const SegmentRows *n, const SegmentType *type, int64_t k, int64_t t, real *memory
) noexcept nogil:
    if real is double:
        retract_segments_d(n, type, k, t, memory)
    else:
        retract_segments_f(n, type, k, t, memory)


cdef int64_t arrange(
    int64_t longest, int64_t n_labels, BatchSegments segments, SegmentRows *n
) noexcept:
    """Let arrays follow each other in memory; returns the number of rows."""
    cdef int64_t size, n_rows = 0
    n.labels, n.begins = n_labels + 1, segments.begins.shape[0] + 1
    n.ends, n.types = segments.ends.shape[0] + 1, segments.by_length.shape[0]
    n.positions = segments.by_length.shape[1]
    size = n.types * n.positions
    n.v, n_rows = n_rows, n_rows + longest * n.labels
    n.closed, n_rows = n_rows, n_rows + longest * n.ends
    n.opened, n_rows = n_rows, n_rows + (longest + 1) * size
    n.share, n_rows = n_rows, n_rows + longest + 1
    n.factor, n_rows = n_rows, n_rows + size
    n.within, n_rows = n_rows, n_rows + 4 * n.types
    n.kept_within, n_rows = n_rows, n_rows + 4 * n.types
    n.entry, n_rows = n_rows, n_rows + n.begins
    n.top, n_rows = n_rows, n_rows + 1
    n.after_closed, n_rows = n_rows, n_rows + n.ends
    n.after_open, n_rows = n_rows, n_rows + size
    n.after_entry, n_rows = n_rows, n_rows + n.begins
    n.closing, n_rows = n_rows, n_rows + 2 * n.types
    n.pairs, n_rows = n_rows, n_rows + n.ends * n.begins
    n.inner, n_rows = n_rows, n_rows + 4 * n.types
    n.lengths, n_rows = n_rows, n_rows + size
    n.ended, n_rows = n_rows, n_rows + n.ends
    n.kept_inner, n_rows = n_rows, n_rows + 4 * n.types
    n.totals, n_rows = n_rows, n_rows + max(n.positions, n.begins, 4) // SEQUENCES + 1
    return n_rows


cdef inline real *at(real *memory, int64_t row) noexcept nogil:
    return memory + row * SEQUENCES


cdef inline void set_row(real *row, double x) noexcept nogil:
    cdef int64_t b
    for b in range(SEQUENCES):
        row[b] = <real>x
