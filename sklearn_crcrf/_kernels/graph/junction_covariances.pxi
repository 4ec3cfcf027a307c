# Second derivatives of sums over all labellings of graphs; see graph/junction_messages.pxi.

def add_junction_covariances(
    JunctionMessages messages,     # of sum_over_junction_trees IN
    const double[::1] log_z,       # (n_units,) of sum_over_junction_trees IN
    double[:, ::1] along_state,    # (n_tokens, n_labels) direction, with begin and end IN
    double[:, :, ::1] along_tables,  # (n_tables, n_labels, n_labels) direction IN
    double[:, :, :, ::1] along_triangles,  # (n_tables, n_labels, n_labels, n_labels) direction IN
    double[::1] along_m,           # (n_messages,) OUT
    double[::1] mean,              # (n_units,) of the linear function OUT, NaN if not possible
    const double[::1] weight,      # (n_units,) IN
    double[:, ::1] of_state,       # (n_tokens, n_labels) INOUT
    double[:, :, ::1] of_tables,   # (n_tables, n_labels, n_labels) INOUT
    double[:, :, :, ::1] of_triangles,  # (n_tables, n_labels, n_labels, n_labels) INOUT
):
    """Add the derivatives of the expected uses in a direction, times the weight of each unit.

    With a dot for derivatives in the direction,

        m'_k(s)     = sum_j p_k(j | s) x'_k(s, j)
        p'(s, j)    = p'(s) p_k(j | s) + p(s) p_k(j | s) (x'_k(s, j) - m'_k(s)).
    """
    cdef:
        const int64_t[::1] offsets = messages.offsets
        JunctionTrees trees = messages.trees
        Factors factors = messages.factors
        int64_t n = trees.n, u, k, r, j
        double[::1] p = np.zeros_like(along_m), along_p = np.zeros_like(along_m)
        double[::1] work = np.empty(4 * n)
        double[:, ::1] no_state = np.zeros_like(of_state)
        double[:, :, ::1] no_tables = np.zeros_like(of_tables)
        double[:, :, :, ::1] no_triangles = np.zeros_like(of_triangles)
        Layer value = messages.value
        Layer along = layer_of(along_state, along_tables, along_m, along_triangles)
        Layer gradient = layer_of(no_state, no_tables, p, no_triangles)
        Layer out = layer_of(of_state, of_tables, along_p, of_triangles)
        double *x = &work[0]
        double *dx = x + n
        double *q = x + 2 * n
        double *dq = x + 3 * n
        const double *total
        double *dtotal
        double *below
        double *dbelow
    with nogil:
        give_turn()
        for u in range(offsets.shape[0] - 1):
            mean[u] = NAN
            if log_z[u] == -INFINITY:
                continue
            mean[u] = 0.0
            for k in range(offsets[u], offsets[u + 1]):
                set_factors(&trees, k, &factors)
                total = value.part[MESSAGES] + trees.message[k]
                dtotal = along.part[MESSAGES] + trees.message[k]
                for r in range(factors.n_rows):
                    dtotal[r] = 0.0
                    if total[r] > -INFINITY:
                        read_row(&trees, &factors, &value, x)
                        read_row(&trees, &factors, &along, dx)
                        probabilities(x, n, total[r])
                        for j in range(n):
                            dtotal[r] += x[j] * dx[j]
                    next_row(&trees, &factors)
                if factors.n_axes == 0:
                    mean[u] += dtotal[0]
            for k in range(offsets[u + 1] - 1, offsets[u] - 1, -1):
                set_factors(&trees, k, &factors)
                total = value.part[MESSAGES] + trees.message[k]
                dtotal = along.part[MESSAGES] + trees.message[k]
                below = gradient.part[MESSAGES] + trees.message[k]
                dbelow = out.part[MESSAGES] + trees.message[k]
                if factors.n_axes == 0:
                    below[0] = weight[u]
                for r in range(factors.n_rows):
                    if below[r] != 0.0 or dbelow[r] != 0.0:
                        read_row(&trees, &factors, &value, x)
                        read_row(&trees, &factors, &along, dx)
                        probabilities(x, n, total[r])
                        for j in range(n):
                            q[j] = below[r] * x[j]
                            dq[j] = dbelow[r] * x[j] + q[j] * (dx[j] - dtotal[r])
                        add_to_row(&trees, &factors, &gradient, q)
                        add_to_row(&trees, &factors, &out, dq)
                    next_row(&trees, &factors)
        take_turn()
