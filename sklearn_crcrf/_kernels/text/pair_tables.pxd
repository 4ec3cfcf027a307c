"""Tables of pairs of ids, in which the pairs of many tokens are looked up together."""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memset

from sklearn_crcrf._kernels.vectors cimport prefetch

cdef enum:
    TEAM = 128                     # largest number of pairs that are looked up together
    N_STEPS = 32                   # of a binary search


cdef struct Pairs:
    # Pairs of ids: pairs with the first id a are indptr[a + 1] to indptr[a + 2]. Member m has a row
    # for the pairs whose bits are set, in their order; rank counts the bits before a word of 64.
    const int32_t *indptr
    const int32_t *second
    const uint64_t *bits           # (n_members, n_bits)
    const int32_t *rank            # (n_members, n_bits)
    int64_t n_bits
    int64_t n_first
    int32_t column                 # of the first id
    int32_t second_column
    int32_t distance               # from the first to the second
    int32_t derived                # the column of ids that the numbers of pairs make, -1 for none


cdef inline void find_some_pairs(
    const Pairs *pairs,
    const int32_t *first,          # (stride,) the first id of the pair at each place, -2 if unknown
    const int32_t *second,         # (stride,) the id at each place in the column of second ids
    int64_t stride, int64_t start,
    int64_t stop,                  # at most TEAM places after start
    int32_t *found,                # (stride,) OUT at the places from start to stop
) noexcept nogil:
    """Write the numbers of the pairs that begin at some places, -1 if they are not there.

    The binary searches of all places take their steps together, without branches, so that the
    memory that they wait for is read at the same time: the searches with most steps come first.
    """
    cdef:
        int32_t[TEAM] low, length, wanted, place, first_low, first_length, second_id, steps
        int32_t[N_STEPS + 2] at
        int32_t k, j, half, step, n = <int32_t>(stop - start)
        int64_t a, other
    memset(at, 0, sizeof(at))
    for k in range(n):
        a = first[start + k]
        if -1 <= a and a + 1 < pairs.n_first:
            prefetch(pairs.indptr + a + 1)
    for k in range(n):
        found[start + k] = -1
        other = start + k + pairs.distance
        a = first[start + k]
        steps[k] = -1
        if 0 <= other < stride and -1 <= a and a + 1 < pairs.n_first and second[other] >= -1:
            first_low[k] = pairs.indptr[a + 1]
            first_length[k] = pairs.indptr[a + 2] - first_low[k]
            second_id[k] = second[other]
            steps[k] = n_halvings(first_length[k])
        at[steps[k] + 1] += 1
    # Places by falling number of steps; at[step + 1] becomes the number of places with more.
    j = 0
    for step in range(N_STEPS, -1, -1):
        k = at[step + 1]
        at[step + 1] = j
        j += k
    for k in range(n):
        if steps[k] >= 0:
            j = at[steps[k] + 1]
            at[steps[k] + 1] += 1
            low[j], length[j], wanted[j], place[j] = first_low[k], first_length[k], second_id[k], k
    # Now at[step + 1] is the number of places with at least that many steps.
    for step in range(N_STEPS, 0, -1):
        for k in range(at[step + 1]):
            half = length[k] >> 1
            low[k] += half * (pairs.second[low[k] + half - 1] < wanted[k])
            length[k] -= half
    for k in range(at[1]):
        if pairs.second[low[k]] == wanted[k]:
            found[start + place[k]] = low[k]


cdef inline int32_t n_halvings(int32_t length) noexcept nogil:
    """How often the larger half is taken until one is left; -1 for none to begin with."""
    return -1 if length == 0 else n_bits(<uint32_t>length - 1)


cdef inline int32_t pair_row(const Pairs *pairs, int64_t member, int64_t id) noexcept nogil:
    """The row of a pair, from the first row of a member on; -1 for none."""
    cdef:
        int64_t place = max(id, <int64_t>0), at = member * pairs.n_bits + (place >> 6)
        uint64_t bits = pairs.bits[at], bit = <uint64_t>1 << (place & 63)
        int32_t row = pairs.rank[at] + count_bits(bits & (bit - 1))
    return row if (id >= 0) & (bits & bit != 0) else -1


cdef inline int32_t n_bits(uint32_t x) noexcept nogil:
    """Number of bits from the highest one on."""
    cdef int32_t n = 0
    n += 16 * (x >= 1 << 16)
    n += 8 * (x >> n >= 1 << 8)
    n += 4 * (x >> n >= 1 << 4)
    n += 2 * (x >> n >= 1 << 2)
    return n + (x >> n) - ((x >> n) > 2)


cdef inline int32_t count_bits(uint64_t bits) noexcept nogil:
    bits -= (bits >> 1) & 0x5555555555555555U
    bits = (bits & 0x3333333333333333U) + ((bits >> 2) & 0x3333333333333333U)
    bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0fU
    return <int32_t>((bits * 0x0101010101010101U) >> 56)
