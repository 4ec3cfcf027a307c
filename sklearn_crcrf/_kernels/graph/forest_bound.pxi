# An upper bound of the log-partition of a graph, by forests that span it, for any messages.
#
# Let K forests be given of which r_ij K contain the link ij. With b_i and c_ij as in graph/beliefs.pxi, let the
# scores of forest f be
#
#     theta_f(y) = sum_i b_i(y_i) + sum_(ij in f) c_ij(y_i, y_j).
#
# Their mean is sum_i b_i + sum_ij r_ij c_ij: the scores of the graph, whatever the messages are. As
# log Z is a convex function of the scores, the mean of the log-partitions of the forests is a bound
# (Wainwright, Jaakkola & Willsky 2005):
#
#     log Z(theta) <= 1/K sum_f log Z(theta_f).
#
# Messages that no longer change make it as tight as it gets for these r. The log-partition of a forest
# is found exactly, from the leaves to the roots:
#
#     a_i(x)  = b_i(x) + sum_k (u_ki(x) - m_ki(x))                          (k: the children of i)
#     u_ij(x) = log sum_x' exp(a_i(x') - m_ji(x') + transition_ij(x', x) / r_ij)      (j: the parent)
#
# and the probabilities of labels from the roots to the leaves. The derivatives of the bound by the scores
# are means of these probabilities: of the labels of a token over all forests, and of the labels of a link
# over the forests that contain it.

cdef struct Forest:
    # One forest of one unit; rows of work space are tokens of the unit
    int64_t first                  # the first token of the unit
    int64_t n_tokens
    const int64_t *order           # (n_tokens,) tokens, each after its parent
    const int64_t *up              # (n_tokens,) slot of the message from the parent, or -1
    double *a                      # (n_tokens, n_labels) work space
    double *u                      # (n_tokens, n_labels) work space
    double *sum                    # (n_labels,) work space


cdef double sum_forest(
    const Slots *slots, const Forest *forest, const double *belief, const double *m
) noexcept nogil:
    """The log-partition of a forest; sets a and u."""
    cdef:
        int64_t n = slots.n, i, s, x, other, row
        double log_z = 0.0
        double *a
        double *above
        double *u
        const double *down
        const double *up
    for i in range(forest.n_tokens * n):
        forest.a[i] = belief[forest.first * n + i]
    for i in range(forest.n_tokens - 1, -1, -1):
        row, s = forest.order[i] - forest.first, forest.up[i]
        a, u = forest.a + row * n, forest.u + row * n
        if s < 0:
            log_z += log_of_sum(a, n)
            continue
        above = forest.a + (slots.neighbour[s] - forest.first) * n
        down, up = m + s * n, m + slots.reverse[s] * n
        for x in range(n):
            for other in range(n):
                forest.sum[other] = a[other] - down[other] + slot_score(slots, s, other, x)
            u[x] = log_of_sum(forest.sum, n)
            above[x] += u[x] - up[x]
    return log_z


cdef void add_probabilities(
    const Slots *slots, const Forest *forest, const double *m,
    const double *weight,          # (n_slots,) of the tables of links
    double share,                  # weight of the labels of tokens
    double *p,                     # (n_tokens, n) work space
    double *of_state,              # (n_tokens of all units, n) INOUT
    double *of_tables,             # (n_tables, n, n) INOUT
) noexcept nogil:
    """Add the probabilities of labels in a forest after ``sum_forest``."""
    cdef:
        int64_t n = slots.n, i, s, x, other, row
        double log_z, q
        double *own
        const double *a
        const double *u
        const double *above
        const double *down
        double *table
    for i in range(forest.n_tokens):
        row, s = forest.order[i] - forest.first, forest.up[i]
        a, u, own = forest.a + row * n, forest.u + row * n, p + row * n
        if s < 0:
            log_z = log_of_sum(a, n)
            for x in range(n):
                own[x] = exp(a[x] - log_z)
        else:
            above = p + (slots.neighbour[s] - forest.first) * n
            down = m + s * n
            table = of_tables + slots.key[s] // 2 * n * n
            for x in range(n):
                own[x] = 0.0
            for other in range(n):
                if above[other] == 0.0:
                    continue
                for x in range(n):
                    q = a[x] - down[x] + slot_score(slots, s, x, other) - u[other]
                    q = above[other] * exp(q)
                    own[x] += q
                    if slots.key[s] % 2:
                        table[other * n + x] += weight[s] * q
                    else:
                        table[x * n + other] += weight[s] * q
        for x in range(n):
            of_state[(forest.first + row) * n + x] += share * own[x]


def forest_bounds(
    GraphMessages messages,        # IN
    const int64_t[::1] first,      # (n_units + 1,) the first forest of each unit IN
    const int64_t[::1] place,      # (n_forests,) where the tokens of each forest begin IN
    const int64_t[::1] order,      # tokens of all forests, each after its parent IN
    const int64_t[::1] up,         # slots of the messages from the parents, -1 for roots IN
    const double[:, ::1] belief,   # (n_tokens, n_labels) b IN
    const double[::1] weight,      # (n_units,) or empty, for no derivatives IN
    double[::1] bound,             # (n_units,) OUT
    double[:, ::1] of_state,       # (n_tokens, n_labels) INOUT
    double[:, :, ::1] of_tables,   # (n_tables, n_labels, n_labels) by scores not divided INOUT
):
    """The bounds; and their derivatives times the weight of each unit, which are added."""
    cdef:
        Slots slots = messages.slots
        const int64_t[::1] offsets = messages.offsets
        int64_t u, f, s, n_forests
        int64_t longest = np.diff(offsets).max(initial=0)
        double[:, :, ::1] work = np.empty((3, longest + 1, slots.n))
        double[::1] of_slots = np.zeros(max(<int64_t>1, messages.m.shape[0]))
        # Without links this is an address that is never read.
        const double *m = &messages.m[0, 0] if messages.m.shape[0] else NULL
        Forest forest
    forest.a, forest.u, forest.sum = &work[0, 0, 0], &work[1, 0, 0], &work[0, longest, 0]
    with nogil:
        give_turn()
        for u in range(offsets.shape[0] - 1):
            bound[u] = 0.0
            forest.first, forest.n_tokens = offsets[u], offsets[u + 1] - offsets[u]
            n_forests = first[u + 1] - first[u]
            if forest.n_tokens == 0:
                continue
            if weight.shape[0]:
                for s in range(slots.start[offsets[u]], slots.start[offsets[u + 1]]):
                    of_slots[s] = weight[u] / (n_forests * slots.share[s])
            for f in range(first[u], first[u + 1]):
                forest.order, forest.up = &order[place[f]], &up[place[f]]
                bound[u] += sum_forest(&slots, &forest, &belief[0, 0], m) / n_forests
                if weight.shape[0] and weight[u] != 0.0:
                    add_probabilities(
                        &slots, &forest, m, &of_slots[0], weight[u] / n_forests,
                        &work[2, 0, 0], &of_state[0, 0], &of_tables[0, 0, 0],
                    )
        take_turn()
