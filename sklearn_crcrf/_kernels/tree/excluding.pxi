# Sums and maxima over all labellings of trees but a given one, y; see chain/edges.pxd for the scores, in
# which the parent is the token before, and tree/order.pxi for the rows.
#
# In the order of the rows, another labelling has a first node c whose label differs from y: the nodes
# before it, and so its parent, have their labels in y. With e_v(j) the score of the transition into v
# from the label of its parent in y, and the messages of tree/upward.pxi, the probability that c is the
# first is, by the chain rule,
#
#     term_c = sum_{v before c} log p(y_v | y_p(v)) + log (1 - p(y_c | y_p(c)))
#
#     log p(y_v | y_p(v))       = x_v(y_v) - log sum_j exp x_v(j),    x_v(j) = e_v(j) + up_v(j)
#     log (1 - p(y_v | y_p(v))) = log sum_{j != y_v} exp x_v(j) - log sum_j exp x_v(j)
#
# No sum has y itself, so nothing cancels, however much y outweighs the other labellings. Of the best
# labelling but y, sums are maxima, and up_v is best_v of tree/maxima.pxi.

cdef struct Given:
    int64_t n                      # labels
    bint is_max
    const int32_t *y
    const double *transition       # (n, n)
    Edges edges
    const double *up               # (n_tokens, n)


cdef Given given_of(
    BatchScores batch, const int32_t[::1] y, const double[:, ::1] up, bint is_max
) noexcept:
    # Without tokens two of these are addresses that are never read.
    return Given(
        batch.transition.shape[0], is_max, &y[0], &batch.transition[0, 0], batch.edges, &up[0, 0]
    )


cdef void fill_row(
    const Trees *trees, const Given *given, const int32_t *labels, int64_t r, double *out
) noexcept nogil:
    """x(j) of a row, given the label of its parent."""
    cdef int64_t j, n = given.n, t = trees.token[r], p = trees.parent_row[r]
    if p >= 0:
        fill_transitions(given.edges, given.transition, n, t, labels[trees.token[p]], out)
    else:
        for j in range(n):
            out[j] = 0.0
    for j in range(n):
        out[j] += given.up[t * n + j]


cdef void find_terms(
    const Trees *trees, const Given *given, double[::1] before, double *x, double *term
) noexcept nogil:
    """The terms of all tokens; before (n_units,) is zero, x (n_labels,) is work space."""
    cdef:
        int64_t r, t, u
        double all, others, own
    for r in range(trees.n_rows):
        t = trees.token[r]
        u = trees.unit[r]
        term[t] = -INFINITY
        if before[u] == -INFINITY:
            continue
        fill_row(trees, given, given.y, r, x)
        own = x[given.y[t]]
        x[given.y[t]] = -INFINITY
        others = maximum(x, given.n) if given.is_max else log_of_sum(x, given.n)
        all = own if own > others else others
        if all > -INFINITY and not given.is_max:
            all += log1p(exp(min(own, others) - all))
        if all == -INFINITY:
            before[u] = -INFINITY
        else:
            term[t] = before[u] + (others - all)
            before[u] += own - all


def sum_other_labellings(
    UpwardMessages messages,       # IN
    const int32_t[::1] y,          # (n_tokens,) IN
    double[::1] term,              # (n_tokens,) logarithms of the shares of the terms OUT
    double[::1] value,             # (n_units,) OUT, -inf where no other labelling is possible
):
    cdef:
        Trees trees = messages.rows.trees
        const int64_t[::1] offsets = messages.batch.offsets
        Given given = given_of(messages.batch, y, messages.up, False)
        double[::1] before = np.zeros(value.shape[0]), x = np.empty(given.n)
        int64_t u, t
        double total
    with nogil:
        give_turn()
        find_terms(&trees, &given, before, &x[0], &term[0])
        for u in range(value.shape[0]):
            value[u] = -INFINITY
            if offsets[u] < offsets[u + 1] and messages.log_z[u] != -INFINITY:
                total = log_of_sum(&term[offsets[u]], offsets[u + 1] - offsets[u])
                value[u] = messages.log_z[u] + total
                for t in range(offsets[u], offsets[u + 1]):
                    term[t] -= total
        take_turn()


def add_counts_of_others(
    UpwardMessages messages,       # IN
    const int32_t[::1] y,          # (n_tokens,) IN
    const double[::1] term,        # (n_tokens,) of sum_other_labellings IN
    const double[::1] value,       # (n_units,) of sum_other_labellings IN
    const double[::1] weight,      # (n_units,) IN
    double[:, ::1] states,         # (n_tokens, n_labels) OUT
    double[:, ::1] transitions,    # (n_labels, n_labels) INOUT
    double[::1] edge_counts,       # (n_entries,) INOUT
):
    """Expected counts over all labellings but y, times the weight of each unit."""
    cdef:
        Trees trees = messages.rows.trees
        Given given = given_of(messages.batch, y, messages.up, False)
        int64_t n = given.n, r, t, p, u, j
        double[::1] work = room_of_conditionals(messages)
        # Probabilities that a token is the first that differs, and that it is before it.
        double[::1] first = np.empty(trees.n_rows), gold = np.empty(trees.n_rows)
        double[::1] later = np.zeros(value.shape[0])
        Conditionals q = conditionals_of(messages, work)
        double *into = q.row
        double waiting
    with nogil:
        give_turn()
        states[:] = 0.0
        for r in range(trees.n_rows - 1, -1, -1):
            t = trees.token[r]
            u = trees.unit[r]
            first[t] = 0.0
            if weight[u] != 0.0 and value[u] != -INFINITY:
                first[t] = weight[u] * exp(term[t])
            gold[t] = later[u]
            later[u] += first[t]
        for r in range(trees.n_rows):
            t = trees.token[r]
            u = trees.unit[r]
            if later[u] == 0.0:
                continue
            p = trees.token[trees.parent_row[r]] if trees.parent_row[r] >= 0 else -1
            # The sums of a parent and of the token before are the same if these are.
            waiting = (gold[p] if p >= 0 else later[u]) - (gold[t] + first[t])
            if waiting != 0.0 or first[t] != 0.0:
                fill_row(&trees, &given, &y[0], r, into)
                add_distribution(into, n, waiting, &states[t, 0])
                into[y[t]] = -INFINITY
                add_distribution(into, n, first[t], &states[t, 0])
            if p >= 0:
                for j in range(n):
                    into[j] = states[t, j]
                into[y[t]] += gold[t]
                count_transitions(
                    given.edges, into, n, t, y[p], &transitions[0, 0],
                    &edge_counts[0] if edge_counts.shape[0] else NULL,
                )
                add_pairs(q, t, &states[p, 0], &states[t, 0], transitions, edge_counts)
        for t in range(trees.n_rows):
            states[t, y[t]] += gold[t]
        take_turn()


cdef void add_distribution(
    const double *logarithms, int64_t n, double weight, double *out
) noexcept nogil:
    """Add the probabilities of labels, times a weight."""
    cdef:
        int64_t j
        double total
    if weight != 0.0:
        total = log_of_sum(logarithms, n)
        for j in range(n):
            out[j] += weight * exp(logarithms[j] - total)


def best_other_labelling(
    TreeRows tree_rows,            # IN
    BatchScores batch,             # IN
    const int32_t[::1] y,          # (n_tokens,) IN
    const double[:, ::1] best,     # (n_tokens, n_labels) of max_trees IN
    int32_t[::1] labels,           # (n_tokens,) OUT, y where no other labelling is possible
    uint8_t[::1] is_possible,      # (n_units,) whether another labelling is possible OUT
):
    cdef:
        Trees trees = tree_rows.trees
        Given given = given_of(batch, y, best, True)
        int64_t n_units = is_possible.shape[0], r, t, u
        double[::1] before = np.zeros(n_units), top = np.full(n_units, -np.inf)
        double[::1] term = np.empty(trees.n_rows + 1), work = np.zeros(2 * given.n)
        uint8_t[::1] differs = np.zeros(n_units, dtype=np.uint8)
        double *x = &work[0]
    with nogil:
        give_turn()
        find_terms(&trees, &given, before, x, &term[0])
        for r in range(trees.n_rows):
            top[trees.unit[r]] = max(top[trees.unit[r]], term[trees.token[r]])
        for u in range(n_units):
            is_possible[u] = top[u] > -INFINITY
        for r in range(trees.n_rows):
            t = trees.token[r]
            u = trees.unit[r]
            labels[t] = y[t]
            if is_possible[u] and (differs[u] or term[t] == top[u]):
                fill_row(&trees, &given, &labels[0], r, x)
                if not differs[u]:
                    x[y[t]] = -INFINITY
                labels[t] = <int32_t>argmax_sum(x, x + given.n, given.n)
                differs[u] = True
        take_turn()
