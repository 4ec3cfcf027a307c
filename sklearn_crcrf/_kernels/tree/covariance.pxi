# Covariances of how often a labelling y of trees uses each score, f(y), and <v, f(y)>.
#
# With the probabilities of tree/conditionals.pxi, for a node c with the parent p,
#
#     u_c(i) = sum_j p(y_c = j | y_p = i) (v_c(i, j) + a_c(j))
#     a_p(i) = v_p(i) + sum_c u_c(i) - m_p
#     o_c(i) = a_p(i) - u_c(i) + b_p(i)
#     b_c(j) = sum_i p(y_p = i | y_c = j) (v_c(i, j) + o_c(i))
#
# where m_p is the mean of the rest of a_p, given the scores of the subtree of p: the mean of <v, f(y)>
# is the sum of all m, whatever is subtracted from a below a root. So a_c is the mean of the terms of the
# subtree of c given the label of c, and b_c of all other terms, but for constants whose sum is zero (the
# recursions of Kakade, Teh & Roweis 2002, on trees). Then
#
#     Cov(c, i, j) = p(y_p = i, y_c = j) (o_c(i) + v_c(i, j) + a_c(j))
#     Cov(c, j)    = p(y_c = j) (a_c(j) + b_c(j))

cdef struct Direction:
    # v
    const double *transition       # (n_labels, n_labels)
    const double *edges            # (n_entries,)


cdef void average_subtree(
    Conditionals q,                # with the conditionals of token t
    int64_t t, Direction v,
    const double *a,               # (n,) a_t IN
    double *out,                   # (n,) u_t OUT
) noexcept nogil:
    cdef int64_t i, j, k, start, stop, n = q.n
    for i in range(n):
        for j in range(n):
            q.factor[j] = q.common[i * n + j] * (v.transition[i * n + j] + a[j])
        out[i] = sum_of(q.factor, n)
    entries_into(q.edges, t, &start, &stop)
    for k in range(start, stop):
        out[q.edges.previous[k]] += q.raised[k] * (v.edges[k] + a[q.edges.current[k]])


def average_subtrees(
    UpwardMessages messages,       # IN
    const double[:, ::1] v_state,  # (n_tokens, n_labels) direction, with begin and end IN
    const double[:, ::1] v_transition,
    const double[::1] v_edges,
    double[:, ::1] a,              # (n_tokens, n_labels) OUT
    double[::1] mean,              # (n_units,) NaN where no labelling is possible OUT
):
    """The recursion of a, and the means of <v, f(y)>."""
    cdef:
        Trees trees = messages.rows.trees
        const int64_t[::1] parent = messages.parent
        const double[:, ::1] up = messages.up
        const double[::1] log_z = messages.log_z
        int64_t n = v_transition.shape[0], u, r, t, j
        double[::1] work = room_of_conditionals(messages)
        Conditionals q = conditionals_of(messages, work)
        Direction v = direction_of(v_transition, v_edges)
        double *row = q.row
        double m
    with nogil:
        for u in range(mean.shape[0]):
            mean[u] = 0.0 if log_z[u] > -INFINITY else NAN
        a[:] = v_state
        for r in range(trees.n_rows - 1, -1, -1):
            t = trees.token[r]
            if log_z[trees.unit[r]] == -INFINITY:
                continue
            set_probabilities(&up[t, 0], n, 1.0, row)
            m = 0.0
            for j in range(n):
                m += row[j] * a[t, j]
            for j in range(n):
                a[t, j] -= m
            mean[trees.unit[r]] += m
            if parent[t] >= 0:
                set_conditionals(q, t)
                average_subtree(q, t, v, &a[t, 0], row)
                for j in range(n):
                    a[parent[t], j] += row[j]


def add_tree_covariances(
    UpwardMessages messages,       # IN
    const double[:, ::1] v_transition,
    const double[::1] v_edges,
    const double[:, ::1] a,        # (n_tokens, n_labels) of average_subtrees IN
    const double[::1] weight,      # (n_units,) IN
    double[:, ::1] states,         # (n_tokens, n_labels) OUT
    double[:, ::1] transitions,    # (n_labels, n_labels) INOUT
    double[::1] edge_counts,       # (n_entries,) INOUT
):
    """Covariances times the weight of each unit."""
    cdef:
        Trees trees = messages.rows.trees
        const int64_t[::1] parent = messages.parent
        const double[::1] log_z = messages.log_z
        Edges edges = messages.batch.edges
        int64_t n = v_transition.shape[0], r, t, i, j, k, start, stop
        double[::1] work = room_of_conditionals(messages)
        double[:, ::1] b = np.zeros((trees.n_rows, n)), marginals = np.zeros((trees.n_rows, n))
        Conditionals q = conditionals_of(messages, work)
        Direction v = direction_of(v_transition, v_edges)
        double *others = q.row
        double *own
        double w, pair
    with nogil:
        for r in range(trees.n_rows):
            t = trees.token[r]
            w = weight[trees.unit[r]]
            if log_z[trees.unit[r]] == -INFINITY or w == 0.0:
                for j in range(n):
                    states[t, j] = 0.0
                continue
            own = &marginals[t, 0]
            if parent[t] < 0:
                set_probabilities(&messages.up[t, 0], n, 1.0, own)
            else:
                set_conditionals(q, t)
                average_subtree(q, t, v, &a[t, 0], others)
                for i in range(n):
                    others[i] = a[parent[t], i] - others[i] + b[parent[t], i]
                for i in range(n):
                    average_label(
                        n, marginals[parent[t], i], others[i], w, v.transition + i * n, &a[t, 0],
                        q.common + i * n, q.factor, own, &b[t, 0], &transitions[i, 0],
                    )
                entries_into(edges, t, &start, &stop)
                for k in range(start, stop):
                    i = edges.previous[k]
                    j = edges.current[k]
                    pair = marginals[parent[t], i] * q.raised[k]
                    own[j] += pair
                    b[t, j] += pair * (others[i] + v.edges[k])
                    edge_counts[k] += w * pair * (others[i] + v.edges[k] + a[t, j])
                for j in range(n):
                    b[t, j] = b[t, j] / own[j] if own[j] > 0.0 else 0.0
            for j in range(n):
                states[t, j] = w * own[j] * (a[t, j] + b[t, j])


cdef inline void average_label(
    int64_t n,
    double probability,            # of label i of the parent
    double others,                 # o_t(i)
    double weight,
    const double *transition,      # (n,) of the direction, from label i IN
    const double *a,               # (n,) a_t IN
    double *pairs,                 # (n,) conditional probabilities, given label i INOUT
    double *mean,                  # (n,) work space
    double *marginals,             # (n,) INOUT
    double *b,                     # (n,) b_t times the marginals INOUT
    double *covariance,            # (n,) of the transitions from label i INOUT
) noexcept nogil:
    cdef int64_t j
    for j in range(n):
        pairs[j] *= probability
        mean[j] = pairs[j] * (others + transition[j])
    for j in range(n):
        marginals[j] += pairs[j]
    for j in range(n):
        b[j] += mean[j]
    for j in range(n):
        covariance[j] += weight * (mean[j] + pairs[j] * a[j])


cdef Direction direction_of(const double[:, ::1] transition, const double[::1] edges) noexcept:
    cdef Direction v
    v.transition = &transition[0, 0]
    v.edges = &edges[0] if edges.shape[0] else NULL
    return v
