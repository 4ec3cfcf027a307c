"""Places in sorted arrays."""

from libc.stdint cimport int32_t, int64_t

ctypedef fused integer:
    int32_t
    int64_t


cdef inline int64_t place_from(
    const integer *numbers, int64_t low, int64_t high, int64_t value
) noexcept nogil:
    """The first place, of low to high, with a number that is not below the value."""
    cdef int64_t middle
    while low < high:
        middle = low + (high - low) // 2
        if numbers[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low
