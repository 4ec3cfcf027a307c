# The best labelling of trees but a given one, y; see chain/edges.pxd for the scores, in which the parent
# is the token before, and tree/order.pxi for the rows.
#
# For a node c whose parent has its label in y, and e_c(j) the score of the transition from that label,
#
#     loss_c  = max_j (e_c(j) + best_c(j)) - max(max_{j != y_c} e_c(j) + best_c(j), e_c(y_c) + below_c)
#     below_v = best_v(y_v) - min_c loss_c                                (c: the children of v)
#
# with best of tree/maxima.pxi: loss_c is what it costs that the subtree of c differs from y, and
# below_v the best score of the subtree of v where v has its label in y and a node below it has not.
# The roots of a unit are like the children of one more node.

cdef struct Given:
    # What is given for each row and token
    int64_t n                      # labels
    const int32_t *y
    const double *transition       # (n, n)
    Edges edges
    const double *best             # (n_tokens, n)


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
        int64_t n = batch.transition.shape[0], n_rows = trees.n_rows, r, t, p, u, stop
        double[::1] into = np.empty(n), loss = np.empty(n_rows), below = np.empty(n_rows)
        uint8_t[::1] differs = np.zeros(n_rows, dtype=np.uint8)
        # Without tokens two of these are addresses that are never read.
        Given given = Given(n, &y[0], &batch.transition[0, 0], batch.edges, &best[0, 0])
    with nogil:
        give_turn()
        is_possible[:] = False
        for r in range(n_rows - 1, -1, -1):
            find_loss(&trees, &given, r, &into[0], &loss[0], &below[0])
        for r in range(n_rows):
            u = trees.unit[r]
            p = trees.parent_row[r]
            if p < 0 and (r == 0 or trees.unit[r - 1] != u):
                stop = r
                is_possible[u] = True
                while stop < n_rows and trees.unit[stop] == u and trees.parent_row[stop] < 0:
                    is_possible[u] &= maximum(&best[trees.token[stop], 0], n) > -INFINITY
                    stop += 1
                is_possible[u] &= mark_least(&loss[0], r, stop, &differs[0])
            t = trees.token[r]
            if not is_possible[u]:
                labels[t] = y[t]
                continue
            fill_row(&given, t, labels[trees.token[p]] if p >= 0 else -1, &into[0])
            if differs[r]:
                into[y[t]] = below[r]
            labels[t] = first_largest(&into[0], n)
            if differs[r] and labels[t] == y[t]:
                stop = trees.first_child[r] + trees.n_children[r]
                mark_least(&loss[0], trees.first_child[r], stop, &differs[0])
        take_turn()


cdef void find_loss(
    const Trees *trees, const Given *given, int64_t r, double *into, double *loss, double *below
) noexcept nogil:
    """Fill loss and below of a row, given the loss of its children."""
    cdef:
        int64_t k, t = trees.token[r], first = trees.first_child[r], p = trees.parent_row[r]
        int32_t label = given.y[t]
        double least = INFINITY, top
    for k in range(first, first + trees.n_children[r]):
        least = loss[k] if loss[k] < least else least
    fill_row(given, t, given.y[trees.token[p]] if p >= 0 else -1, into)
    top = maximum(into, given.n)
    # The score of the transition is in both below and loss.
    below[r] = into[label] - least if least < INFINITY else -INFINITY
    into[label] = below[r]
    loss[r] = maximum(into, given.n)
    loss[r] = top - loss[r] if loss[r] > -INFINITY else INFINITY


cdef bint mark_least(
    const double *loss, int64_t first, int64_t stop, uint8_t *differs
) noexcept nogil:
    """Mark the sibling that costs the least if it differs; whether one can differ."""
    cdef int64_t k, least = first
    for k in range(first, stop):
        if loss[k] < loss[least]:
            least = k
    if first == stop or loss[least] == INFINITY:
        return False
    differs[least] = True
    return True


cdef void fill_row(const Given *given, int64_t t, int64_t previous, double *out) noexcept nogil:
    """The best scores of the labels of a token, given the label of its parent; -1 for a root."""
    cdef int64_t j
    if previous >= 0:
        fill_transitions(given.edges, given.transition, given.n, t, previous, out)
    else:
        for j in range(given.n):
            out[j] = 0.0
    for j in range(given.n):
        out[j] += given.best[t * given.n + j]


cdef int32_t first_largest(const double *x, int64_t n) noexcept nogil:
    cdef:
        int64_t j
        int32_t largest = 0
    for j in range(n):
        if x[j] > x[largest]:
            largest = <int32_t>j
    return largest
