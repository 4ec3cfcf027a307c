"""Rows of a sparse matrix of weights, in narrow types; serving/content.py packs them."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t

from sklearn_crcrf._kernels.vectors cimport prefetch

ctypedef fused label:
    uint8_t
    uint16_t

ctypedef fused weight:
    float
    double


cdef enum:
    MOST_FETCHED = 64              # of the entries of a row
    NO_PAIR = 0x7fffffff


cdef struct Rows:
    # Rows of a sparse matrix: row r begins at base[r >> shift] + offset[r]
    const int64_t *base
    const uint16_t *offset         # (n_rows + 1,)
    int shift
    bint is_short                  # columns are uint8 (of edges uint16), else uint16 (int32)
    bint is_single                 # data are of single precision
    const void *columns
    const void *data


cdef inline Rows rows_in(dict arrays, str name, short) except *:
    """The rows of some arrays; ``short`` is the narrower of the two types of columns."""
    cdef Rows rows
    rows.base = <const int64_t *>address_in(arrays, f"{name}.base")
    rows.offset = <const uint16_t *>address_in(arrays, f"{name}.offset")
    rows.shift = arrays[f"{name}.shift"]
    rows.columns = address_in(arrays, f"{name}.columns")
    rows.data = address_in(arrays, f"{name}.data")
    rows.is_short = arrays[f"{name}.columns"].dtype == short
    rows.is_single = arrays[f"{name}.data"].itemsize == sizeof(float)
    return rows


cdef inline const void *address_in(dict arrays, str name):
    return <const void *><size_t>arrays[name].ctypes.data


cdef struct WeightedRow:
    # A row with entries, and its factor
    double factor
    int64_t start
    int64_t n


cdef inline bint weigh_row(
    const Rows *rows, int32_t row, double factor, WeightedRow *out
) noexcept nogil:
    """Find a row; False if there is none, or nothing in it or in its factor."""
    if row < 0 or factor == 0.0:
        return False
    out.factor, out.start = factor, row_start(rows, row)
    out.n = row_start(rows, row + 1) - out.start
    return out.n > 0


cdef inline void fetch_start(const Rows *rows, int32_t row) noexcept nogil:
    """Ask the memory for where a row begins before that is needed."""
    if row >= 0:
        prefetch(rows.base + (row >> rows.shift))
        prefetch(rows.offset + row)


cdef inline void fetch_weights(const Rows *rows, const WeightedRow *row) noexcept nogil:
    """Ask the memory for a row before it is needed."""
    cdef:
        int64_t size = 4 if rows.is_single else 8, at = row.start * size
        int64_t stop = at + min(row.n, <int64_t>MOST_FETCHED) * size
    while at < stop:
        prefetch(<const char *>rows.data + at)
        at += 64
    prefetch(<const char *>rows.columns + row.start * (1 if rows.is_short else 2))


cdef inline void add_weighted(
    const Rows *rows, const WeightedRow *weighted, int64_t n, double *out
) noexcept nogil:
    """out += the sum of n rows times their factors, in their order."""
    if rows.is_short and rows.is_single:
        add_rows_of(weighted, n, <const uint8_t *>rows.columns, <const float *>rows.data, out)
    elif rows.is_short:
        add_rows_of(weighted, n, <const uint8_t *>rows.columns, <const double *>rows.data, out)
    elif rows.is_single:
        add_rows_of(weighted, n, <const uint16_t *>rows.columns, <const float *>rows.data, out)
    else:
        add_rows_of(weighted, n, <const uint16_t *>rows.columns, <const double *>rows.data, out)


cdef inline void add_rows_of(
    const WeightedRow *weighted, int64_t n, const label *columns, const weight *data, double *out
) noexcept nogil:
    cdef:
        int64_t s, k, stop
        double factor
    for s in range(n):
        factor, k = weighted[s].factor, weighted[s].start
        stop = k + weighted[s].n
        while k + 4 <= stop:
            out[columns[k]] += factor * data[k]
            out[columns[k + 1]] += factor * data[k + 1]
            out[columns[k + 2]] += factor * data[k + 2]
            out[columns[k + 3]] += factor * data[k + 3]
            k += 4
        while k < stop:
            out[columns[k]] += factor * data[k]
            k += 1


cdef inline void fetch_edges(const Rows *rows, int32_t row) noexcept nogil:
    """Ask the memory for the beginning of a row of edges."""
    cdef int64_t start
    if row >= 0:
        start = row_start(rows, row)
        prefetch(<const char *>rows.data + start * (4 if rows.is_single else 8))
        prefetch(<const char *>rows.columns + start * (2 if rows.is_short else 4))


cdef inline int64_t row_start(const Rows *rows, int64_t row) noexcept nogil:
    return rows.base[row >> rows.shift] + rows.offset[row]


cdef inline int64_t row_length(const Rows *rows, int32_t row) noexcept nogil:
    return 0 if row < 0 else row_start(rows, row + 1) - row_start(rows, row)


cdef inline int32_t pair_of_labels(const Rows *rows, int64_t k) noexcept nogil:
    """The labels of an entry of a row of edges: the current label times 2 ** 16 plus the previous."""
    cdef int32_t pair
    if not rows.is_short:
        return (<const int32_t *>rows.columns)[k]
    pair = (<const uint16_t *>rows.columns)[k]
    return (pair >> 8) << 16 | (pair & 0xff)


cdef inline double entry_value(const Rows *rows, int64_t k) noexcept nogil:
    return (<const float *>rows.data)[k] if rows.is_single else (<const double *>rows.data)[k]


cdef inline int64_t merge_gains(
    const Rows *rows, int64_t n_rows,
    int64_t *at,                   # (n_rows,) the first entry of each row INOUT
    const int64_t *end,            # (n_rows,) after its last entry
    double *gain,                  # (n_pairs,) OUT
    int32_t *pair,                 # (n_pairs,) pair_of_labels OUT
) noexcept nogil:
    """Merge rows of edges: the sums of their values, in the order of the rows; return how many."""
    cdef:
        int64_t n = 0, k
        int32_t least, other
        double total
    if n_rows == 2:
        n = merge_two(rows, at, end, gain, pair)
    while True:
        least = NO_PAIR
        for k in range(n_rows):
            if at[k] < end[k]:
                other = pair_of_labels(rows, at[k])
                least = min(least, other)
        if least == NO_PAIR:
            return n
        total = 0.0
        for k in range(n_rows):
            if at[k] < end[k] and pair_of_labels(rows, at[k]) == least:
                total += entry_value(rows, at[k])
                at[k] += 1
        pair[n], gain[n] = least, total
        n += 1


cdef inline int64_t merge_two(
    const Rows *rows, int64_t *at, const int64_t *end, double *gain, int32_t *pair
) noexcept nogil:
    """Merge two rows up to the end of one of them, without branches that depend on the pairs."""
    cdef:
        int64_t n = 0, i = at[0], j = at[1]
        int32_t a, b
        double x, y
    while i < end[0] and j < end[1]:
        a, b = pair_of_labels(rows, i), pair_of_labels(rows, j)
        x, y = entry_value(rows, i), entry_value(rows, j)
        pair[n], gain[n] = min(a, b), (x if a <= b else 0.0) + (y if b <= a else 0.0)
        i += a <= b
        j += b <= a
        n += 1
    at[0], at[1] = i, j
    return n
