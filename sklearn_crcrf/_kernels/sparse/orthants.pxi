# The penalty c |x|_1 and the orthants in which it is linear (Andrew & Gao 2007).

def l1_norm(
    const real[::1] x,             # (n,) IN
    const real[:] c,               # (n,) not negative IN
):
    """sum_k c[k] |x[k]|"""
    cdef:
        Py_ssize_t k
        double total = 0.0
    with nogil:
        for k in range(x.shape[0]):
            total += <double>c[k] * fabs(x[k])
    return total


def pseudo_gradient(
    const real[::1] x,             # (n,) IN
    const real[::1] gradient,      # (n,) of the smooth part IN
    const real[:] c,               # (n,) not negative IN
    real[::1] pseudo,              # (n,) OUT
):
    """The shortest subgradient: zero where x[k] = 0 and no change of x[k] leads down."""
    cdef:
        Py_ssize_t k
        real g, penalty
    with nogil:
        for k in range(x.shape[0]):
            g = gradient[k]
            penalty = c[k]
            if x[k] > 0 or (x[k] == 0 and g < -penalty):
                pseudo[k] = g + penalty
            elif x[k] < 0 or g > penalty:
                pseudo[k] = g - penalty
            else:
                pseudo[k] = 0


def keep_orthant(
    const real[::1] x,             # (n,) IN
    const real[::1] pseudo,        # (n,) IN
    real[::1] x_new,               # (n,) INOUT
):
    """Project x_new to the orthant of x, and undo changes that do not go against ``pseudo``.

    Where x is zero, ``-pseudo`` points to the orthant.

    Returns
    -------
    float
        The inner product of ``pseudo`` and x_new - x.
    """
    cdef:
        Py_ssize_t k
        real side
        double total = 0.0
    with nogil:
        for k in range(x.shape[0]):
            side = x[k] if x[k] != 0 else -pseudo[k]
            if not (x_new[k] - x[k]) * pseudo[k] < 0:
                x_new[k] = x[k]
            elif x_new[k] * side < 0:
                x_new[k] = 0
            total += <double>pseudo[k] * (x_new[k] - x[k])
    return total


def bound_by_orthant(
    const real[::1] x,             # (n,) IN
    const real[::1] pseudo,        # (n,) IN
    real[::1] x_new,               # (n,) INOUT
):
    """Set to zero what has left the orthant of x; where x is zero, ``-pseudo`` points to it.

    Returns
    -------
    float
        The inner product of ``pseudo`` and x_new - x.
    """
    cdef:
        Py_ssize_t k
        real side
        double total = 0.0
    with nogil:
        for k in range(x.shape[0]):
            side = x[k] if x[k] != 0 else -pseudo[k]
            if not x_new[k] * side > 0:
                x_new[k] = 0
            total += <double>pseudo[k] * (x_new[k] - x[k])
    return total
