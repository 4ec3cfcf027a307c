"""Messages between linked tokens, by (tree-reweighted) belief propagation. With r the appearance
probability of a link, 1 in ordinary propagation,

    b_i(x)   = state_i(x) + sum_k r_ki m_ki(x)                        (k: the tokens linked to i)
    m_ij(x') = log sum_x exp(b_i(x) - m_ji(x) + transition_ij(x, x') / r_ij) - constant

(Pearl 1988; Wainwright, Jaakkola & Willsky 2005), and the same with a maximum in place of the sum.
The constant is such that the largest number of a message is 0. With damping d, a message becomes
(1 - d) times the new message plus d times the old one.

Tokens are in an order in which every token but the first of a component is linked to an earlier
one. An iteration goes through this order backwards, with messages to earlier tokens, and then
forwards, with messages to later tokens; so on a tree, one iteration finds all messages. A token
with one possible label sends its messages once, and receives none.

A token has a slot for each of its links: the message that comes in. See graph/order.pxi.
"""

import numpy as np

from libc.math cimport INFINITY, exp, fabs, log
from libc.stdint cimport int64_t, uint8_t

from sklearn_crcrf._kernels.graph.messages cimport GraphMessages, Slots
from sklearn_crcrf._kernels.machine cimport give_turn, take_turn
from sklearn_crcrf._kernels.maxima cimport add_all_maxima
from sklearn_crcrf._kernels.vectors cimport (
    add_row, exponentials, flush_denormals, pack, padded_d, prefetch, product,
    restore_denormals,
)

cdef extern from "graph/logarithms.h" nogil:
    void logarithms(double *x, int64_t size)

# Number of messages that are sent together.
cdef enum: STRIP = 16
# Sums of potentials below this are computed again in logarithms.
cdef double UNDERFLOW = 1e-280


cdef struct Sweep:
    int64_t n                      # labels
    int64_t width                  # of a row of work space, padded
    bint is_max
    double damping
    const int64_t *start           # (n_tokens + 1,) first slot of each token
    const int64_t *neighbour       # (n_slots,) token that the message comes from
    const int64_t *reverse         # (n_slots,) slot of the message in the other direction
    const int64_t *key             # (n_slots,) potentials of the message that is sent back
    const double *share            # (n_slots,) appearance probability, or NULL for 1
    const double *state            # (n_tokens, n)
    const uint8_t *is_fixed        # (n_tokens,) whether one label is possible
    const double *table            # (n_tables, n, n) scores; keys 2t and 2t + 1 are of table t
    const double *potential        # (n_keys, n * width) packed
    double *m                      # (n_slots, n) messages
    double *belief                 # (width,) work space
    double *block                  # (STRIP, width) work space
    double *sent                   # (STRIP, width) work space


def packed_tables(double[:, :, ::1] tables, bint is_max):
    """The potentials of both directions of links with these scores, as ``propagate`` needs them.

    Returns
    -------
    potentials : ndarray of shape (2 * n_tables, n_labels * width)
        2t is from the previous label to the current one in table t, 2t + 1 is back.
    """
    cdef int64_t n = tables.shape[1], t
    scores = np.asarray(tables)
    if is_max:
        rows = np.full((2 * len(scores), n, padded_d(n)), -np.inf)
        rows[::2, :, :n], rows[1::2, :, :n] = scores, scores.transpose(0, 2, 1)
        return rows.reshape(len(rows), -1)
    top = scores.max(axis=(1, 2), keepdims=True)
    cdef double[:, :, ::1] powers = np.exp(scores - np.where(top > -np.inf, top, 0.0))
    cdef double[:, ::1] packed = np.empty((2 * len(scores), n * padded_d(n)))
    for t in range(powers.shape[0]):
        pack(&powers[t, 0, 0], n, n, 1, &packed[2 * t, 0])
        pack(&powers[t, 0, 0], n, 1, n, &packed[2 * t + 1, 0])
    return np.asarray(packed)


cdef inline double link_score(const Sweep *w, int64_t key, int64_t x, int64_t to) noexcept nogil:
    """The score of a label of the sender and one of the receiver."""
    cdef const double *table = w.table + key // 2 * w.n * w.n
    return table[to * w.n + x] if key % 2 else table[x * w.n + to]


cdef void sum_in_logarithms(const Sweep *w, int64_t slot, double *out) noexcept nogil:
    """The message back through a slot; -inf for a label that no label is compatible with."""
    cdef:
        int64_t x, to, n = w.n
        const double *m = w.m + slot * n
        double top, total
    for to in range(n):
        top, total = -INFINITY, 0.0
        for x in range(n):
            top = max(top, w.belief[x] - m[x] + link_score(w, w.key[slot], x, to))
        if top > -INFINITY:
            for x in range(n):
                total += exp(w.belief[x] - m[x] + link_score(w, w.key[slot], x, to) - top)
            top += log(total)
        out[to] = top


cdef double write_message(const Sweep *w, int64_t slot, double damping, double *new) noexcept nogil:
    """Write the message back through a slot, and return by how much it changes."""
    cdef:
        int64_t x
        double *m = w.m + w.reverse[slot] * w.n
        double top = -INFINITY, change = 0.0, x_new
    for x in range(w.n):
        top = new[x] if new[x] > top else top
    for x in range(w.n):
        # A label without a compatible one is impossible, so its message does not matter.
        x_new = new[x] - top if new[x] > -INFINITY else 0.0
        change = max(change, fabs(x_new - m[x]))
        m[x] = x_new + damping * (m[x] - x_new)
    return change


cdef double send_strip(
    const Sweep *w, const int64_t *slot, int64_t count, double damping
) noexcept nogil:
    """Send messages back through slots with the same key; returns the largest change."""
    cdef:
        int64_t r, x, n = w.n, width = w.width, key = w.key[slot[0]]
        double top, least, change = 0.0
        const double *m
        const double *potential = w.potential + key * n * width
        double *row
        bint[STRIP] is_tiny
    for r in range(count):
        for x in range(0, n, 8):
            prefetch(w.m + w.reverse[slot[r]] * n + x)
    for r in range(count):
        m, row, top = w.m + slot[r] * n, w.block + r * width, -INFINITY
        for x in range(n):
            row[x] = w.belief[x] - m[x]
            top = row[x] if row[x] > top else top
        for x in range(n):
            row[x] -= top
    if w.is_max:
        for x in range(count * width):
            w.sent[x] = 0.0
        add_all_maxima(w.block, count, potential, n, width, w.sent)
    else:
        exponentials(w.block, count * width)
        product(w.block, count, potential, n, width, w.sent)
        for r in range(count):
            row, least = w.sent + r * width, INFINITY
            for x in range(n):
                least = row[x] if row[x] < least else least
            is_tiny[r] = not least > UNDERFLOW
        logarithms(w.sent, count * width)
        for r in range(count):
            if is_tiny[r]:
                sum_in_logarithms(w, slot[r], w.sent + r * width)
    for r in range(count):
        change = max(change, write_message(w, slot[r], damping, w.sent + r * width))
    return change


cdef double visit(
    const Sweep *w, int64_t token, int64_t first, int64_t last, bint is_first
) noexcept nogil:
    """Send the messages of a token back through some of its slots; returns the largest change."""
    cdef:
        int64_t s, count = 0, n = w.n
        double change = 0.0, damping = w.damping
        int64_t[STRIP] slot
    if w.is_fixed[token]:
        if not is_first:
            return 0.0
        damping = 0.0
    if first == last:
        return 0.0
    for s in range(n):
        w.belief[s] = w.state[token * n + s]
    for s in range(w.start[token], w.start[token + 1]):
        add_row(w.share[s] if w.share != NULL else 1.0, w.m + s * n, n, w.belief)
    for s in range(first, last):
        if w.is_fixed[w.neighbour[s]]:
            continue
        if count == STRIP or (count > 0 and w.key[s] != w.key[slot[0]]):
            change = max(change, send_strip(w, slot, count, damping))
            count = 0
        slot[count] = s
        count += 1
    if count > 0:
        change = max(change, send_strip(w, slot, count, damping))
    return change


def propagate(
    GraphMessages messages,        # INOUT, no label without a compatible one
    const int64_t[::1] units,      # the units whose messages are sent IN
    const uint8_t[::1] is_fixed,   # (n_tokens,) whether one label is possible IN
    const double[:, ::1] potentials,  # (2 * n_tables, n_labels * width) packed IN
    bint is_max,
    const double[::1] damping,     # (n_units,) IN
    double tol,
    int64_t n_more,                # largest number of iterations in this call
    int64_t[::1] n_iter,           # (n_units,) iterations so far INOUT
    double[::1] residual,          # (n_units,) largest change in the last iteration OUT
):
    """Iterate over the messages of some units, each until no message changes by more than ``tol``."""
    cdef:
        Slots slots = messages.slots
        const int64_t[::1] offsets = messages.offsets
        int64_t n = slots.n, width = padded_d(n), i, u, t, more
        double[:, ::1] work = np.zeros((2 * STRIP + 1, width))
        Sweep w
        unsigned mode
    if units.shape[0] == 0:
        return
    w.n, w.width, w.is_max = n, width, is_max
    w.start, w.neighbour, w.reverse, w.key = slots.start, slots.neighbour, slots.reverse, slots.key
    w.state, w.is_fixed, w.share = &messages.state[0, 0], &is_fixed[0], slots.share
    w.table, w.potential, w.m = slots.table, &potentials[0, 0], &messages.m[0, 0]
    w.belief, w.block, w.sent = &work[0, 0], &work[1, 0], &work[1 + STRIP, 0]
    with nogil:
        give_turn()
        mode = flush_denormals()
        for i in range(units.shape[0]):
            u = units[i]
            w.damping = damping[u]
            for more in range(n_more):
                residual[u] = 0.0
                for t in range(offsets[u + 1] - 1, offsets[u] - 1, -1):
                    residual[u] = max(
                        residual[u], visit(&w, t, slots.start[t], slots.middle[t], n_iter[u] == 0)
                    )
                for t in range(offsets[u], offsets[u + 1]):
                    residual[u] = max(
                        residual[u], visit(&w, t, slots.middle[t], slots.start[t + 1], n_iter[u] == 0)
                    )
                n_iter[u] += 1
                if residual[u] <= tol:
                    break
        restore_denormals(mode)
        take_turn()
