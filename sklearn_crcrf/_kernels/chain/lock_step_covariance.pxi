# Covariances of how often a path uses each score and the sum of the values of its labels, in lock
# step. chain/lock_step.pyx defines alpha, beta, c, v and e. For values x_t(j) with mean zero at each
# token,
#
#     A_t(j) = alpha_t(j) x_t(j) + v_t(j) sum_i A_{t-1}(i) e_t(i, j) / c_{t-1}
#     B_t(i) = sum_j e_{t+1}(i, j) v_{t+1}(j) (beta_{t+1}(j) x_{t+1}(j) + B_{t+1}(j)) / c_{t+1}
#
#     Cov(t, j)    = (A_t(j) beta_t(j) + alpha_t(j) B_t(j)) / c_t
#     Cov(t, i, j) = e_t(i, j) v_t(j) / (c_{t-1} c_t)
#                    * (A_{t-1}(i) beta_t(j) + alpha_{t-1}(i) (beta_t(j) x_t(j) + B_t(j)))
#
# A / alpha and B / beta are the mean sums of values up to a token and after it, given its label.

from libc.stdint cimport uint8_t

# Where the rows of the work space of the second half begin.
cdef enum:
    BEFORE = 0                         # (PANEL + 2 BLOCK, width) alpha_{t-1}, then A
    AFTER = PANEL + 2 * BLOCK          # (PANEL + 2 BLOCK, width) what B has of t, then beta
    SUFFIXES = 2 * AFTER               # (2 BLOCK, width) B, then beta
    AT_END = SUFFIXES + 2 * BLOCK      # (2, width) B and beta of the last token
    V = AT_END + 2                     # (1, width)
    PAIRS = V + 1                      # (n_labels, width) sums of before.T @ after


cdef class Forward:
    """What sum_forward read and left, in double precision."""

    cdef:
        const double[:, ::1] state     # (n_tokens, n_labels)
        const double[:, ::1] v         # (n_tokens + SPARE, n_labels), or fewer
        const double[:, ::1] alpha     # (n_tokens, width)
        const double[:, ::1] scaling   # (n_tokens, 2)


def covariances(
    BatchPotentials batch,         # IN
    const int64_t[::1] order,      # (n_sequences,) by decreasing length IN
    const double[:, ::1] state,    # (n_tokens, n_labels) IN
    const double[:, ::1] v,        # (n_tokens + SPARE, n_labels) of sum_forward IN, or fewer
    const double[:, ::1] alpha,    # (n_tokens, width) of sum_forward IN
    const double[:, ::1] scaling,  # (n_tokens, 2) of sum_forward IN
    const uint8_t[::1] left_out,   # (n_sequences,) IN
    const double[:, ::1] values,   # (n_tokens, n_labels) x IN
    double[:, ::1] states,         # (n_tokens, n_labels) INOUT
    BatchCounts counts,            # transitions and edges INOUT
):
    """Add the covariances of all sequences but those that are left out."""
    cdef:
        Potentials potentials = batch.in_rows_of(alpha.shape[1])
        const int64_t[::1] offsets = batch.scores.offsets
        const double[:, ::1] potential = batch.transition
        double[:, ::1] transitions = counts.transition
        int64_t n = potentials.n, i, j
        double[:, ::1] work = empty_rows(PAIRS + 3 * n, n, DOUBLE)
        double[:, ::1] pairs = work[PAIRS : PAIRS + n]
        const double *packed = packed_potential(potential, False, work[PAIRS + n : PAIRS + 2 * n])
        const double *transposed = packed_potential(potential, True, work[PAIRS + 2 * n :])
        double[:, ::1] prefixes = empty_rows(len(alpha), n, DOUBLE)
        int64_t longest = length_of(offsets, order, 0) if len(order) else 0
        int64_t[:, ::1] steps = np.empty((2, longest + 1), dtype=np.int64)
        Forward forward = Forward()
        Block block
        int64_t first = 0, start = 0, n_sequences = order.shape[0]
        unsigned denormals
    forward.state, forward.v, forward.alpha, forward.scaling = state, v, alpha, scaling
    pairs[:] = 0
    with nogil:
        denormals = flush_denormals()
        while first < n_sequences:
            block = make_block(offsets, order, first, start, steps)
            if block.n_steps:
                sum_prefixes(
                    &block, &potentials, forward, packed, left_out, values, &work[V, 0], prefixes
                )
                add_block_covariances(
                    &block, &potentials, forward, transposed, left_out, values, prefixes, work,
                    states, counts,
                )
                start = block.row[block.n_steps]
            first += max(1, block.active[0])
        for i in range(n):
            for j in range(n):
                transitions[i, j] += potential[i, j] * pairs[i, j]
        restore_denormals(denormals)


cdef inline const double *token_potentials(
    const Block *block, const Potentials *potentials, Forward forward, int64_t b, int64_t t,
    double *work,
) noexcept nogil:
    """v of token t of sequence b, kept or computed again."""
    cdef:
        int64_t r = block.row[t] + b
        const double *score
    if forward.v.shape[0] > BLOCK + SPARE:
        return &forward.v[r, 0]
    score = state_scores(block, potentials, b, t, forward.state, work)
    exponentiate(score, potentials.n, forward.scaling[r, 1], work)
    return work


cdef void sum_prefixes(
    const Block *block,
    const Potentials *potentials,
    Forward forward,
    const double *packed,
    const uint8_t[::1] left_out,
    const double[:, ::1] values,
    double *work,                  # (width,) work space
    double[:, ::1] prefixes,       # (n_tokens, width) A in lock-step order OUT
) noexcept nogil:
    cdef:
        int64_t t, b, r, token, n = potentials.n, width = potentials.width
        const double *before = NULL
        const double *factor
        double *row
    for t in range(block.n_steps):
        if t:
            before = &prefixes[block.row[t - 1], 0]
            product(before, block.active[t], packed, n, width, &prefixes[block.row[t], 0])
        for b in range(block.active[t]):
            r = block.row[t] + b
            row = &prefixes[r, 0]
            if t == 0 or left_out[block.order[b]]:
                memset(row, 0, width * sizeof(double))
                if left_out[block.order[b]]:
                    continue
            else:
                if potentials.has_edges:
                    add_edges(potentials, block.origin[b] + t, before + b * width, row, False)
                factor = token_potentials(block, potentials, forward, b, t, work)
                products(forward.scaling[block.row[t - 1] + b, 0], factor, row, width, row)
            token = block.origin[b] + t
            add_products(1.0, &forward.alpha[r, 0], &values[token, 0], n, row, row)


cdef void add_block_covariances(
    const Block *block,
    const Potentials *potentials,
    Forward forward,
    const double *packed,
    const uint8_t[::1] left_out,
    const double[:, ::1] values,
    const double[:, ::1] prefixes,
    double[:, ::1] work,           # (PAIRS + n_labels, width) INOUT
    double[:, ::1] states,
    BatchCounts counts,
) noexcept nogil:
    cdef:
        const double[:, ::1] alpha = forward.alpha, scaling = forward.scaling
        double[:, ::1] before = work[BEFORE:AFTER], ahead = work[AFTER:SUFFIXES]
        double[:, ::1] beta = work[SUFFIXES:AT_END]
        double *pairs = &work[PAIRS, 0]
        int64_t t, b, j, r, token, filled = 0, latest = 0, n_ahead = 0, n_active
        int64_t n = potentials.n, width = potentials.width
        const double *factor
        double *suffix             # B
        double *row                # beta
        double *of_token
    for t in range(block.n_steps - 1, -1, -1):
        n_active = block.active[t]
        product(&ahead[latest, 0], 2 * n_ahead, packed, n, width, &beta[0, 0])
        if filled >= PANEL:
            outer_products(&before[0, 0], &ahead[0, 0], filled, n, width, pairs)
            # The edges into tokens t + 1 still need the rows of these tokens.
            memcpy(&ahead[0, 0], &ahead[latest, 0], 2 * n_ahead * width * sizeof(double))
            memset(&before[0, 0], 0, 2 * n_ahead * width * sizeof(double))
            latest = 0
            filled = 2 * n_ahead
        for b in range(n_active):
            token = block.origin[b] + t
            r = block.row[t] + b
            if left_out[block.order[b]]:
                for j in range(2):
                    memset(&ahead[filled + j * n_active + b, 0], 0, width * sizeof(double))
                    memset(&before[filled + j * n_active + b, 0], 0, width * sizeof(double))
                continue
            if b < n_ahead:
                suffix = &beta[b, 0]
                row = &beta[n_ahead + b, 0]
                if potentials.has_edges:
                    add_edges(potentials, token + 1, &ahead[latest + b, 0], suffix, True)
                    add_edges(potentials, token + 1, &ahead[latest + n_ahead + b, 0], row, True)
            else:
                suffix = &work[AT_END, 0]
                row = &work[AT_END + 1, 0]
                for j in range(width):
                    suffix[j] = 0.0
                    row[j] = 1.0
            if potentials.forbids:
                leave_out_unreachable(&alpha[r, 0], width, suffix)
                leave_out_unreachable(&alpha[r, 0], width, row)
            of_token = &states[token, 0]
            add_products(scaling[r, 0], &prefixes[r, 0], row, n, of_token, of_token)
            add_products(scaling[r, 0], &alpha[r, 0], suffix, n, of_token, of_token)
            if t == 0:
                continue
            add_products(1.0, row, &values[token, 0], n, suffix, suffix)
            factor = token_potentials(block, potentials, forward, b, t, &work[V, 0])
            products(scaling[r, 0], factor, suffix, width, &ahead[filled + b, 0])
            products(scaling[r, 0], factor, row, width, &ahead[filled + n_active + b, 0])
            r = block.row[t - 1] + b
            scale(scaling[r, 0], &alpha[r, 0], width, &before[filled + b, 0])
            scale(scaling[r, 0], &prefixes[r, 0], width, &before[filled + n_active + b, 0])
            if potentials.has_edges:
                for j in range(2):
                    r = filled + j * n_active + b
                    count_edges(potentials, token, &before[r, 0], &ahead[r, 0], counts)
        latest = filled
        n_ahead = n_active
        filled += 2 * n_active
    outer_products(&before[0, 0], &ahead[0, 0], latest, n, width, pairs)
