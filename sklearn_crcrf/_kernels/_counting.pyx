"""Count equal events: rows of ids are packed into 64-bit keys, and the keys are radix-sorted.

An id is stored in a key as id + 1, so that -1, which stands for outside of a sequence, comes first.
"""

import numpy as np

from libc.stdint cimport UINT32_MAX, int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memset

from sklearn_crcrf._kernels.sizes import check_number

cdef enum:
    DIGIT_BITS = 11
    N_BUCKETS = 1 << 11


def push_ids(
    uint64_t[::1] keys,            # (n_events,) INOUT
    const int32_t[::1] ids,        # (n_events,) from -1 to 2 ** n_bits - 2 IN
    int n_bits,                    # in [1, 32]
):
    """Append an id to every key."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(keys.shape[0]):
            keys[i] = keys[i] << n_bits | <uint64_t>(<int64_t>ids[i] + 1)


def pop_ids(
    uint64_t[::1] keys,            # (n_events,) INOUT
    int n_bits,                    # in [1, 32]
    int32_t[::1] ids,              # (n_events,) OUT
):
    """Take the id that was appended last from every key."""
    cdef:
        Py_ssize_t i
        uint64_t mask = (<uint64_t>1 << n_bits) - 1
    with nogil:
        for i in range(keys.shape[0]):
            ids[i] = <int32_t>(<int64_t>(keys[i] & mask) - 1)
            keys[i] >>= n_bits


def count_keys(uint64_t[::1] keys, const double[::1] weights, int n_bits):
    """Sum the weights of equal keys.

    The time is linear in the number of events, and weights are summed in the order of events.

    Parameters
    ----------
    keys : uint64 (n_events,), below 2 ** n_bits
        Overwritten.
    weights : float64 (n_events,), or (1,) for events of equal weight
        At most 2 ** 32 events can differ in weight.
    n_bits : int in [0, 64]

    Returns
    -------
    unique : uint64 (n_unique,), increasing
    sums : float64 (n_unique,)
    """
    cdef:
        Py_ssize_t n_events = keys.shape[0], n_ordered = 0, n_unique
        uint64_t[::1] spare = np.empty(n_events, dtype=np.uint64)
        uint32_t[::1] order, spare_order
        double[::1] sums
        int shift
    if weights.shape[0] != 1:
        n_ordered = n_events
    if weights.shape[0] not in (1, n_events):
        raise ValueError(f"{weights.shape[0]} weights for {n_events} keys")
    check_number(n_ordered, "events that differ in weight", UINT32_MAX)
    order = np.arange(n_ordered, dtype=np.uint32)
    spare_order = np.empty_like(order)
    for shift in range(0, n_bits, DIGIT_BITS):
        with nogil:
            scatter(keys, order, shift, spare, spare_order)
        keys, spare = spare, keys
        order, spare_order = spare_order, order
    # Only the sorted keys are needed from here on: the sums use the memory of the spare keys.
    sums = np.asarray(spare).view(np.float64)
    with nogil:
        n_unique = run_lengths(keys, order, weights, sums)
    return np.array(keys[:n_unique]), np.array(sums[:n_unique])


cdef void scatter(
    const uint64_t[::1] keys,      # (n_events,) IN
    const uint32_t[::1] order,     # (n_events,) which event a key is of, or (0,) IN
    int shift,
    uint64_t[::1] keys_out,        # (n_events,) OUT, ordered by the digit at shift
    uint32_t[::1] order_out,       # as order OUT
) noexcept nogil:
    cdef:
        int64_t starts[N_BUCKETS]
        int64_t n = keys.shape[0], i, total = 0, size
        uint64_t digit
        bint ordered = order.shape[0] > 0
    memset(starts, 0, sizeof(starts))
    for i in range(n):
        starts[(keys[i] >> shift) & (N_BUCKETS - 1)] += 1
    for i in range(N_BUCKETS):
        size = starts[i]
        starts[i] = total
        total += size
    for i in range(n):
        digit = (keys[i] >> shift) & (N_BUCKETS - 1)
        keys_out[starts[digit]] = keys[i]
        if ordered:
            order_out[starts[digit]] = order[i]
        starts[digit] += 1


cdef Py_ssize_t run_lengths(
    uint64_t[::1] keys,            # (n_events,) sorted IN, the unique keys in front OUT
    const uint32_t[::1] order,     # (n_events,) which event a key is of, or (0,) IN
    const double[::1] weights,     # (n_events,) or (1,) for equal weights IN
    double[::1] sums,              # (n_events,) OUT
) noexcept nogil:
    cdef:
        Py_ssize_t n = keys.shape[0], i, n_unique = 0
        bint ordered = order.shape[0] > 0
    for i in range(n):
        if n_unique == 0 or keys[i] != keys[n_unique - 1]:
            keys[n_unique] = keys[i]
            sums[n_unique] = 0.0
            n_unique += 1
        sums[n_unique - 1] += weights[order[i] if ordered else 0]
    return n_unique


def merge_events(
    const int32_t[::1, :] events,  # (n_events, n_ids), unique rows in lexicographic order IN
    const double[::1] weights,     # (n_events,) IN
    const int32_t[::1, :] more,    # (n_more, n_ids), likewise IN
    const double[::1] more_weights,  # (n_more,) IN
    double sign,
):
    """Merge two tables of events, in time linear in their size.

    Returns
    -------
    events : int32 (n_unique, n_ids), in Fortran order
        The rows of both, in lexicographic order.
    sums : float64 (n_unique,)
        The weights of the first table, plus ``sign`` times the weights of the second.
    """
    cdef:
        Py_ssize_t n_ids = events.shape[1], n_rows = events.shape[0] + more.shape[0], n_unique
        int32_t[::1, :] merged = np.empty((n_rows, n_ids), dtype=np.int32, order="F")
        double[::1] sums = np.empty(n_rows)
    if n_ids == 0 or more.shape[1] != n_ids:
        raise ValueError(f"events of {n_ids} and of {more.shape[1]} ids cannot be merged")
    if weights.shape[0] != events.shape[0] or more_weights.shape[0] != more.shape[0]:
        raise ValueError("each event needs one weight")
    with nogil:
        n_unique = merge_sorted(events, weights, more, more_weights, sign, merged, sums)
    if n_unique == n_rows:
        return np.asarray(merged), np.asarray(sums)
    return np.asarray(merged)[:n_unique].copy(order="F"), np.asarray(sums)[:n_unique].copy()


cdef Py_ssize_t merge_sorted(
    const int32_t[::1, :] a,       # (n_a, n_ids) IN
    const double[::1] a_weights,   # (n_a,) IN
    const int32_t[::1, :] b,       # (n_b, n_ids) IN
    const double[::1] b_weights,   # (n_b,) IN
    double sign,
    int32_t[::1, :] merged,        # (n_a + n_b, n_ids), the unique rows in front OUT
    double[::1] sums,              # (n_a + n_b,) likewise OUT
) noexcept nogil:
    """Merge the rows; returns their number."""
    cdef:
        Py_ssize_t n_a = a.shape[0], n_b = b.shape[0], i = 0, j = 0, n = 0, k
        int order
        double weight
    while i < n_a or j < n_b:
        order = -1 if j == n_b else 1 if i == n_a else compare_keys(a, i, b, j)
        for k in range(a.shape[1]):
            merged[n, k] = a[i, k] if order <= 0 else b[j, k]
        weight = a_weights[i] if order <= 0 else 0.0
        sums[n] = weight + sign * b_weights[j] if order >= 0 else weight
        i += order <= 0
        j += order >= 0
        n += 1
    return n


cdef inline int compare_keys(
    const int32_t[::1, :] a, Py_ssize_t i, const int32_t[::1, :] b, Py_ssize_t j
) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(a.shape[1]):
        if a[i, k] != b[j, k]:
            return -1 if a[i, k] < b[j, k] else 1
    return 0
