# What messages between linked tokens say: beliefs, their energies, and labels.
#
# For any messages m, with r the appearance probabilities of links (see graph/propagation.pyx),
#
#     b_i(x)      = state_i(x) + sum_k r_ki m_ki(x)
#     c_ij(x, x') = transition_ij(x, x') / r_ij - m_ji(x) - m_ij(x')
#
# are scores of the same labellings: state and transition scores sum to sum_i b_i + sum_ij r_ij c_ij. The
# beliefs are exp(b_i), and exp(b_i + b_j + c_ij) for the labels of two linked tokens, normalised. If the
# messages no longer change, both agree. The energy
#
#     sum_i log z_i + sum_ij r_ij log sum_xx' exp(b_i(x) + b_j(x') + c_ij(x, x')) / (z_i z_j),
#
# with z_i = sum_x exp(b_i(x)), is then a stationary point of the Bethe free energy, negated, if all r are
# 1 (Yedidia, Freeman & Weiss 2005), and its derivatives by the scores are the beliefs.

def log_beliefs(
    GraphMessages messages,        # IN
    double[:, ::1] belief,         # (n_tokens, n_labels) b - log z OUT
    double[::1] log_z,             # (n_tokens,) OUT
):
    """Logarithms of the normalised beliefs of tokens."""
    cdef:
        Slots slots = messages.slots
        const double[:, ::1] state = messages.state, m = messages.m
        int64_t n = slots.n, t, s, x
        double factor
    with nogil:
        give_turn()
        for t in range(state.shape[0]):
            for x in range(n):
                belief[t, x] = state[t, x]
            for s in range(slots.start[t], slots.start[t + 1]):
                factor = slots.share[s] if slots.share != NULL else 1.0
                for x in range(n):
                    belief[t, x] += factor * m[s, x]
            log_z[t] = log_of_sum(&belief[t, 0], n)
            for x in range(n):
                belief[t, x] -= log_z[t]
        take_turn()


cdef inline double pair_scores(
    const Slots *slots, int64_t t, int64_t s, const double *belief, const double *m, double *out
) noexcept nogil:
    """b_i + b_j + c_ij of a slot, row = label of the first end; returns the logarithm of their sum."""
    cdef:
        int64_t n = slots.n, x, y, back = slots.key[s] % 2
        const double *table = slots.table + slots.key[s] // 2 * n * n
        const double *own = belief + t * n
        const double *other = belief + slots.neighbour[s] * n
        const double *from_other = m + s * n
        const double *from_own = m + slots.reverse[s] * n
        double first, second
    for x in range(n):
        first = other[x] - from_own[x] if back else own[x] - from_other[x]
        for y in range(n):
            second = own[y] - from_other[y] if back else other[y] - from_own[y]
            out[x * n + y] = first + second + table[x * n + y]
    return log_of_sum(out, n * n)


def energies_of_links(
    GraphMessages messages,        # IN
    const double[:, ::1] belief,   # (n_tokens, n_labels) of log_beliefs IN
    double[::1] energy,            # (n_units,) OUT
):
    """The sums of log sum_xx' exp(b_i + b_j + c_ij) / (z_i z_j) over the links of each unit."""
    cdef:
        Slots slots = messages.slots
        const int64_t[::1] offsets = messages.offsets
        const double[:, ::1] m = messages.m
        double[::1] work = np.empty(slots.n * slots.n)
        int64_t u, t, s
    with nogil:
        give_turn()
        for u in range(offsets.shape[0] - 1):
            energy[u] = 0.0
            for t in range(offsets[u], offsets[u + 1]):
                for s in range(slots.middle[t], slots.start[t + 1]):
                    energy[u] += pair_scores(&slots, t, s, &belief[0, 0], &m[0, 0], &work[0])
        take_turn()


def add_link_beliefs(
    GraphMessages messages,        # IN
    const double[:, ::1] belief,   # (n_tokens, n_labels) of log_beliefs IN
    const double[::1] weight,      # (n_units,) IN
    double[:, :, ::1] of_tables,   # (n_tables, n_labels, n_labels) INOUT
):
    """Add the beliefs of the labels of all links, times the weight of each unit, to their tables."""
    cdef:
        Slots slots = messages.slots
        const int64_t[::1] offsets = messages.offsets
        const double[:, ::1] m = messages.m
        int64_t n = slots.n, u, t, s, k
        double[::1] work = np.empty(n * n)
        double log_z
        double *out
    with nogil:
        give_turn()
        for u in range(offsets.shape[0] - 1):
            if weight[u] == 0.0:
                continue
            for t in range(offsets[u], offsets[u + 1]):
                for s in range(slots.middle[t], slots.start[t + 1]):
                    log_z = pair_scores(&slots, t, s, &belief[0, 0], &m[0, 0], &work[0])
                    out = &of_tables[slots.key[s] // 2, 0, 0]
                    for k in range(n * n):
                        out[k] += weight[u] * exp(work[k] - log_z)
        take_turn()


def remove_unsupported(
    GraphMessages messages,        # INOUT
):
    """Set the state scores of labels to -inf that no label of a linked token is compatible with.

    It is repeated until every label that is left has a compatible one at each link (Mackworth 1977).
    """
    cdef:
        Slots slots = messages.slots
        const int64_t[::1] offsets = messages.offsets
        double[:, ::1] state = messages.state
        int64_t n = slots.n, u, t, s, x, other
        bint has_changed, is_supported
    with nogil:
        give_turn()
        for u in range(offsets.shape[0] - 1):
            has_changed = True
            while has_changed:
                has_changed = False
                for t in range(offsets[u], offsets[u + 1]):
                    for s in range(slots.start[t], slots.start[t + 1]):
                        for x in range(n):
                            if state[t, x] == -INFINITY:
                                continue
                            is_supported = False
                            for other in range(n):
                                if (
                                    state[slots.neighbour[s], other] > -INFINITY
                                    and slot_score(&slots, s, x, other) > -INFINITY
                                ):
                                    is_supported = True
                                    break
                            if not is_supported:
                                state[t, x] = -INFINITY
                                has_changed = True
        take_turn()


def decode(
    GraphMessages messages,        # of max-product IN
    int64_t n_rounds,
    int32_t[::1] y,                # (n_tokens,) OUT
):
    """Labels of tokens, one after another.

    The first round gives a token its best label, given the labels of the tokens before it and the
    messages of the tokens after it; on a tree that is the best labelling, also if there are several
    (Kolmogorov 2006). Further rounds change labels as long as the score rises (iterated conditional
    modes, Besag 1986).
    """
    cdef:
        Slots slots = messages.slots
        const int64_t[::1] offsets = messages.offsets
        const double[:, ::1] state = messages.state, m = messages.m
        int64_t n = slots.n, u, t, s, x, k, best, other
        double[::1] work = np.empty(n)
        double factor
        bint has_changed
    with nogil:
        give_turn()
        for u in range(offsets.shape[0] - 1):
            for k in range(n_rounds):
                has_changed = k == 0
                for t in range(offsets[u], offsets[u + 1]):
                    for x in range(n):
                        work[x] = state[t, x]
                    for s in range(slots.start[t], slots.start[t + 1]):
                        factor = slots.share[s] if slots.share != NULL else 1.0
                        for x in range(n):
                            if k > 0 or s < slots.middle[t]:
                                other = y[slots.neighbour[s]]
                                work[x] += factor * slot_score(&slots, s, x, other)
                            else:
                                work[x] += factor * m[s, x]
                    best = 0 if k == 0 else y[t]
                    for x in range(n):
                        if work[x] > work[best]:
                            best = x
                    if k > 0 and best != y[t]:
                        has_changed = True
                    y[t] = <int32_t>best
                if not has_changed:
                    break
        take_turn()
