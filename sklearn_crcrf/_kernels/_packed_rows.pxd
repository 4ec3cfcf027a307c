"""Rows of a sparse matrix of weights, in narrow types; serving/packing.py packs them."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t

from sklearn_crcrf._kernels.vectors cimport prefetch

ctypedef fused label:
    uint8_t
    uint16_t

ctypedef fused weight:
    float
    double


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


cdef inline void add_weighted(
    const Rows *rows, int32_t row, double factor, double *out
) noexcept nogil:
    """out += factor * row, if there is one."""
    cdef int64_t start, n
    if row < 0 or factor == 0.0:
        return
    start = row_start(rows, row)
    n = row_start(rows, row + 1) - start
    if rows.is_short and rows.is_single:
        add_entries(factor, <const uint8_t *>rows.columns + start, <const float *>rows.data + start, n, out)
    elif rows.is_short:
        add_entries(factor, <const uint8_t *>rows.columns + start, <const double *>rows.data + start, n, out)
    elif rows.is_single:
        add_entries(factor, <const uint16_t *>rows.columns + start, <const float *>rows.data + start, n, out)
    else:
        add_entries(factor, <const uint16_t *>rows.columns + start, <const double *>rows.data + start, n, out)


cdef inline void add_entries(
    double factor, const label *columns, const weight *data, int64_t n, double *out
) noexcept nogil:
    cdef int64_t k
    for k in range(n):
        out[columns[k]] += factor * data[k]


cdef inline void fetch_weights(const Rows *rows, int32_t row) noexcept nogil:
    """Ask the memory for a row before it is needed."""
    cdef int64_t start, at, stop
    if row < 0:
        return
    start = row_start(rows, row)
    stop = min(row_start(rows, row + 1), start + 64)
    at = start * (4 if rows.is_single else 8)
    while at < stop * (4 if rows.is_single else 8):
        prefetch(<const char *>rows.data + at)
        at += 64
    prefetch(<const char *>rows.columns + start * (1 if rows.is_short else 2))


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
