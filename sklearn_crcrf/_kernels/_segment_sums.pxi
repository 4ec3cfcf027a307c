# Sums over the segmentations of sequences: a semi-Markov chain (Sarawagi & Cohen 2004).
#
# With e(t, j) the sum over all segmentations of the tokens before t, times the transition into label
# j, and v = exp(score), the sums that end or continue at token t are
#
#     open(t, 1, y) = e(t, first_y) v(t, first_y)
#     open(t, d, y) = open(t-1, d-1, y) v(inside_y) v(t, inside_y)                for d = 2..L
#     open(t, L+1, y) = (open(t-1, L, y) + open(t-1, L+1, y)) v(inside_y) v(t, inside_y)
#     closed(t, single_y) = e(t, single_y) v(t, single_y) v(length 1, y) v(span)
#     closed(t, last_y) = sum_d open(t-1, d-1, y) v(last_y) v(t, last_y) v(length d, y) v(span)
#     e(t+1, j) = sum_i closed(t, i) v(i, j)
#
# so a segment is scored by its tokens, its length and its span, at O(L n_types + n_labels^2) for each
# token; segments of more than L tokens have one length and no span, and all are summed in
# open(L+1). Sums are scaled at each token, so that the largest is 1. A sum that underflows is below
# 1e-300 then, and what is lost of the total is below that, times the sum of all continuations of it,
# which the backward pass computes: a sequence in which this could be large gets the log-partition
# NaN.

import numpy as np

from libc.math cimport INFINITY, NAN, exp, isfinite, isnan, log
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from sklearn_crcrf._kernels._batch_scores cimport BatchCounts, BatchScores
from sklearn_crcrf._kernels._segments cimport BatchSegments
from sklearn_crcrf._kernels._turns cimport give_turn, take_turn
from sklearn_crcrf._kernels.vectors cimport exponentials_d, real

# Rows that are not padded are written to the end of a vector; these extra numbers allow it.
cdef enum: SPARE = 16

# The smallest maximum of the sums of a token before scaling, and the largest sum of continuations.
cdef double SMALLEST = 1e-50, LARGEST = 1e200


cdef struct Sizes:
    int64_t labels, types, positions   # positions: max_length + 1


cdef struct Work:
    double *v             # (n_tokens, n_labels) exp(state - its maximum)
    double *entry         # (n_tokens, n_labels)
    double *closed        # (n_tokens, n_labels)
    double *opened        # (n_tokens, n_types, positions), the last of them longer segments
    double *scale         # (n_tokens,)
    double *expected      # (n_tokens, n_labels)
    double *transition    # (n_labels, n_labels) exp(score - the maximum)
    double *transposed    # (n_labels, n_labels) row = current label
    double *begin         # (n_labels,)
    double *end           # (n_labels,)
    double *factor        # (n_types, positions) of all segments that end at a token
    double *after_closed  # (n_labels,) sums of continuations, times what makes all sums 1
    double *after_entry   # (n_labels,)
    double *after_open    # (n_types, positions)
    double *before_open   # (n_types, positions) as after_open, of the token before
    double *ending        # (n_types, positions) probabilities of the segments that end at a token
    double *ended         # (n_labels,) expected last labels
    double *pairs         # (n_labels, n_labels) expected transitions, row = current label, divided
                          # by their factors
    double *lengths       # (n_types, positions) expected lengths


def segment_sums(
    BatchScores batch,             # without token transitions IN
    BatchSegments segments,        # with factors, exp(score) IN
    const real[:, ::1] state,    # (n_tokens, n_labels) IN
    const unsigned char[::1] left_out,  # (n_units,) IN
    const double[::1] weight,      # (n_units,) IN
    double[::1] log_z,             # (n_units,) OUT
    real[:, ::1] expected,       # (n_tokens, n_labels) INOUT
    BatchCounts counts,            # INOUT
    double[:, ::1] by_length,      # (n_types, max_length + 1) INOUT
    double[:, ::1] by_span,        # (n_spans, n_types) zeros; spans only occur in one unit OUT
):
    """The log-partition of each unit; and add the expected uses of all scores times its weight.

    Units that are left out, or in which sums could underflow, get NaN and add nothing.
    """
    cdef:
        const int64_t[::1] offsets = batch.offsets
        Sizes n
        Work work
        int64_t longest = 1, s, r, start, stop
        double top
        double[::1] memory
    n.labels, n.types = state.shape[1], segments.by_length.shape[0]
    n.positions = segments.by_length.shape[1]
    for s in range(offsets.shape[0] - 1):
        longest = max(longest, offsets[s + 1] - offsets[s])
    memory = np.empty(_divide(NULL, longest, n, &work))
    _divide(&memory[0], longest, n, &work)
    with nogil:
        give_turn()
        top = _exponentials(batch, n, &work)
        for s in range(offsets.shape[0] - 1):
            start, stop = offsets[s], offsets[s + 1]
            if left_out[s]:
                log_z[s] = NAN
                continue
            if start == stop:
                log_z[s] = 0.0
                continue
            log_z[s] = _forward(start, stop, n, state, segments, &work)
            log_z[s] += top * (stop - start - 1)
            if isnan(log_z[s]):
                continue
            if not _backward(start, stop, n, weight[s], segments, &work, by_span):
                log_z[s] = NAN
                for r in range(segments.indptr[start], segments.indptr[stop]):
                    by_span[r, :] = 0.0
                continue
            if weight[s] != 0.0:
                _add_counts(start, stop, n, weight[s], &work, expected, counts, by_length)
        take_turn()


cdef int64_t _divide(double *memory, int64_t longest, Sizes n, Work *work) noexcept nogil:
    """Let the arrays of the work follow each other in memory; returns their total length."""
    cdef:
        int64_t tokens = longest * n.labels, lengths = n.types * n.positions
        int64_t table = n.labels * n.labels
    work.v = memory
    work.entry = work.v + tokens + SPARE
    work.closed = work.entry + tokens
    work.expected = work.closed + tokens
    work.scale = work.expected + tokens
    work.opened = work.scale + longest
    work.transition = work.opened + longest * lengths
    work.transposed = work.transition + table
    work.pairs = work.transposed + table
    work.begin = work.pairs + table
    work.end = work.begin + n.labels
    work.ended = work.end + n.labels
    work.after_closed = work.ended + n.labels
    work.after_entry = work.after_closed + n.labels
    work.factor = work.after_entry + n.labels
    work.after_open = work.factor + lengths
    work.before_open = work.after_open + lengths
    work.ending = work.before_open + lengths
    work.lengths = work.ending + lengths
    return 4 * tokens + SPARE + longest * (1 + lengths) + 3 * table + 5 * n.labels + 5 * lengths


cdef double _exponentials(BatchScores batch, Sizes n, Work *work) noexcept nogil:
    """The exponentials of common scores; returns what was subtracted from transition scores."""
    cdef:
        int64_t i, j
        double top = -INFINITY
    for i in range(n.labels):
        for j in range(n.labels):
            if batch.transition[i, j] > top:
                top = batch.transition[i, j]
    if top == -INFINITY:
        top = 0.0
    for i in range(n.labels):
        for j in range(n.labels):
            work.transition[i * n.labels + j] = exp(batch.transition[i, j] - top)
            work.transposed[j * n.labels + i] = work.transition[i * n.labels + j]
        work.begin[i] = exp(batch.begin[i])
        work.end[i] = exp(batch.end[i])
    return top


cdef void _set_factors(
    int64_t token, Sizes n, BatchSegments segments, double *factor
) noexcept nogil:
    """The factors of all segments that end at a token, by type and length."""
    cdef int64_t k, d, r
    for k in range(n.types):
        for d in range(n.positions):
            factor[k * n.positions + d] = segments.by_length[k, d]
    for r in range(segments.indptr[token], segments.indptr[token + 1]):
        for k in range(n.types):
            factor[k * n.positions + segments.length[r] - 1] *= segments.by_span[r, k]


cdef double _forward(
    int64_t start,
    int64_t stop,
    Sizes n,
    const real[:, ::1] state,
    BatchSegments segments,
    Work *work,
) noexcept nogil:
    """The log-partition, without what was subtracted from transitions; NaN if it underflows."""
    cdef:
        int64_t t, i, j, size = n.types * n.positions
        double *closed
        double top, total = 0.0, log_sum = 0.0
        bint changed = True
    for t in range(stop - start):
        log_sum += _enter(start, t, n, state, segments, work)
        if changed or segments.indptr[start + t] < segments.indptr[start + t + 1]:
            _set_factors(start + t, n, segments, work.factor)
        changed = segments.indptr[start + t] < segments.indptr[start + t + 1]
        _extend(t, n, segments, work)
        top = _scale(n.labels, size, work.closed + t * n.labels, work.opened + t * size)
        if not (top >= SMALLEST and isfinite(top)):
            return NAN
        work.scale[t] = 1.0 / top
        log_sum += log(top)
    closed = work.closed + (stop - start - 1) * n.labels
    for j in range(n.labels):
        total += closed[j] * work.end[j] if closed[j] != 0.0 else 0.0
    if not (total >= SMALLEST and isfinite(total)):
        return NAN
    for j in range(n.labels):
        work.after_closed[j] = work.end[j] / total
    return log_sum + log(total)


cdef double _enter(
    int64_t start,
    int64_t t,
    Sizes n,
    const real[:, ::1] state,
    BatchSegments segments,
    Work *work,
) noexcept nogil:
    """Set v, entry, and closed of the labels between segments; returns what v lacks."""
    cdef:
        int64_t i, j
        int32_t label
        double *v = work.v + t * n.labels
        double *entry = work.entry + t * n.labels
        double *closed = work.closed + t * n.labels
        double *row
        double top = -INFINITY, x
    for j in range(n.labels):
        x = state[start + t, j]
        if not x < INFINITY:
            return NAN
        top = x if x > top else top
    for j in range(n.labels):
        v[j] = state[start + t, j] - top
        entry[j] = closed[j] = 0.0
    exponentials_d(v, n.labels)
    if t == 0:
        for i in range(segments.begins.shape[0]):
            label = segments.begins[i]
            entry[label] = work.begin[label]
    else:
        for i in range(segments.ends.shape[0]):
            label = segments.ends[i]
            x = closed[label - n.labels]
            row = work.transition + label * n.labels
            for j in range(n.labels):
                entry[j] += x * row[j]
    for i in range(segments.outside.shape[0]):
        label = segments.outside[i]
        closed[label] = entry[label] * v[label]
    return top


cdef void _extend(int64_t t, Sizes n, BatchSegments segments, Work *work) noexcept nogil:
    """Set opened, and closed of the labels at the ends of segments, before they are scaled."""
    cdef:
        int64_t k, d, m = n.positions
        int32_t single, first, inside, last
        double *v = work.v + t * n.labels
        double *entry = work.entry + t * n.labels
        double *closed = work.closed + t * n.labels
        double *opened
        double *before
        double *factor
        double x
    for k in range(n.types):
        single, first = segments.single[k], segments.first[k]
        inside, last = segments.inside[k], segments.last[k]
        opened = work.opened + (t * n.types + k) * m
        before, factor = opened - n.types * m, work.factor + k * m
        if single >= 0:
            closed[single] = entry[single] * v[single] * factor[0]
        for d in range(m):
            opened[d] = 0.0
        if first < 0:
            continue
        opened[0] = entry[first] * v[first]
        if t == 0:
            continue
        if inside >= 0:
            x = work.transition[inside * n.labels + inside] * v[inside]
            for d in range(1, m - 1):
                opened[d + 1] = before[d] * x
            opened[m - 1] += before[m - 1] * x
            opened[1] += before[0] * work.transition[first * n.labels + inside] * v[inside]
        if last >= 0:
            x = before[0] * work.transition[first * n.labels + last] * factor[1]
            if inside >= 0:
                x += _sum_ending(before, factor, m) * work.transition[inside * n.labels + last]
            closed[last] = x * v[last]


cdef inline double _sum_ending(double *before, double *factor, int64_t m) noexcept nogil:
    """The sum over open segments of two tokens or more, times the factor of one token more."""
    cdef:
        int64_t d = 1
        double a = before[m - 1] * factor[m - 1], b = 0.0, c = 0.0, e = 0.0
    while d < m - 4:
        a += before[d] * factor[d + 1]
        b += before[d + 1] * factor[d + 2]
        c += before[d + 2] * factor[d + 3]
        e += before[d + 3] * factor[d + 4]
        d += 4
    while d < m - 1:
        a += before[d] * factor[d + 1]
        d += 1
    return (a + b) + (c + e)


cdef inline double _largest(int64_t n, double *x, double least) noexcept nogil:
    """The largest number of a row, but not less than ``least``; passes over NaN."""
    cdef:
        int64_t j, lane
        double lanes[8]
    for lane in range(8):
        lanes[lane] = least
    for j in range(0, n - 7, 8):
        for lane in range(8):
            lanes[lane] = x[j + lane] if x[j + lane] > lanes[lane] else lanes[lane]
    for j in range(n - n % 8, n):
        lanes[0] = x[j] if x[j] > lanes[0] else lanes[0]
    for lane in range(1, 8):
        lanes[0] = lanes[lane] if lanes[lane] > lanes[0] else lanes[0]
    return lanes[0]


cdef double _scale(int64_t n_closed, int64_t n_open, double *closed, double *opened) noexcept nogil:
    """Divide all sums of a token by the largest, and return it."""
    cdef:
        int64_t j
        double top = _largest(n_closed, closed, _largest(n_open, opened, 0.0)), share
    share = 1.0 / top
    for j in range(n_closed):
        closed[j] *= share
    for j in range(n_open):
        opened[j] *= share
    return top


cdef bint _backward(
    int64_t start,
    int64_t stop,
    Sizes n,
    double weight,
    BatchSegments segments,
    Work *work,
    double[:, ::1] by_span,
) noexcept nogil:
    """The expected uses of all scores of a unit; returns whether they are exact."""
    cdef:
        int64_t t, j, r, k, d, size = n.types * n.positions, table = n.labels * n.labels
        double largest
        double *swapped
        bint changed = True, has_spans
    memset(work.pairs, 0, table * sizeof(double))
    memset(work.lengths, 0, size * sizeof(double))
    memset(work.after_open, 0, size * sizeof(double))
    for t in range(stop - start - 1, -1, -1):
        has_spans = segments.indptr[start + t] < segments.indptr[start + t + 1]
        if changed or has_spans:
            _set_factors(start + t, n, segments, work.factor)
        changed = has_spans
        _count_token(t, n, segments, work)
        if t == stop - start - 1:
            memcpy(work.ended, work.expected + t * n.labels, n.labels * sizeof(double))
        for j in range(size):
            work.lengths[j] += work.ending[j]
        for r in range(segments.indptr[start + t], segments.indptr[start + t + 1]):
            for k in range(n.types):
                by_span[r, k] = weight * work.ending[k * n.positions + segments.length[r] - 1]
        largest = _largest(n.labels, work.after_closed, 0.0)
        largest = _largest(n.labels, work.after_entry, largest)
        if not _largest(size, work.before_open, largest) <= LARGEST:
            return False
        swapped = work.after_open
        work.after_open = work.before_open
        work.before_open = swapped
        if t > 0:
            _leave(t, n, segments, work)
    return True


cdef void _count_token(int64_t t, Sizes n, BatchSegments segments, Work *work) noexcept nogil:
    """Set the expected labels, what ends at the token, after_entry, and before_open."""
    cdef:
        int64_t k, d, j, m = n.positions
        int32_t label, single, first, inside, last
        double *v = work.v + t * n.labels
        double *entry = work.entry + t * n.labels
        double *closed = work.closed + t * n.labels
        double *expected = work.expected + t * n.labels
        double *after = work.after_closed
        double *opened
        double *before
        double *factor
        double *after_open
        double *before_open
        double *ending
        double scale = work.scale[t], total
    for j in range(n.labels):
        expected[j] = closed[j] * after[j] if closed[j] != 0.0 else 0.0
        work.after_entry[j] = 0.0
    for j in range(segments.outside.shape[0]):
        label = segments.outside[j]
        work.after_entry[label] = scale * v[label] * after[label]
    for k in range(n.types):
        single, first = segments.single[k], segments.first[k]
        inside, last = segments.inside[k], segments.last[k]
        opened = work.opened + (t * n.types + k) * m
        before, factor = opened - n.types * m, work.factor + k * m
        after_open, before_open = work.after_open + k * m, work.before_open + k * m
        ending = work.ending + k * m
        for d in range(m):
            ending[d] = before_open[d] = 0.0
        if single >= 0:
            ending[0] = expected[single]
            work.after_entry[single] = scale * v[single] * factor[0] * after[single]
        if first < 0:
            continue
        work.after_entry[first] += scale * v[first] * after_open[0]
        expected[first] += opened[0] * after_open[0]
        if inside >= 0:
            total = 0.0
            for d in range(1, m):
                total += opened[d] * after_open[d]
            expected[inside] += total
        if t == 0:
            continue
        if inside >= 0:
            _add_inside(n.labels, m, first, inside, scale * v[inside], before, after_open, before_open, work)
        if last >= 0:
            _add_last(n.labels, m, first, inside, last, scale * v[last] * after[last], before, factor, before_open, ending, work)


cdef void _add_inside(
    int64_t n_labels,
    int64_t m,
    int32_t first,
    int32_t inside,
    double x,
    double *before,
    double *after_open,
    double *before_open,
    Work *work,
) noexcept nogil:
    """Add the segments that are open before and after a token; x is the factor of the token."""
    cdef:
        int64_t d
        double total, y = x * work.transition[inside * n_labels + inside]
    before_open[0] = x * work.transition[first * n_labels + inside] * after_open[1]
    work.pairs[inside * n_labels + first] += before[0] * x * after_open[1]
    total = before[m - 1] * after_open[m - 1]
    for d in range(1, m - 1):
        before_open[d] = y * after_open[d + 1]
        total += before[d] * after_open[d + 1]
    before_open[m - 1] = y * after_open[m - 1]
    work.pairs[inside * n_labels + inside] += x * total


cdef void _add_last(
    int64_t n_labels,
    int64_t m,
    int32_t first,
    int32_t inside,
    int32_t last,
    double x,
    double *before,
    double *factor,
    double *before_open,
    double *ending,
    Work *work,
) noexcept nogil:
    """Add the segments that end at a token; x is the factor of the token and all after it."""
    cdef:
        int64_t d
        double y = x * work.transition[first * n_labels + last]
    before_open[0] += y * factor[1]
    ending[1] = before[0] * y * factor[1]
    work.pairs[last * n_labels + first] += before[0] * x * factor[1]
    if inside < 0:
        return
    y = x * work.transition[inside * n_labels + last]
    for d in range(1, m - 1):
        before_open[d] += y * factor[d + 1]
        ending[d + 1] = before[d] * (y * factor[d + 1])
    before_open[m - 1] += y * factor[m - 1]
    ending[m - 1] += before[m - 1] * (y * factor[m - 1])
    work.pairs[last * n_labels + inside] += x * _sum_ending(before, factor, m)


cdef void _leave(int64_t t, Sizes n, BatchSegments segments, Work *work) noexcept nogil:
    """Set after_closed of the token before from after_entry, and add the expected transitions."""
    cdef:
        int64_t i, j
        int32_t label
        double *closed = work.closed + (t - 1) * n.labels
        double *after = work.after_closed
        double *row
        double *pairs
        double x
    for i in range(n.labels):
        after[i] = 0.0
    for j in range(segments.begins.shape[0]):
        label = segments.begins[j]
        row, pairs = work.transposed + label * n.labels, work.pairs + label * n.labels
        x = work.after_entry[label]
        for i in range(n.labels):
            after[i] += x * row[i]
            pairs[i] += x * closed[i]


cdef void _add_counts(
    int64_t start,
    int64_t stop,
    Sizes n,
    double weight,
    Work *work,
    real[:, ::1] expected,
    BatchCounts counts,
    double[:, ::1] by_length,
) noexcept nogil:
    """Add the expected uses of the scores of a unit, times its weight."""
    cdef:
        int64_t t, i, j, k, d
    for t in range(stop - start):
        for j in range(n.labels):
            expected[start + t, j] += <real>(weight * work.expected[t * n.labels + j])
    for j in range(n.labels):
        counts.begin[j] += weight * work.entry[j] * work.after_entry[j]
        counts.end[j] += weight * work.ended[j]
        for i in range(n.labels):
            counts.transition[i, j] += (
                weight * work.pairs[j * n.labels + i] * work.transition[i * n.labels + j]
            )
    for k in range(n.types):
        for d in range(n.positions):
            by_length[k, d] += weight * work.lengths[k * n.positions + d]
