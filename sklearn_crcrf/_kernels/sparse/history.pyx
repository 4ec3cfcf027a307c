"""The last steps of a quasi-Newton method; an iteration makes two passes over this history.

Steps s and changes of the gradient y are kept in single precision, or in half of its bytes, block
by block. Inner products are taken in double precision and per block, so that they do not depend
on which thread takes which block; directions have single precision.
"""

from libc.stdint cimport uint16_t
from libc.string cimport memcpy

from sklearn_crcrf._kernels.machine cimport give_turn, take_turn
from sklearn_crcrf._kernels.vectors cimport prefetch

cdef enum:
    # A page of numbers in single precision. Processors prefetch only to the end of a page, so the
    # next block of each row has to be prefetched explicitly.
    BLOCK = 1024
    N_LANES = 8

BLOCK_SIZE = BLOCK

ctypedef fused real:
    float
    double

ctypedef fused kept:
    float
    uint16_t                       # the upper half of a float

ctypedef fused number:
    float
    double
    uint16_t

cdef extern from "sparse/bfloat16.h" nogil:
    float widen(uint16_t half)
    uint16_t narrow(float x)


cdef inline double value_of(number x) noexcept nogil:
    if number is uint16_t:
        return widen(x)
    else:
        return x


cdef inline void keep(double x, kept *place) noexcept nogil:
    if kept is uint16_t:
        place[0] = narrow(<float>x)
    else:
        place[0] = <float>x


cdef void inner_products(
    const number *row,             # (BLOCK,) IN
    const double *left,            # (BLOCK,) IN
    const double *right,           # (BLOCK,) IN
    double *by_left,               # OUT
    double *by_right,              # OUT
) noexcept nogil:
    """Two inner products of a row, in lanes that a compiler can keep in vector registers."""
    cdef:
        double[N_LANES] left_lanes
        double[N_LANES] right_lanes
        double left_sum = 0.0, right_sum = 0.0
        Py_ssize_t i, lane
    for lane in range(N_LANES):
        left_lanes[lane] = 0.0
    for lane in range(N_LANES):
        right_lanes[lane] = 0.0
    for i in range(0, BLOCK, 8):
        prefetch(&row[i + BLOCK])
        for lane in range(N_LANES):
            left_lanes[lane] += value_of(row[i + lane]) * left[i + lane]
        for lane in range(N_LANES):
            right_lanes[lane] += value_of(row[i + lane]) * right[i + lane]
    for lane in range(N_LANES):
        left_sum += left_lanes[lane]
        right_sum += right_lanes[lane]
    by_left[0] = left_sum
    by_right[0] = right_sum


def keep_step(
    Py_ssize_t first_block,
    Py_ssize_t last_block,
    kept[:, :, ::1] history,       # (2 * memory, n_blocks, BLOCK) rows of s, rows of y INOUT
    Py_ssize_t slot,               # which s and which y to replace
    Py_ssize_t n_slots,            # number of slots in use after this, from the first
    const real[::1] x,             # (n,) IN
    const real[::1] x_new,         # (n,) IN
    real[::1] gradient,            # (n,) at x IN, at x_new OUT
    const real[::1] gradient_new,  # (n,) IN
    const real[::1] steepest,      # (n,) IN
    double[:, :, ::1] products,    # (n_blocks, 2, 2 * memory + 1) OUT
):
    """Keep s = x_new - x and y = gradient_new - gradient; then take inner products.

    ``products[:, 0]`` are the inner products of ``steepest`` with all rows, then with itself;
    ``products[:, 1]`` are the inner products of y with all rows, then with ``steepest``.
    """
    cdef:
        Py_ssize_t n_rows = history.shape[0], b, i, j, k, start, width
        kept *s
        kept *y
        double[BLOCK] change
        double[BLOCK] direction
    with nogil:
        give_turn()
        for b in range(first_block, last_block):
            start = b * BLOCK
            width = min(<Py_ssize_t>BLOCK, x.shape[0] - start)
            s = &history[slot, b, 0]
            y = &history[n_rows // 2 + slot, b, 0]
            for i in range(width):
                keep(x_new[start + i] - x[start + i], &s[i])
            for i in range(width):
                keep(gradient_new[start + i] - gradient[start + i], &y[i])
            for i in range(width, BLOCK):
                s[i] = y[i] = 0
            memcpy(&gradient[start], &gradient_new[start], width * sizeof(real))
            for i in range(BLOCK):
                change[i] = value_of(y[i])
            for i in range(width):
                direction[i] = steepest[start + i]
            for i in range(width, BLOCK):
                direction[i] = 0.0
            for k in range(2 * n_slots):
                j = k if k < n_slots else n_rows // 2 + k - n_slots
                inner_products(
                    &history[j, b, 0], direction, change, &products[b, 0, j], &products[b, 1, j]
                )
            inner_products(
                direction, direction, change, &products[b, 0, n_rows], &products[b, 1, n_rows]
            )
        take_turn()


def combine(
    Py_ssize_t first_block,
    Py_ssize_t last_block,
    const kept[:, :, ::1] history,    # (2 * memory, n_blocks, BLOCK) IN
    const double[::1] coefficients,   # (2 * memory + 1,) of all rows, then of steepest IN
    const real[::1] steepest,         # (n,) IN
    const real[::1] x,                # (n,) IN
    real[::1] x_new,                  # (n,) OUT
):
    """x_new = x + coefficients @ [history, steepest]"""
    cdef:
        Py_ssize_t memory = history.shape[0] // 2, b, i, j, start, width
        real of_steepest = <real>coefficients[2 * memory]
        # The history has no more than single precision.
        float a, c
        float[BLOCK] total
        const kept *s
        const kept *y
    with nogil:
        give_turn()
        for b in range(first_block, last_block):
            start = b * BLOCK
            width = min(<Py_ssize_t>BLOCK, x.shape[0] - start)
            for i in range(BLOCK):
                total[i] = 0.0
            for j in range(memory):
                a = <float>coefficients[j]
                c = <float>coefficients[memory + j]
                if a == 0 and c == 0:
                    continue
                s = &history[j, b, 0]
                y = &history[memory + j, b, 0]
                for i in range(BLOCK):
                    total[i] += a * <float>value_of(s[i]) + c * <float>value_of(y[i])
            for i in range(width):
                x_new[start + i] = x[start + i] + (of_steepest * steepest[start + i] + total[i])
        take_turn()
