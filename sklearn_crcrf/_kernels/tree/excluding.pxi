# Sums over all labellings of trees but a given one, y, and expected counts; see chain/edges.pxd for the
# scores, in which the parent is the token before, and tree/order.pxi for the rows.
#
# For a node c whose parent has its label in y, let free_c be the logarithm of the sum over the
# labellings of the subtree of c, gold_c of y alone, and differ_c of all labellings but y. With the
# messages of tree/upward.pxi and e_c(j) the score of the transition from the label of the parent,
#
#     free_c   = log sum_j exp(e_c(j) + up_c(j))
#     differ_c = log (sum_{j != y_c} exp(e_c(j) + up_c(j)) + exp(e_c(y_c) + below_c))
#     below_v  = state[v, y_v] - z_v
#                + log sum_c exp(sum_{c' < c} gold_c' + differ_c + sum_{c' > c} free_c')
#
# where below_v is for the labellings in which v has its label in y and a node below it has not: c is
# the first child of v whose subtree differs from y. No sum has y itself, so nothing cancels, however
# much y outweighs the other labellings. The roots of a unit are like the children of one more node.

cdef struct Terms:
    # Logarithms of a row
    double free
    double gold
    double differ
    double below
    double free_after              # the sum of free of the later siblings
    double differ_after            # that a later sibling differs
    double differ_from             # that this or a later sibling differs


cdef struct Modes:
    # Probabilities of a row whose parent has its label in y
    double free                    # an earlier sibling differs
    double differ                  # this subtree is the first that differs
    double gold                    # this subtree does not differ


N_TERMS, N_MODES = sizeof(Terms) // sizeof(double), sizeof(Modes) // sizeof(double)


cdef inline double log_add(double a, double b) noexcept nogil:
    if b > a:
        return b + log1p(exp(a - b))
    return a + log1p(exp(b - a)) if b > -INFINITY else a


cdef inline double log_sum_of_array(const double *x, int64_t n) noexcept nogil:
    cdef:
        int64_t j
        double top = maximum(x, n), total = 0.0
    if top == -INFINITY:
        return top
    for j in range(n):
        total += exp(x[j] - top)
    return top + log(total)


cdef double join_siblings(Terms *terms, int64_t first, int64_t stop) noexcept nogil:
    """Fill the last fields of siblings; return the logarithm of the sum in which one differs."""
    cdef:
        int64_t k
        double differs = -INFINITY, free = 0.0
    for k in range(stop - 1, first - 1, -1):
        terms[k].free_after = free
        terms[k].differ_after = differs
        differs = log_add(terms[k].differ + free, terms[k].gold + differs)
        terms[k].differ_from = differs
        free += terms[k].free
    return differs


cdef inline int64_t last_root(const Trees *trees, int64_t r) noexcept nogil:
    """The row after the roots of a unit, of which ``r`` is the first."""
    cdef int64_t u = trees.unit[r]
    while r < trees.n_rows and trees.unit[r] == u and trees.parent_row[r] < 0:
        r += 1
    return r


def sum_other_labellings(
    UpwardMessages messages,       # IN
    const int32_t[::1] y,          # (n_tokens,) IN
    double[:, ::1] numbers,        # (n_tokens, N_TERMS) of each row OUT
    double[::1] value,             # (n_units,) OUT, -inf where no other labelling is possible
):
    cdef:
        Trees trees = messages.rows.trees
        Edges edges = messages.batch.edges
        const double[:, ::1] state = messages.state, transition = messages.batch.transition
        const double[:, ::1] up = messages.up
        const double[::1] increment = messages.increment, log_z = messages.log_z
        int64_t n = transition.shape[0], r, t, u, k, stop
        double[::1] into = np.empty(n)
        Terms *terms = <Terms *>&numbers[0, 0]
        Terms *row
        double alone, gold
    with nogil:
        give_turn()
        value[:] = -INFINITY
        for r in range(trees.n_rows - 1, -1, -1):
            t = trees.token[r]
            u = trees.unit[r]
            if log_z[u] == -INFINITY:
                continue
            row = &terms[r]
            stop = trees.first_child[r] + trees.n_children[r]
            alone = state[t, y[t]] - increment[t]
            row.below = alone + join_siblings(terms, trees.first_child[r], stop)
            gold = alone
            for k in range(trees.first_child[r], stop):
                gold += terms[k].gold
            fill_into(edges, transition, &trees, y, r, &into[0])
            row.gold = into[y[t]] + gold
            row.differ = into[y[t]] + row.below
            for k in range(n):
                into[k] += up[t, k]
            row.free = log_sum_of_array(&into[0], n)
            into[y[t]] = row.differ
            row.differ = log_sum_of_array(&into[0], n)
            if trees.parent_row[r] < 0 and (r == 0 or trees.unit[r - 1] != u):
                stop = last_root(&trees, r)
                value[u] = log_z[u] + join_siblings(terms, r, stop)
        take_turn()


cdef void fill_into(
    Edges edges,
    const double[:, ::1] transition,
    const Trees *trees,
    const int32_t[::1] y,
    int64_t r,
    double *out,                   # (n_labels,) OUT
) noexcept nogil:
    """The scores of the transitions into a row from the label of its parent in y."""
    cdef int64_t j, n = transition.shape[0], p = trees.parent_row[r]
    if p >= 0:
        fill_transitions(edges, &transition[0, 0], n, trees.token[r], y[trees.token[p]], out)
    else:
        for j in range(n):
            out[j] = 0.0


cdef void split_siblings(
    const Terms *terms, int64_t first, int64_t stop, double below, double gold, Modes *modes
) noexcept nogil:
    """The modes of siblings, of probability ``below`` that one differs and ``gold`` that none does.
    """
    cdef:
        int64_t k
        double free = 0.0
    for k in range(first, stop):
        modes[k].free = free
        modes[k].differ = modes[k].gold = 0.0
        if below != 0.0:
            modes[k].differ = below * exp(
                terms[k].differ + terms[k].free_after - terms[k].differ_from
            )
            below *= exp(terms[k].gold + terms[k].differ_after - terms[k].differ_from)
        modes[k].gold = gold + below
        free += modes[k].differ


def add_counts_of_others(
    UpwardMessages messages,       # IN
    const int32_t[::1] y,
    const double[:, ::1] numbers,  # (n_tokens, N_TERMS) of sum_other_labellings IN
    const double[::1] value,       # (n_units,) of sum_other_labellings IN
    const double[::1] weight,      # (n_units,) IN
    double[:, ::1] states,         # (n_tokens, n_labels) OUT
    double[:, ::1] transitions,    # (n_labels, n_labels) INOUT
    double[::1] edge_counts,       # (n_entries,) INOUT
):
    """Expected counts over all labellings but y, times the weight of each unit."""
    cdef:
        Trees trees = messages.rows.trees
        Edges edges = messages.batch.edges
        const double[:, ::1] transition = messages.batch.transition, up = messages.up
        int64_t n = transition.shape[0], r, t, p, u, j, stop
        double[:, ::1] work = np.empty((n + 4, n)), free = np.zeros((trees.n_rows, n))
        double[::1] raised = np.empty(messages.batch.n_entries)
        double[:, ::1] probabilities = np.zeros((trees.n_rows, N_MODES))
        Conditionals q = conditionals_of(
            messages.batch, messages.potential, messages.top, up, work, raised
        )
        double *before = &work[n + 2, 0]
        double *into = &work[n + 3, 0]
        const Terms *terms = <const Terms *>&numbers[0, 0]
        Modes *modes = <Modes *>&probabilities[0, 0]
        double below, total
    with nogil:
        give_turn()
        for r in range(trees.n_rows):
            t = trees.token[r]
            u = trees.unit[r]
            for j in range(n):
                states[t, j] = 0.0
            if value[u] == -INFINITY or weight[u] == 0.0:
                continue
            p = trees.token[trees.parent_row[r]] if trees.parent_row[r] >= 0 else -1
            if p >= 0:
                for j in range(n):
                    before[j] = free[p, j]
                before[y[p]] += modes[r].free
                add_pairs(q, t, before, &free[t, 0], transitions, edge_counts)
            else:
                if r == 0 or trees.unit[r - 1] != u:
                    stop = last_root(&trees, r)
                    split_siblings(terms, r, stop, weight[u], 0.0, modes)
                for j in range(n):
                    free[t, j] = modes[r].free * exp(up[t, j])
            below = 0.0
            if modes[r].differ != 0.0:
                fill_into(edges, transition, &trees, y, r, into)
                for j in range(n):
                    into[j] += terms[r].below if j == y[t] else up[t, j]
                total = log_sum_of_array(into, n)
                for j in range(n):
                    into[j] = modes[r].differ * exp(into[j] - total)
                    if p >= 0:
                        add_count(edges, t, y[p], <int32_t>j, into[j], transitions, edge_counts)
                below = into[y[t]]
                into[y[t]] = 0.0
                for j in range(n):
                    free[t, j] += into[j]
            if p >= 0:
                add_count(edges, t, y[p], y[t], modes[r].gold, transitions, edge_counts)
            for j in range(n):
                states[t, j] = free[t, j]
            states[t, y[t]] += below + modes[r].gold
            stop = trees.first_child[r] + trees.n_children[r]
            split_siblings(terms, trees.first_child[r], stop, below, modes[r].gold, modes)
        take_turn()


cdef inline void add_count(
    Edges edges, int64_t t, int32_t i, int32_t j, double weight, double[:, ::1] transitions,
    double[::1] edge_counts,
) noexcept nogil:
    cdef int64_t k = find_entry(edges, t, i, j)
    if k < 0:
        transitions[i, j] += weight
    else:
        edge_counts[k] += weight
