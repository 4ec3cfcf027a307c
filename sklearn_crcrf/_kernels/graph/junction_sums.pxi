# Sums over all labellings of graphs, and the expected uses of scores; see graph/junction_messages.pxi.

def sum_over_junction_trees(
    JunctionMessages messages,     # OUT
    double[::1] log_z,             # (n_units,) OUT, -inf where no labelling is possible
):
    """The messages of all steps, and the log-partitions."""
    cdef:
        const int64_t[::1] offsets = messages.offsets
        JunctionTrees trees = messages.trees
        Factors factors = messages.factors
        Layer value = messages.value
        int64_t u
        double[::1] x = np.empty(trees.n)
    with nogil:
        give_turn()
        for u in range(offsets.shape[0] - 1):
            log_z[u] = send_messages(
                &trees, &factors, &value, offsets[u], offsets[u + 1], False, &x[0]
            )
        take_turn()


def add_expected_uses(
    JunctionMessages messages,     # of sum_over_junction_trees IN
    const double[::1] log_z,       # (n_units,) of sum_over_junction_trees IN
    const double[::1] weight,      # (n_units,) IN
    double[:, ::1] of_state,       # (n_tokens, n_labels) INOUT
    double[:, :, ::1] of_tables,   # (n_tables, n_labels, n_labels) INOUT
    double[:, :, :, ::1] of_triangles,  # (n_tables, n_labels, n_labels, n_labels) INOUT
    double[::1] p,                 # (n_messages,) zeros; p(s) times the weight OUT
    double[::1] entropy,           # (n_units,) times the weight OUT
):
    """Add the expected number of uses of each score, times the weight of each unit."""
    cdef:
        const int64_t[::1] offsets = messages.offsets
        JunctionTrees trees = messages.trees
        Factors factors = messages.factors
        Layer value = messages.value
        Layer gradient = layer_of(of_state, of_tables, p, of_triangles)
        int64_t n = trees.n, u, k, r, j
        double[::1] work = np.empty(2 * n)
        double *x = &work[0]
        double *q = x + n
        double *below
        const double *total
    with nogil:
        give_turn()
        for u in range(offsets.shape[0] - 1):
            entropy[u] = 0.0
            if log_z[u] == -INFINITY or weight[u] == 0.0:
                continue
            for k in range(offsets[u + 1] - 1, offsets[u] - 1, -1):
                set_factors(&trees, k, &factors)
                below = gradient.part[MESSAGES] + trees.message[k]
                total = value.part[MESSAGES] + trees.message[k]
                if factors.n_axes == 0:
                    below[0] = weight[u]
                for r in range(factors.n_rows):
                    if below[r] != 0.0:
                        read_row(&trees, &factors, &value, x)
                        for j in range(n):
                            q[j] = below[r] * exp(x[j] - total[r])
                            if q[j] != 0.0:
                                entropy[u] += q[j] * (total[r] - x[j])
                        add_to_row(&trees, &factors, &gradient, q)
                    next_row(&trees, &factors)
        take_turn()
