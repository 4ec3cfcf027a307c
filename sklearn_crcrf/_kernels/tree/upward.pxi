# Messages of the sum over all labellings of trees; see chain/edges.pxd for the scores, in which the
# parent is the token before, and tree/order.pxi for the rows.
#
#     up_v(j) = state[v, j] + sum_c log sum_j' exp(transition_c(j, j') + up_c(j')) - z_v
#
# where c are the children of v, state scores include begin and end scores, and z_v is such that
# exp(up_v) sums to one: these are the probabilities of labels, given the scores of the subtree of v.
# log Z is the sum of z_v. From the roots down, with the probabilities of tree/conditionals.pxi,
#
#     p(y_v = j)          = exp(up_v(j))                       (v: a root)
#     p(y_p = i, y_c = j) = p(y_p = i) p(y_c = j | y_p = i)    (p: the parent of c)
#
# (Pearl 1988).

cdef class UpwardMessages:
    """The messages from the leaves of trees to their roots, and the scores they are made from.

    Their arrays are filled by upward_messages.
    """

    cdef:
        BatchScores batch
        TreeRows rows
        const int64_t[::1] parent      # (n_tokens,) -1 for a root
        const double[:, ::1] state     # (n_tokens, n_labels) with begin and end
        const double[:, ::1] potential  # (n_labels, n_labels) exp(transition - top)
        double top                     # maximum of the finite transition scores
        double[:, ::1] up              # (n_tokens, n_labels)
        double[::1] increment          # (n_tokens,) z
        double[::1] log_z              # (n_units,) -inf where no labelling is possible

    def __cinit__(
        self, BatchScores batch, TreeRows rows, parent, state, potential, top, up, increment, log_z
    ):
        self.batch, self.rows, self.parent = batch, rows, parent
        self.state, self.potential, self.top = state, potential, top
        self.up, self.increment, self.log_z = up, increment, log_z


cdef double[::1] room_of_conditionals(UpwardMessages messages):
    cdef int64_t n = messages.batch.transition.shape[0]
    return np.empty((n + 3) * n + messages.batch.n_entries)


cdef inline Conditionals conditionals_of(
    UpwardMessages messages,
    double[::1] work,              # of room_of_conditionals
) noexcept:
    cdef Conditionals q
    q.n = messages.batch.transition.shape[0]
    q.top = messages.top
    q.transition = &messages.batch.transition[0, 0]
    q.potential = &messages.potential[0, 0]
    q.edges = messages.batch.edges
    # Without tokens this is an address that is never read.
    q.up = &messages.up[0, 0]
    q.factor = &work[0]
    q.total = q.factor + q.n
    q.common = q.total + q.n
    q.row = q.common + q.n * q.n
    q.raised = q.row + q.n
    return q


def upward_messages(
    UpwardMessages messages,       # INOUT
    const double[:, ::1] transposed,  # (n_labels, n_labels) transition.T IN
    const double[:, ::1] potential,  # (n_labels, n_labels) exp(transposed - top) IN
):
    """Compute up, z and log Z."""
    cdef:
        Trees trees = messages.rows.trees
        const int64_t[::1] parent = messages.parent
        double[:, ::1] up = messages.up
        double[::1] increment = messages.increment, log_z = messages.log_z
        int64_t n = transposed.shape[0], r, t, j, last = -1
        double[:, ::1] work = np.empty((3, n))
        double[::1] lost = np.zeros(len(log_z))
        Product p = product_of(
            transposed, potential, messages.top, reversed_edges(messages.batch.edges)
        )
    with nogil:
        give_turn()
        log_z[:] = 0.0
        up[:] = messages.state
        for r in range(trees.n_rows - 1, -1, -1):
            t = trees.token[r]
            increment[t] = normalise(&up[t, 0], n)
            add_compensated(increment[t], &log_z[trees.unit[r]], &lost[trees.unit[r]])
            if parent[t] >= 0:
                log_product(p, t, &up[t, 0], &work[0, 0], &work[1, 0])
                # The children of a node have consecutive rows.
                if parent[t] != last:
                    last = parent[t]
                    work[2, :] = 0.0
                for j in range(n):
                    add_compensated(work[1, j], &up[last, j], &work[2, j])
        take_turn()


cdef inline void add_compensated(double x, double *total, double *lost) noexcept nogil:
    """Add a number, and what the rounding of earlier additions has lost (Kahan 1965)."""
    cdef double before = total[0]
    x -= lost[0]
    total[0] = before + x
    lost[0] = (total[0] - before) - x
    if isnan(lost[0]):
        lost[0] = 0.0  # one of the numbers is infinite


def add_tree_counts(
    UpwardMessages messages,       # IN
    const double[::1] weight,      # (n_units,) IN
    double[:, ::1] marginals,      # (n_tokens, n_labels) times the weight OUT
    double[:, ::1] transitions,    # (n_labels, n_labels) INOUT
    double[::1] edge_counts,       # (n_entries,) INOUT
):
    """The marginals of all tokens; add the expected counts of transitions and edges."""
    cdef:
        Trees trees = messages.rows.trees
        const int64_t[::1] parent = messages.parent
        const double[:, ::1] up = messages.up
        const double[::1] log_z = messages.log_z
        int64_t n = transitions.shape[0], r, t, u, j
        double[::1] work = room_of_conditionals(messages)
        Conditionals q = conditionals_of(messages, work)
    with nogil:
        give_turn()
        for r in range(trees.n_rows):
            t = trees.token[r]
            u = trees.unit[r]
            for j in range(n):
                marginals[t, j] = 0.0
            if log_z[u] == -INFINITY or weight[u] == 0.0:
                continue
            if parent[t] < 0:
                set_probabilities(&up[t, 0], n, weight[u], &marginals[t, 0])
                continue
            add_pairs(
                q, t, &marginals[parent[t], 0], &marginals[t, 0], transitions, edge_counts
            )
        take_turn()


cdef void set_probabilities(const double *up, int64_t n, double weight, double *out) noexcept nogil:
    """The probabilities of labels, given the scores of the subtree, times the weight."""
    cdef:
        int64_t j
        double total = 0.0
    for j in range(n):
        out[j] = exp(up[j])
        total += out[j]
    for j in range(n):
        # Rounding errors of huge scores can make the sum differ from one.
        out[j] *= weight / total
