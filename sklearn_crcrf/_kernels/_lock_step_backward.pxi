# Expected counts in lock step: the backward half of the recursion in _lock_step.pxi.

# Rows of which the expected transitions are summed at once.
cdef enum: PANEL = 256


def backward(
    const int64_t[::1] offsets,
    const int64_t[::1] order,
    const real[:, ::1] state,
    const double[::1] begin,
    const double[::1] end,
    const double[:, ::1] potential,
    double top,
    double spread,
    bint forbids,
    const int64_t[::1] edge_row,
    const int64_t[::1] edge_indptr,
    const int32_t[::1] edge_previous,
    const int32_t[::1] edge_current,
    const double[::1] edge_potential,
    const real[:, ::1] v,          # (n_tokens + SPARE, n_labels) of forward IN, or fewer
    const real[:, ::1] alpha,      # (n_tokens, width) of forward IN
    const double[:, ::1] scaling,  # (n_tokens, 2) of forward IN
    const double[::1] weight,      # (n_sequences,) IN
    real[:, ::1] marginals,        # (n_tokens, n_labels) INOUT
    double[:, ::1] transitions,    # (n_labels, n_labels) INOUT
    double[::1] begins,            # (n_labels,) INOUT
    double[::1] ends,              # (n_labels,) INOUT
    double[::1] edge_counts,       # (n_entries,) INOUT
):
    """Add the expected counts of each sequence, times its weight; nothing where that is 0."""
    cdef:
        Scores scores = scores_of(
            potential, alpha.shape[1], top, spread, forbids,
            edges_of(edge_row, edge_indptr, edge_previous, edge_current, edge_potential),
        )
        int64_t n = scores.n, width = alpha.shape[1], i, j
        int64_t n_rows = PANEL + 2 * BLOCK
        real[:, ::1] rows = empty_rows(n_rows + 2 * n + 1, n, DOUBLE if real is double else FLOAT)
        real[:, ::1] ahead = rows[: PANEL + BLOCK]
        real[:, ::1] beta = rows[PANEL + BLOCK : n_rows]
        real[:, ::1] outer = rows[n_rows : n_rows + n]
        const real *packed = packed_potential(potential, True, rows[n_rows + n : n_rows + 2 * n])
        real[:, ::1] work = rows[n_rows + 2 * n :]
        int64_t longest = length_of(offsets, order, 0) if len(order) else 0
        int64_t[:, ::1] steps = np.empty((2, longest + 1), dtype=np.int64)
        Block block
        int64_t first = 0, start = 0, n_sequences = order.shape[0]
        unsigned denormals
    with nogil:
        denormals = flush_denormals()
        while first < n_sequences:
            block = make_block(offsets, order, first, start, steps)
            if block.n_steps:
                # Sums of many blocks would lose digits in single precision.
                memset(&outer[0, 0], 0, n * width * sizeof(real))
                backward_block(
                    &block, &scores, state, begin, end, packed, v, alpha, scaling, weight,
                    ahead, beta, outer, &work[0, 0], marginals, transitions,
                    begins, ends, edge_counts,
                )
                for i in range(n):
                    for j in range(n):
                        transitions[i, j] += potential[i, j] * outer[i, j]
                start = block.row[block.n_steps]
            first += max(1, block.active[0])
        restore_denormals(denormals)


cdef void backward_block(
    const Block *block,
    const Scores *scores,
    const real[:, ::1] state,
    const double[::1] begin,
    const double[::1] end,
    const real *packed,
    const real[:, ::1] v,
    const real[:, ::1] alpha,
    const double[:, ::1] scaling,
    const double[::1] weight,
    real[:, ::1] ahead,            # (PANEL + BLOCK, width) v_t beta_t / (c_{t-1} c_t): work space
    real[:, ::1] beta,             # (BLOCK, width) work space
    real[:, ::1] outer,            # (n_labels, width) sums of alpha_{t-1}.T @ ahead_t INOUT
    real *work,                    # (width,) work space
    real[:, ::1] marginals,
    double[:, ::1] transitions,
    double[::1] begins,
    double[::1] ends,
    double[::1] edge_counts,
) noexcept nogil:
    cdef:
        int64_t t, b, j, r, token, n_active, n_ahead = 0, width = scores.width
        # Rows of later steps follow those of earlier ones, as in alpha: from ``latest`` on, and so
        # many of them are not yet in the outer products.
        int64_t latest = PANEL + BLOCK, pending = 0
        bint keeps = v.shape[0] > BLOCK + SPARE
        double w
        const real *score
        real *row
    for t in range(block.n_steps - 1, -1, -1):
        n_active = block.active[t]
        row = &ahead[latest, 0] if n_ahead else NULL
        product(row, n_ahead, packed, scores.n, width, &beta[0, 0])
        if t == 0 or latest < n_active or block.active[t - 1] > n_active:
            # The rows of alpha do not go on, or there is no room.
            outer_products(&alpha[block.row[t], 0], row, pending, scores.n, width, &outer[0, 0])
            pending = 0
        if latest < n_active:
            # The edges of this step need the rows that are ahead of them.
            latest = PANEL + BLOCK - n_ahead
            memcpy(&ahead[latest, 0], row, n_ahead * width * sizeof(real))
        for b in range(n_active):
            w = weight[block.order[b]]
            token = block.origin[b] + t
            if t:
                fetch_row(&marginals[token - 1, 0], scores.n)
                fetch_row(&alpha[block.row[t - 1] + b, 0], width)
                if keeps:
                    fetch_row(&v[block.row[t - 1] + b, 0], scores.n)
            r = block.row[t] + b
            row = &beta[b, 0]
            if w == 0:
                memset(&ahead[latest - n_active + b, 0], 0, width * sizeof(real))
                continue
            if b >= n_ahead:
                for j in range(width):
                    row[j] = <real>(w * scaling[r, 0])
            elif scores.has_edges:
                add_edges(scores, token + 1, &ahead[latest + b, 0], row, True)
            if scores.forbids:
                leave_out_unreachable(&alpha[r, 0], width, row)
            add_products(1, &alpha[r, 0], row, scores.n, &marginals[token, 0])
            if t == 0:
                add_counts(&alpha[r, 0], row, scores.n, &begins[0])
            if t + 1 == block.length[b]:
                add_counts(&alpha[r, 0], row, scores.n, &ends[0])
            if t:
                j = latest - n_active + b
                if keeps:
                    score = &v[r, 0]
                else:
                    score = state_scores(block, b, t, state, begin, end, width, work)
                    exponentiate(score, scores.n, <real>scaling[r, 1], work)
                    score = work
                r = block.row[t - 1] + b
                products(<real>scaling[r, 0], score, row, width, &ahead[j, 0])
                if scores.has_edges:
                    count_edges(
                        scores, token, &alpha[r, 0], &ahead[j, 0], transitions, edge_counts
                    )
        latest -= n_active
        pending += n_active
        n_ahead = n_active


cdef void leave_out_unreachable(const real *alpha, int64_t width, real *beta) noexcept nogil:
    """Nothing limits what comes after a label that no path comes to."""
    cdef int64_t j
    for j in range(width):
        beta[j] = beta[j] if alpha[j] > 0 else 0


cdef void add_counts(
    const real *alpha, const real *beta, int64_t n, double *out
) noexcept nogil:
    cdef int64_t j
    for j in range(n):
        out[j] += alpha[j] * beta[j]
