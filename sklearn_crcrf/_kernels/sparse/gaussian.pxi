# The penalty of weights by a Gaussian prior.

cdef enum:
    # Number of weights that stay in the cache for two passes over them.
    BLOCK = 1024
    # Number of sums that a compiler can keep in vector registers.
    N_LANES = 8


def gaussian_penalty(
    const real[::1] w,             # (n,) IN
    double precision,
    real[::1] derivatives,         # (n,) OUT
):
    """precision / 2 * ||w||^2, and its derivatives."""
    cdef:
        Py_ssize_t n = w.shape[0], start, stop, i, lane
        real factor = <real>precision
        double[N_LANES] squares
        double total = 0.0
    for lane in range(N_LANES):
        squares[lane] = 0.0
    with nogil:
        give_turn()
        for start in range(0, n, 1024):
            stop = min(start + BLOCK, n)
            for i in range(start, stop):
                derivatives[i] = factor * w[i]
            for i in range(start, stop - N_LANES + 1, 8):
                for lane in range(N_LANES):
                    squares[lane] += <double>w[i + lane] * w[i + lane]
        for i in range(n - n % N_LANES, n):
            total += <double>w[i] * w[i]
        for lane in range(N_LANES):
            total += squares[lane]
        take_turn()
    return 0.5 * precision * total
