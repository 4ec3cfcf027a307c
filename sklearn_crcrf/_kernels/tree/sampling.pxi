# Labellings drawn at random, from the roots of trees to their leaves (Carter & Kohn 1994).
#
#     p(y_c = j | y_p = i) is proportional to exp(transition_c(i, j) + up_c(j))
#
# for a node c with the parent p, with up of tree/upward.pxi.

cdef int32_t draw(double *scores, int64_t n, double uniform) noexcept nogil:
    """A label drawn with probability proportional to exp(scores), by a number in [0, 1)."""
    cdef:
        int64_t i
        int32_t label = 0
        double top = maximum(scores, n), total = 0.0, passed = 0.0
    for i in range(n):
        scores[i] = exp(scores[i] - top)
        total += scores[i]
    for i in range(n):
        if scores[i] > 0.0:
            label = <int32_t>i
            passed += scores[i]
            if passed > uniform * total:
                break
    return label


def draw_labellings(
    UpwardMessages messages,       # IN
    const double[:, ::1] uniform,  # (n_samples, n_tokens) from [0, 1) IN
    int32_t[:, ::1] y,             # (n_samples, n_tokens) OUT
):
    cdef:
        Trees trees = messages.rows.trees
        const int64_t[::1] parent = messages.parent
        const double[:, ::1] transition = messages.batch.transition, up = messages.up
        int64_t n = transition.shape[0], row, t, j, r
        double[::1] scores = np.empty(n)
        Edges edges = messages.batch.edges
    with nogil:
        for row in range(trees.n_rows):
            t = trees.token[row]
            for r in range(y.shape[0]):
                if parent[t] < 0:
                    scores[:] = 0.0
                else:
                    fill_transitions(
                        edges, &transition[0, 0], n, t, y[r, parent[t]], &scores[0]
                    )
                for j in range(n):
                    scores[j] += up[t, j]
                y[r, t] = draw(&scores[0], n, uniform[r, t])
