# Expected counts in lock step: the backward half of the recursion in chain/lock_step.pyx.

# Number of rows over which expected transitions are summed at once: a column of tiles fits into the
# first-level cache.
cdef enum: PANEL = 128
# Where the rows of the work space of the backward half begin.
cdef enum:
    AHEAD = 0                          # (PANEL + BLOCK, width) v_t beta_t / (c_{t-1} c_t)
    BETA = PANEL + BLOCK               # (BLOCK, width)
    SCORES = BETA + BLOCK              # (BLOCK, width) state scores, or v
    ZEROS = SCORES + BLOCK             # (1, width)
    OUTER = ZEROS + 1                  # (n_labels, width) sums of alpha_{t-1}.T @ ahead_t


def sum_backward(
    BatchPotentials batch,         # IN
    const int64_t[::1] order,      # (n_sequences,) by decreasing length IN
    const real[:, ::1] state,      # (n_tokens, n_labels) IN
    real[:, ::1] v,                # (n_tokens + SPARE, n_labels) of sum_forward IN, or fewer
    real[:, ::1] alpha,            # (n_tokens, width) of sum_forward IN
    double[:, ::1] scaling,        # (n_tokens, 2) of sum_forward IN
    double[::1] log_z,             # (n_sequences,) OUT, or None after sum_forward
    double[::1] weight,            # (n_sequences,) INOUT, 0 where log_z has no result
    bint adds,                     # whether to add to the marginals, not overwrite them
    real[:, ::1] marginals,        # (n_tokens, n_labels) INOUT, or OUT
    BatchCounts counts,            # INOUT
):
    """Add the expected counts of each sequence, times its weight; nothing where that is 0.

    If log_z is given, this does the forward half too, block by block, so that the values of a block
    are still in the cache: v, alpha and scaling are work space for the tokens of the largest block.

    If the array of counts of transitions is empty, transitions are not counted.
    """
    cdef:
        Potentials potentials = batch.in_rows_of(alpha.shape[1])
        const int64_t[::1] offsets = batch.scores.offsets
        const double[:, ::1] potential = batch.transition
        double[:, ::1] transitions = counts.transition
        int64_t n = potentials.n, i, j
        object dtype = DOUBLE if real is double else FLOAT
        real[:, ::1] work = empty_rows(OUTER + 3 * n, n, dtype)
        real[:, ::1] outer = work[OUTER : OUTER + n]
        const real *packed = packed_potential(potential, True, work[OUTER + n : OUTER + 2 * n])
        const real *forwards = packed_potential(potential, False, work[OUTER + 2 * n :])
        real[:, ::1] scores = work[SCORES:ZEROS]
        const real *base = NULL if adds else &work[ZEROS, 0]
        int64_t longest = length_of(offsets, order, 0) if len(order) else 0
        int64_t[:, ::1] steps = np.empty((2, longest + 1), dtype=np.int64)
        Block block
        int64_t first = 0, start = 0, n_sequences = order.shape[0]
        bint is_new = log_z is not None
        unsigned denormals
    work[ZEROS] = 0
    with nogil:
        give_turn()
        denormals = flush_denormals()
        while first < n_sequences:
            block = make_block(offsets, order, first, start, steps)
            if block.n_steps:
                if is_new:
                    sum_forward_block(
                        &block, &potentials, state, forwards, scores, v, alpha, scaling, log_z
                    )
                    leave_out_failed(&block, log_z, weight)
                # In single precision, sums over many blocks would lose digits.
                outer[:] = 0
                sum_backward_block(
                    &block, &potentials, state, packed, v, alpha, scaling, weight, base, work,
                    marginals, counts,
                )
                for i in range(transitions.shape[0]):
                    for j in range(n):
                        transitions[i, j] += potential[i, j] * outer[i, j]
                if not is_new:
                    start = block.row[block.n_steps]
            elif is_new:
                log_z[order[first]] = 0.0
            first += max(1, block.active[0])
        restore_denormals(denormals)
        take_turn()


cdef void sum_backward_block(
    const Block *block, const Potentials *potentials, const real[:, ::1] state, const real *packed,
    const real[:, ::1] v, const real[:, ::1] alpha, const double[:, ::1] scaling,
    const double[::1] weight,
    const real *base,              # (n_labels,) zeros, or NULL to add to the marginals
    real[:, ::1] work,             # (OUTER + n_labels, width) INOUT
    real[:, ::1] marginals, BatchCounts counts,
) noexcept nogil:
    cdef:
        int64_t t, b, j, token, n_active, n_ahead = 0, n = potentials.n, width = potentials.width
        real[:, ::1] ahead = work[AHEAD:BETA], beta = work[BETA:SCORES]
        real *scores = &work[SCORES, 0]
        real *outer = &work[OUTER, 0]
        double *begins = &counts.begin[0]
        double *ends = &counts.end[0]
        # Rows from ``latest`` on are in the order of steps, as in alpha. The first ``pending`` rows
        # are not yet in the outer products.
        int64_t latest = PANEL + BLOCK, pending = 0
        bint keeps = v.shape[0] > BLOCK + SPARE
        double w
        double of_sequence[BLOCK]
        double factor[BLOCK]
        real *row
        real *of_token[BLOCK]
    for b in range(block.active[0]):
        of_sequence[b] = weight[block.order[b]]
    for t in range(block.n_steps - 1, -1, -1):
        n_active = block.active[t]
        row = &ahead[latest, 0] if n_ahead else NULL
        product(row, n_ahead, packed, n, width, &beta[0, 0])
        if t == 0 or latest < n_active or block.active[t - 1] > n_active:
            # The rows of alpha are not contiguous, or there is no room.
            if counts.transition.shape[0]:
                outer_products(&alpha[block.row[t], 0], row, pending, n, width, outer)
            pending = 0
        if latest < n_active:
            # The edges into tokens t + 1 still need the rows of these tokens.
            latest = PANEL + BLOCK - n_ahead
            memcpy(&ahead[latest, 0], row, n_ahead * width * sizeof(real))
        for b in range(n_ahead, n_active):
            # The sequence ends here.
            w = of_sequence[b] * scaling[block.row[t] + b, 0] if of_sequence[b] != 0 else 0
            for j in range(width):
                beta[b, j] = <real>w
        for b in range(n_ahead if potentials.has_edges else 0):
            # Where the weight is zero, scores may be infinite.
            if of_sequence[b] != 0:
                token = block.origin[b] + t + 1
                add_edges(potentials, token, &ahead[latest + b, 0], &beta[b, 0], True)
        for b in range(n_active if potentials.forbids else 0):
            leave_out_unreachable(&alpha[block.row[t] + b, 0], width, &beta[b, 0])
        for b in range(n_ahead, n_active):
            add_counts(&alpha[block.row[t] + b, 0], &beta[b, 0], n, ends)
        for b in range(n_active):
            of_token[b] = &marginals[block.origin[b] + t, 0]
        if t == 0:
            for b in range(n_active):
                add_products(
                    1, &alpha[block.row[0] + b, 0], &beta[b, 0], n,
                    base if base != NULL else of_token[b], of_token[b],
                )
                add_counts(&alpha[block.row[0] + b, 0], &beta[b, 0], n, begins)
            break
        for b in range(n_active):
            factor[b] = scaling[block.row[t - 1] + b, 0] if of_sequence[b] != 0 else 0
        if not keeps:
            make_potentials(block, potentials, t, state, scaling, scores)
        latest -= n_active
        both_products(
            factor, n_active, block.active[t - 1], &alpha[block.row[t], 0], &beta[0, 0],
            &v[block.row[t], 0] if keeps else scores, n, &ahead[latest, 0], base, of_token,
        )
        for b in range(n_active if potentials.has_edges and counts.transition.shape[0] else 0):
            if of_sequence[b] != 0:
                token = block.origin[b] + t
                row = &ahead[latest + b, 0]
                count_edges(potentials, token, &alpha[block.row[t - 1] + b, 0], row, counts)
        pending += n_active
        n_ahead = n_active


cdef void leave_out_failed(
    const Block *block, const double[::1] log_z, double[::1] weight
) noexcept nogil:
    cdef int64_t b
    for b in range(block.active[0]):
        if isnan(log_z[block.order[b]]):
            weight[block.order[b]] = 0.0


cdef void make_potentials(
    const Block *block, const Potentials *potentials, int64_t t, const real[:, ::1] state,
    const double[:, ::1] scaling, real *out,
) noexcept nogil:
    """v of token t of each sequence, computed again as in the forward half."""
    cdef:
        int64_t b
        const real *score
    for b in range(block.active[t]):
        score = state_scores(block, potentials, b, t, state, out)
        exponentiate(score, potentials.n, <real>scaling[block.row[t] + b, 1], out)
        out += potentials.n


cdef void leave_out_unreachable(const real *alpha, int64_t width, real *beta) noexcept nogil:
    """Set beta to 0 for labels that no path reaches, where nothing limits its size."""
    cdef int64_t j
    for j in range(width):
        beta[j] = beta[j] if alpha[j] > 0 else 0


cdef void add_counts(const real *alpha, const real *beta, int64_t n, double *out) noexcept nogil:
    cdef int64_t j
    for j in range(n):
        out[j] += alpha[j] * beta[j]
