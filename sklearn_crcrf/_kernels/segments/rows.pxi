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
    void mix_rows "MIX_ROWS"(
        const void *table, const void *rows, int64_t n_rows, const void *factor, int64_t n_out,
        void *out
    )
    void add_row_pairs "ADD_ROW_PAIRS"(
        const void *factor, const void *first, int64_t n_first, const void *second,
        int64_t n_second, void *pairs
    )
    void raise_to "RAISE_TO"(const void *rows, int64_t n_rows, void *largest)
    void weigh_rows "WEIGH_ROWS"(const void *rows, int64_t n_rows, const void *weight, void *out)
    void extend_segments "EXTEND_SEGMENTS"(
        const SegmentRows *n, const SegmentType *type, int64_t k, int64_t t, void *memory
    )
    void retract_segments "RETRACT_SEGMENTS"(
        const SegmentRows *n, const SegmentType *type, int64_t k, int64_t t, void *memory
    )


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
