# Best labellings of graphs, and samples of labellings; see graph/junction_messages.pxi.

def maximise_over_junction_trees(
    JunctionMessages messages,     # OUT
    double[::1] value,             # (n_units,) OUT, -inf where no labelling is possible
    int32_t[::1] y,                # (n_tokens,) OUT
):
    """The best labellings: m_k(s) = max_j x_k(s, j). Of ties, the lowest label."""
    cdef:
        const int64_t[::1] offsets = messages.offsets
        JunctionTrees trees = messages.trees
        Factors factors = messages.factors
        Layer layer = messages.value
        int64_t n = trees.n, u, k, j
        double[::1] work = np.empty(n)
        double *x = &work[0]
    with nogil:
        give_turn()
        for u in range(offsets.shape[0] - 1):
            value[u] = send_messages(
                &trees, &factors, &layer, offsets[u], offsets[u + 1], True, x
            )
            for k in range(offsets[u + 1] - 1, offsets[u] - 1, -1):
                at_labels(&trees, k, &y[0], &factors)
                read_row(&trees, &factors, &layer, x)
                y[trees.token[k]] = 0
                for j in range(1, n):
                    if x[j] > x[y[trees.token[k]]]:
                        y[trees.token[k]] = <int32_t>j
        take_turn()


def sample_from_junction_trees(
    JunctionMessages messages,     # of sum_over_junction_trees IN
    const double[:, ::1] uniform,  # (n_samples, n_tokens) random numbers from 0 to 1 IN
    int32_t[:, ::1] y,             # (n_samples, n_tokens) OUT
):
    """Draw labellings: the label of the last step first, then the others given it."""
    cdef:
        const int64_t[::1] offsets = messages.offsets
        JunctionTrees trees = messages.trees
        Factors factors = messages.factors
        Layer value = messages.value
        int64_t n = trees.n, i, k, j, row
        double[::1] work = np.empty(n)
        double left
        double *x = &work[0]
    with nogil:
        give_turn()
        for i in range(y.shape[0]):
            for k in range(offsets[offsets.shape[0] - 1] - 1, -1, -1):
                row = at_labels(&trees, k, &y[i, 0], &factors)
                read_row(&trees, &factors, &value, x)
                probabilities(x, n, (value.part[MESSAGES] + trees.message[k])[row])
                left = uniform[i, trees.token[k]]
                for j in range(n):
                    if x[j] > 0.0:
                        # By rounding, some of the unit interval may be left after the last label.
                        y[i, trees.token[k]] = <int32_t>j
                        left -= x[j]
                        if left < 0.0:
                            break
        take_turn()
