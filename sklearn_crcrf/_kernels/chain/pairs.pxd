from libc.math cimport exp
from libc.stdint cimport int64_t

from sklearn_crcrf._kernels.chain.edges cimport Edges
from sklearn_crcrf._kernels.chain.messages cimport ForwardMessages

# Products with a factor above exp of this are taken in logarithms.
cdef enum: LARGEST_POWER = 230


cdef struct Pairs:
    # Marginals of the labels of tokens t - 1 and t, for one t after the other
    int64_t n                      # labels
    double top                     # maximum of the finite transition scores
    const double *transition       # (n, n)
    const double *potential        # (n, n) exp(transition - top)
    Edges edges
    const double *state            # (n_tokens, n) with begin and end
    const double *alpha            # (n_tokens, n)
    const double *beta             # (n_tokens, n)
    const double *increment        # (n_tokens,)
    double *ahead                  # (n,) work space
    double *factor                 # (n,) work space
    double *common                 # (n, n) probabilities, 0 where there is an edge
    double *raised                 # (n_entries,) probabilities of the edges


cdef inline void set_pairs(Pairs p, int64_t t) noexcept nogil:
    """p(y_{t-1} = i, y_t = j) = exp(alpha_{t-1}(i) + transition_t(i, j) + ahead(j))."""
    cdef:
        int64_t i, j, k, n = p.n, row = p.edges.row[t]
        const double *alpha = p.alpha + (t - 1) * n
        const double *potential
        double before
    for j in range(n):
        p.ahead[j] = p.state[t * n + j] + p.beta[t * n + j] - p.increment[t]
        p.factor[j] = exp(p.ahead[j] + p.top)
    for i in range(n):
        before = exp(alpha[i])
        potential = p.potential + i * n
        for j in range(n):
            p.common[i * n + j] = before * potential[j] * p.factor[j]
    for j in range(n):
        if p.ahead[j] + p.top > LARGEST_POWER:
            for i in range(n):
                p.common[i * n + j] = exp(alpha[i] + p.transition[i * n + j] + p.ahead[j])
    if row < 0:
        return
    for k in range(p.edges.indptr[row], p.edges.indptr[row + 1]):
        i = p.edges.previous[k]
        j = p.edges.current[k]
        p.raised[k] = exp(alpha[i] + p.edges.score[k] + p.ahead[j])
        p.common[i * n + j] = 0.0


cdef inline Pairs pairs_of(
    ForwardMessages messages,
    const double[:, ::1] beta,     # (n_tokens, n_labels) IN
    double[:, ::1] work,           # (n_labels + 2, n_labels) OUT
    double[::1] raised,            # (n_entries,) OUT
) noexcept:
    cdef Pairs p
    p.n = messages.potential.shape[0]
    p.top = messages.top
    p.transition = &messages.batch.transition[0, 0]
    p.potential = &messages.potential[0, 0]
    p.edges = messages.batch.edges
    # Without tokens these are addresses that are never read.
    p.state = &messages.state[0, 0]
    p.alpha = &messages.alpha[0, 0]
    p.beta = &beta[0, 0]
    p.increment = &messages.increment[0]
    p.ahead = &work[0, 0]
    p.factor = &work[1, 0]
    p.common = &work[2, 0]
    p.raised = &raised[0] if raised.shape[0] else NULL
    return p
