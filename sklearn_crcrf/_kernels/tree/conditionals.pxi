# Conditional probabilities of the labels of a node of a tree, given the label of its parent.
#
#     p(y_c = j | y_p = i) = exp(transition_c(i, j) + up_c(j)) / sum_j' exp(transition_c(i, j') + up_c(j'))
#
# where up_c are the messages of tree/upward.pxi. All else about a tree follows from them.

cdef struct Conditionals:
    # For one node after the other
    int64_t n                      # labels
    double top                     # maximum of the finite transition scores
    const double *transition       # (n, n)
    const double *potential        # (n, n) exp(transition - top)
    Edges edges
    const double *up               # (n_tokens, n)
    double *factor                 # (n,) work space
    double *total                  # (n,) work space
    double *common                 # (n, n) probabilities, 0 where there is an edge
    double *row                    # (n,) work space for those who use them
    double *raised                 # (n_entries,) probabilities of the edges


cdef inline void entries_into(Edges edges, int64_t t, int64_t *start, int64_t *stop) noexcept nogil:
    """Where the edges into a token begin and end."""
    cdef int64_t row = edges.row[t]
    start[0] = stop[0] = 0
    if row >= 0:
        start[0] = edges.indptr[row]
        stop[0] = edges.indptr[row + 1]


cdef inline double sum_of(const double *x, int64_t n) noexcept nogil:
    """The sum of numbers, in lanes that a compiler can keep in vector registers."""
    cdef:
        double lanes[8]
        double total = 0.0
        int64_t j, lane
    for lane in range(8):
        lanes[lane] = 0.0
    for j in range(0, n - 7, 8):
        for lane in range(8):
            lanes[lane] += x[j + lane]
    for j in range(n - n % 8, n):
        total += x[j]
    for lane in range(8):
        total += lanes[lane]
    return total


cdef inline void set_conditionals(Conditionals q, int64_t t) noexcept nogil:
    """The probabilities of the labels of token t; zero if the label of the parent is impossible."""
    cdef:
        int64_t i, j, k, start, stop, n = q.n
        const double *up = q.up + t * n
        double *row
    entries_into(q.edges, t, &start, &stop)
    for j in range(n):
        q.factor[j] = exp(up[j])
    for i in range(n):
        row = q.common + i * n
        for j in range(n):
            row[j] = q.potential[i * n + j] * q.factor[j]
    for k in range(start, stop):
        i = q.edges.previous[k]
        j = q.edges.current[k]
        q.common[i * n + j] = 0.0
        # In logarithms: the potential of an edge can be huge where exp(up) underflows.
        q.raised[k] = exp(q.edges.score[k] - q.top + up[j])
    for i in range(n):
        q.total[i] = sum_of(q.common + i * n, n)
    for k in range(start, stop):
        q.total[q.edges.previous[k]] += q.raised[k]
    for i in range(n):
        # Other sums may have lost digits.
        if not 1e-280 < q.total[i] < 1e280:
            q.total[i] = set_from_logarithms(q, i, up, start, stop)
        if q.total[i] > 0.0:
            q.total[i] = 1.0 / q.total[i]
        row = q.common + i * n
        for j in range(n):
            row[j] *= q.total[i]
    for k in range(start, stop):
        q.raised[k] *= q.total[q.edges.previous[k]]


cdef inline double set_from_logarithms(
    Conditionals q, int64_t i, const double *up, int64_t start, int64_t stop
) noexcept nogil:
    """The same for label i of the parent, divided by the largest, and their sum."""
    cdef:
        int64_t j, k
        const double *transition = q.transition + i * q.n
        double *row = q.common + i * q.n
        double top = -INFINITY, total = 0.0
    for j in range(q.n):
        # An edge scores at least as much as the transition that it replaces.
        row[j] = transition[j] + up[j]
        top = max(top, row[j])
    for k in range(start, stop):
        if q.edges.previous[k] == i:
            j = q.edges.current[k]
            row[j] = -INFINITY
            top = max(top, q.edges.score[k] + up[j])
    for j in range(q.n):
        row[j] = exp(row[j] - top) if top > -INFINITY else 0.0
        total += row[j]
    for k in range(start, stop):
        if q.edges.previous[k] == i:
            j = q.edges.current[k]
            q.raised[k] = exp(q.edges.score[k] + up[j] - top) if top > -INFINITY else 0.0
            total += q.raised[k]
    return total


cdef inline void add_pairs(
    Conditionals q, int64_t t,
    const double *before,          # (n_labels,) probabilities of the labels of the parent IN
    double *marginals,             # (n_labels,) INOUT
    double[:, ::1] transitions, double[::1] edge_counts,
) noexcept nogil:
    """Add the probabilities of the labels of token t, and of its transitions."""
    cdef:
        int64_t i, j, k, start, stop
        double pair
        double *row
        double *out
    set_conditionals(q, t)
    for i in range(q.n):
        row = q.common + i * q.n
        out = &transitions[i, 0]
        for j in range(q.n):
            row[j] *= before[i]
        for j in range(q.n):
            out[j] += row[j]
        for j in range(q.n):
            marginals[j] += row[j]
    entries_into(q.edges, t, &start, &stop)
    for k in range(start, stop):
        pair = before[q.edges.previous[k]] * q.raised[k]
        edge_counts[k] += pair
        marginals[q.edges.current[k]] += pair
