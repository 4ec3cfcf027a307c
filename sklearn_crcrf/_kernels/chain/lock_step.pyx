"""Sums over all paths of a chain, in probabilities: sequences of similar length go in lock step,
so that the recursions become products of matrices. See chain/edges.pxd for the scores.

    alpha_t(j) = v_t(j) sum_i alpha_{t-1}(i) e_t(i, j) / c_{t-1},    c_t = sum_j alpha_t(j)
    beta_t(i)  = sum_j e_{t+1}(i, j) v_{t+1}(j) beta_{t+1}(j) / c_{t+1}
    log Z      = sum_t log c_t + the maxima subtracted in v and e
    p(y_t = j) = alpha_t(j) beta_t(j) / c_t

with v = exp(state), where needed with the maximum over labels subtracted from state first, and
e = exp(transition - maximum of transition). The backward half keeps beta_t / c_t of each step,
times the weight of the sequence.

A sequence in which a nonzero probability could come near the smallest representable number gets
no result here: its log_z is NaN.
"""

include "scaled_scores.pxi"
include "lock_step_blocks.pxi"

BLOCK_SIZE = BLOCK
# If v has only BLOCK_SIZE + SPARE_ROWS rows, enough for one step of a block, sum_forward does not
# keep v, and sum_backward computes it again.
SPARE_ROWS = SPARE


def sum_forward(
    BatchPotentials batch,         # IN
    const int64_t[::1] order,      # (n_sequences,) by decreasing length IN
    const real[:, ::1] state,      # (n_tokens, n_labels) IN
    real[:, ::1] v,                # (n_tokens + SPARE, n_labels) in lock-step order OUT, or fewer
    real[:, ::1] alpha,            # (n_tokens, width) in lock-step order OUT
    double[:, ::1] scaling,        # (n_tokens, 2) 1 / c, and the maximum subtracted in v OUT
    double[::1] log_z,             # (n_sequences,) OUT, NaN for no result
):
    """Log-partition of each sequence."""
    cdef:
        Potentials potentials = batch.in_rows_of(alpha.shape[1])
        const int64_t[::1] offsets = batch.scores.offsets
        int64_t n = potentials.n
        real[:, ::1] work = empty_rows(BLOCK + n, n, DOUBLE if real is double else FLOAT)
        const real *packed = packed_potential(batch.transition, False, work[BLOCK:])
        int64_t longest = length_of(offsets, order, 0) if len(order) else 0
        int64_t[:, ::1] steps = np.empty((2, longest + 1), dtype=np.int64)
        Block block
        int64_t first = 0, start = 0, n_sequences = order.shape[0]
        unsigned denormals
    with nogil:
        give_turn()
        denormals = flush_denormals()
        while first < n_sequences:
            block = make_block(offsets, order, first, start, steps)
            if block.n_steps:
                sum_forward_block(
                    &block, &potentials, state, packed, work, v, alpha, scaling, log_z
                )
                start = block.row[block.n_steps]
            else:
                log_z[order[first]] = 0.0
            first += max(1, block.active[0])
        restore_denormals(denormals)
        take_turn()


cdef inline const real *state_scores(
    const Block *block, const Potentials *potentials, int64_t b, int64_t t,
    const real[:, ::1] state, real *work,
) noexcept nogil:
    """The state scores of token t of sequence b, with begin and end; readable to the width."""
    cdef:
        int64_t j, n = potentials.n, token = block.origin[b] + t
        bint is_last = t + 1 == block.length[b]
    if t and not is_last and token * n + potentials.width <= state.shape[0] * n:
        return &state[token, 0]
    for j in range(n):
        work[j] = state[token, j]
        if t == 0:
            work[j] += <real>potentials.begin[j]
        if is_last:
            work[j] += <real>potentials.end[j]
    return work


cdef struct Running:
    # Running values for each sequence of a block
    double[BLOCK] total            # c_t
    double[BLOCK] inverse          # 1 / c_t, then 1 / c_{t-1} at the next step
    double[BLOCK] factor           # product of the c_t whose logarithm is still to be added
    double[BLOCK] log_z


cdef void sum_forward_block(
    const Block *block, const Potentials *potentials, const real[:, ::1] state, const real *packed,
    real[:, ::1] work,             # (BLOCK, width) work space
    real[:, ::1] v, real[:, ::1] alpha, double[:, ::1] scaling, double[::1] log_z,
) noexcept nogil:
    cdef:
        int64_t t, b, j, r, n_active, n = potentials.n, width = potentials.width
        # The last rows cannot be read up to their padded width.
        const real *last_whole = &state[0, 0] + state.shape[0] * n - width
        bint keeps = v.shape[0] > BLOCK + SPARE
        Running running
        real top[BLOCK]
        real least
        const real *score[BLOCK]
        real *row
        real *rows
        real *before = NULL
    for b in range(block.active[0]):
        running.inverse[b] = running.factor[b] = 1.0
        running.log_z[b] = 0.0
    # Each operation is done for all sequences in a row, so that its results need not wait.
    for t in range(block.n_steps):
        n_active = block.active[t]
        for b in range(n_active):
            score[b] = &state[block.origin[b] + t, 0]
            if score[b] > last_whole:
                score[b] = state_scores(block, potentials, b, t, state, &work[b, 0])
        for b in range(block.active[t + 1] if t else 0, n_active):
            score[b] = state_scores(block, potentials, b, t, state, &work[b, 0])
        rows = &v[block.row[t] if keeps else 0, 0]
        least = shift_rows(score, n_active, n, rows, top)
        find_far(potentials, n_active, least, rows, before, &running)
        exponentials(rows, n_active * n)
        memset(rows + n_active * n, 0, ALIGNMENT)
        row = &alpha[block.row[t], 0]
        if t:
            product(before, n_active, packed, n, width, row)
            for b in range(n_active if potentials.has_edges else 0):
                r = block.row[t - 1] + b
                add_edges(potentials, block.origin[b] + t, &alpha[r, 0], row + b * width, False)
        else:
            for b in range(n_active):
                for j in range(width):
                    row[b * width + j] = j < n
        multiply(running.inverse, n_active, rows, n, row, running.total)
        scale_rows(n_active, width, top, row, &running, &scaling[block.row[t], 0])
        before = row
    for b in range(block.active[0]):
        log_z[block.order[b]] = (
            running.log_z[b] + log(running.factor[b]) + (block.length[b] - 1) * potentials.top
        )


cdef void find_far(
    const Potentials *potentials, int64_t n_rows,
    real least,                    # lower bound of the finite entries of the rows
    const real *rows,              # (n_rows, n_labels) logarithms of v_t
    const real *before,            # (n_rows, width) alpha_{t-1}, NULL at the first step
    Running *running,
) noexcept nogil:
    """Mark sequences as failed in which a probability could be too close to zero."""
    cdef:
        int64_t b
        double inverse, reach, limit = 600.0 if real is double else 65.0
        # alpha is multiplied before it is divided by c: 1 / c must be below this.
        double few = 1e30 if real is double else 1e8
    if (
        not potentials.forbids
        and potentials.spread - least < limit
        and are_between(running.inverse, n_rows, 0, few)
    ):
        return
    for b in range(n_rows):
        inverse = running.inverse[b]
        reach = potentials.spread
        if potentials.forbids and before != NULL:
            reach -= log(least_positive(before + b * potentials.width, potentials.width) * inverse)
        if inverse > few:
            reach += log(inverse)
        # The lower bound may come from another row.
        if not reach - least < limit:
            if not reach - least_finite(rows + b * potentials.n, potentials.n) < limit:
                running.log_z[b] = NAN


cdef void scale_rows(
    int64_t n_rows, int64_t width,
    const real *top,               # (n_rows,) the maxima subtracted in v_t
    real *alpha,                   # (n_rows, width) alpha_t INOUT
    Running *running,
    double *scaling,               # (n_rows, 2) OUT
) noexcept nogil:
    """Add the logarithms of the sums of rows to log Z; the next rows are divided by these sums."""
    cdef:
        int64_t b
        # The backward half divides by the c of two steps at once.
        double most = 1e100 if real is double else 1e12, tiny = 1e-40
    if not are_between(running.total, n_rows, 0, most):
        for b in range(n_rows):
            if not 0 < running.total[b] < most:
                running.log_z[b] = NAN
                running.total[b] = 1.0
                memset(alpha + b * width, 0, width * sizeof(real))
    for b in range(n_rows):
        running.inverse[b] = 1.0 / running.total[b]
        running.factor[b] *= running.total[b]
        running.log_z[b] += top[b]
    for b in range(n_rows):
        scaling[2 * b] = running.inverse[b]
        scaling[2 * b + 1] = top[b]
    if not are_between(running.factor, n_rows, tiny, 1 / tiny):
        for b in range(n_rows):
            if not tiny < running.factor[b] < 1 / tiny:
                running.log_z[b] += log(running.factor[b])
                running.factor[b] = 1.0


cdef inline bint are_between(const double *x, int64_t n, double low, double high) noexcept nogil:
    """Whether n numbers are between two limits."""
    cdef int64_t b, n_between = 0
    for b in range(n):
        n_between += (x[b] > low) & (x[b] < high)
    return n_between == n


include "lock_step_backward.pxi"
