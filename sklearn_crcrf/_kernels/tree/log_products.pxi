# Sums of exp(x_i + transition_t(i, j)) over labels i, from logarithms to logarithms.
#
# They are products with exp(transition). Sums that underflow are computed again in logarithms.

cdef struct Product:
    # From one token to the one after it, or back
    int64_t n                      # labels
    double top                     # maximum of the finite transition scores
    const double *score            # (n, n) transition scores, row = where the product comes from
    const double *potential        # (n, n) exp(score - top)
    Edges edges                    # previous = where the product comes from


cdef inline void log_product(
    Product p,
    int64_t t,                     # the later of the two tokens
    const double *x,               # (n,) logarithms IN
    double *scaled,                # (n,) work space
    double *out,                   # (n,) log sum_i exp(x_i + transition_t(i, j)) OUT
) noexcept nogil:
    cdef:
        int64_t i, j, k, row = p.edges.row[t], start = 0, stop = 0, n = p.n
        double shift = maximum(x, n), top = p.top, lowered, raised
        const double *potential
    if row >= 0:
        start = p.edges.indptr[row]
        stop = p.edges.indptr[row + 1]
        top = max(top, maximum(p.edges.score + start, stop - start))
    for j in range(n):
        out[j] = 0.0 if shift > -INFINITY else -INFINITY
    if shift == -INFINITY:
        return
    for i in range(n):
        scaled[i] = exp(x[i] - shift)
        if scaled[i] > 0.0:
            potential = p.potential + i * n
            for j in range(n):
                out[j] += scaled[i] * potential[j]
    lowered = exp(p.top - top)
    for j in range(n):
        out[j] *= lowered
    for k in range(start, stop):
        i = p.edges.previous[k]
        j = p.edges.current[k]
        raised = exp(p.edges.score[k] - top) - lowered * p.potential[i * n + j]
        out[j] += scaled[i] * raised
    for j in range(n):
        # Smaller sums may have lost digits.
        if out[j] > 1e-280:
            out[j] = log(out[j]) + shift + top
        else:
            out[j] = log_sum(p, start, stop, x, j)


cdef inline double log_sum(
    Product p, int64_t start, int64_t stop, const double *x, int64_t j
) noexcept nogil:
    """log sum_i exp(x_i + transition_t(i, j)) without leaving the logarithms."""
    cdef:
        int64_t i, k
        double top = -INFINITY, total = 0.0
    for i in range(p.n):
        top = max(top, x[i] + p.score[i * p.n + j])
    for k in range(start, stop):
        if p.edges.current[k] == j:
            top = max(top, x[p.edges.previous[k]] + p.edges.score[k])
    if top == -INFINITY:
        return -INFINITY
    for i in range(p.n):
        total += exp(x[i] + p.score[i * p.n + j] - top)
    for k in range(start, stop):
        if p.edges.current[k] == j:
            i = p.edges.previous[k]
            total += exp(x[i] + p.edges.score[k] - top) - exp(x[i] + p.score[i * p.n + j] - top)
    return top + log(total)


cdef inline double normalise(double *logarithms, int64_t n) noexcept nogil:
    """Subtract the logarithm of the sum of exp(logarithms), and return it."""
    cdef:
        int64_t j
        double total = log_of_sum(logarithms, n)
    for j in range(n if total > -INFINITY else 0):
        logarithms[j] -= total
    return total


cdef inline Product product_of(
    const double[:, ::1] score, const double[:, ::1] potential, double top, Edges edges
) noexcept:
    cdef Product p
    p.n = score.shape[0]
    p.top = top
    p.score = &score[0, 0]
    p.potential = &potential[0, 0]
    p.edges = edges
    return p
