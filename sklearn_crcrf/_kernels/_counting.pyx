"""Count how often each key occurs: a radix sort, then run lengths."""

import numpy as np

from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memset

cdef enum:
    DIGIT_BITS = 11
    N_BUCKETS = 1 << 11


cdef void scatter(
    const uint64_t[::1] keys,      # (n_events,) IN
    const double[::1] weights,     # (n_events,) or (1,) for equal weights IN
    int shift,
    uint64_t[::1] keys_out,        # (n_events,) OUT, ordered by the digit at shift
    double[::1] weights_out,       # as weights OUT
) noexcept nogil:
    cdef:
        int64_t starts[N_BUCKETS]
        int64_t n = keys.shape[0], i, total = 0, size
        uint64_t digit
        bint equal = weights.shape[0] == 1
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
        if not equal:
            weights_out[starts[digit]] = weights[i]
        starts[digit] += 1


cdef int64_t run_lengths(
    uint64_t[::1] keys,            # (n_events,) sorted IN, the unique keys in front OUT
    const double[::1] weights,     # (n_events,) or (1,) for equal weights IN
    double[::1] sums,              # (n_events,) OUT
) noexcept nogil:
    cdef:
        int64_t n = keys.shape[0], i, n_unique = -1
        bint equal = weights.shape[0] == 1
    for i in range(n):
        if n_unique < 0 or keys[i] != keys[n_unique]:
            n_unique += 1
            keys[n_unique] = keys[i]
            sums[n_unique] = 0.0
        sums[n_unique] += weights[0 if equal else i]
    return n_unique + 1


def count_keys(const uint64_t[::1] keys, const double[::1] weights, int n_bits):
    """Sum the weights of equal keys.

    The time is linear in the number of events, and a sum is always taken in their order.

    Parameters
    ----------
    keys : uint64 (n_events,), below 2 ** n_bits
    weights : float64 (n_events,), or (1,) for events of equal weight
    n_bits : int in [1, 64]

    Returns
    -------
    unique : uint64 (n_unique,), increasing
    sums : float64 (n_unique,)
    """
    cdef:
        uint64_t[::1] a = np.array(keys), b = np.empty_like(a)
        double[::1] u = np.array(weights), v = np.empty_like(u), sums
        int shift
        int64_t n_unique
    for shift in range(0, n_bits, DIGIT_BITS):
        with nogil:
            scatter(a, u, shift, b, v)
        a, b = b, a
        if weights.shape[0] > 1:
            u, v = v, u
    sums = np.empty(a.shape[0])
    with nogil:
        n_unique = run_lengths(a, u, sums)
    return np.array(a[:n_unique]), np.array(sums[:n_unique])
