"""Sums, maxima and samples over all labellings of graphs, by the elimination of tokens.

Tokens are eliminated one after another; step k eliminates the token v_k. The tokens that its links
and the messages before it join it to are its separator S_k, all of which are eliminated later:

    x_k(s, j) = state_k(j) + sum_links transition(j, s) + sum_c m_c(s, j)    (c: the steps with parent k)
    m_k(s)    = log sum_j exp x_k(s, j)                                      (s: labels of S_k)

The parent of k is the first step that eliminates a token of S_k; a step without a separator is a
root, and log Z is the sum of m over the roots. (The cliques v_k, S_k form a junction tree: Lauritzen
& Spiegelhalter 1988; Shafer & Shenoy 1990.) As p_k(j | s) = exp(x_k(s, j) - m_k(s)) is a conditional
probability, the marginals on the way back are sums of products of probabilities,

    p(s, j) = p(s) p_k(j | s),

and nothing is divided or subtracted, so they are as exact as the messages.

A message is a table over the labels of S_k in the order of decreasing steps, so that the label of
the parent varies fastest. What is added up in x_k are its factors: rows of n_labels numbers whose
place depends on the labels s. A factor is a part of one of three arrays: the scores of tokens, the
tables of links, and messages. A layer consists of three such arrays, of values, of derivatives, or
of derivatives in a direction.
"""

import numpy as np

from libc.math cimport INFINITY, NAN, exp, isnan, log
from libc.stdint cimport int32_t, int64_t

from sklearn_crcrf._kernels._edges cimport maximum

cdef enum: TOKENS = 0, TABLES = 1, MESSAGES = 2


cdef struct Trees:
    # The plan of elimination; separators are given as steps
    int64_t n                      # labels
    const int64_t *token           # (n_steps,) what each step eliminates
    const int64_t *start           # (n_steps + 1,) first separator of each step
    const int64_t *place           # (n_separators,) which separator of the parent it is
    const int64_t *separator       # (n_separators,) the step that eliminates it
    const int64_t *first_child     # (n_steps + 1,)
    const int64_t *child           # (n_steps,) steps by their parent
    const int64_t *first_link      # (n_steps + 1,)
    const int64_t *link            # (n_links,) links by the first step that eliminates an end
    const int64_t *axis            # (n_links,) by link: which separator is the other end
    const int64_t *is_previous     # (n_links,) by link: whether the other end is the current one
    const int64_t *table           # (n_links,) by link
    const int64_t *message         # (n_steps,) where the message of each step begins


cdef struct Layer:
    double *part[3]                # by TOKENS, TABLES, MESSAGES


cdef struct Factors:
    # The factors of one step, at one assignment of labels to its separator
    int64_t count
    int64_t n_axes
    int64_t n_rows                 # assignments
    int64_t *kind                  # (count,)
    int64_t *inner                 # (count,) distance between the labels of the token
    int64_t *offset                # (count,) where the row begins
    int64_t *stride                # (count, n_axes) distance between labels of the separators
    int64_t *label                 # (n_axes,) the assignment


cdef const int64_t *address(const int64_t[::1] x):
    return &x[0] if x.shape[0] else NULL


cdef Trees trees_of(int64_t n_labels, plan, const int64_t[::1] table, const int64_t[::1] message):
    cdef:
        Trees trees
        const int64_t[::1] token, start, place, separator, first_child, child
        const int64_t[::1] first_link, link, axis, is_previous
    token, start, place, separator, first_child, child, first_link, link, axis, is_previous = plan
    trees.n = n_labels
    trees.token = address(token)
    trees.start = &start[0]
    trees.place = address(place)
    trees.separator = address(separator)
    trees.first_child = &first_child[0]
    trees.child = address(child)
    trees.first_link = &first_link[0]
    trees.link = address(link)
    trees.axis = address(axis)
    trees.is_previous = address(is_previous)
    trees.table = address(table)
    trees.message = address(message)
    return trees


cdef Layer layer_of(double[:, ::1] tokens, double[:, :, ::1] tables, double[::1] messages):
    cdef Layer layer
    layer.part[TOKENS] = &tokens[0, 0] if tokens.shape[0] else NULL
    layer.part[TABLES] = &tables[0, 0, 0]
    layer.part[MESSAGES] = &messages[0] if messages.shape[0] else NULL
    return layer


def factors_memory(plan):
    """Work space for the factors of any step."""
    n_axes, n_children, n_links = (np.diff(plan[i]).max(initial=0) for i in (1, 4, 6))
    return np.empty((4 + n_axes, 1 + max(n_axes, n_children + n_links)), dtype=np.int64)


cdef Factors factors_in(int64_t[:, ::1] memory):
    cdef Factors factors
    factors.kind = &memory[0, 0]
    factors.inner = &memory[1, 0]
    factors.offset = &memory[2, 0]
    factors.label = &memory[3, 0]
    factors.stride = factors.label + memory.shape[1]
    return factors


cdef int64_t *add_factor(
    Factors *factors, int64_t kind, int64_t offset, int64_t inner
) noexcept nogil:
    """Add a factor; returns its strides, all zero."""
    cdef int64_t f = factors.count, a
    cdef int64_t *stride = factors.stride + f * factors.n_axes
    factors.kind[f] = kind
    factors.offset[f] = offset
    factors.inner[f] = inner
    for a in range(factors.n_axes):
        stride[a] = 0
    factors.count += 1
    return stride


cdef void set_factors(const Trees *trees, int64_t k, Factors *factors) noexcept nogil:
    """The factors of step k, where all separators have label 0."""
    cdef:
        int64_t n = trees.n, a, c, i, link, step
        int64_t *stride
    factors.count = 0
    factors.n_axes = trees.start[k + 1] - trees.start[k]
    factors.n_rows = 1
    for a in range(factors.n_axes):
        factors.n_rows *= n
        factors.label[a] = 0
    add_factor(factors, TOKENS, trees.token[k] * n, 1)
    for i in range(trees.first_link[k], trees.first_link[k + 1]):
        link = trees.link[i]
        stride = add_factor(
            factors, TABLES, trees.table[link] * n * n, n if trees.is_previous[link] else 1
        )
        stride[trees.axis[link]] = 1 if trees.is_previous[link] else n
    for i in range(trees.first_child[k], trees.first_child[k + 1]):
        c = trees.child[i]
        stride = add_factor(factors, MESSAGES, trees.message[c], 1)
        step = n
        for a in range(trees.start[c + 1] - 2, trees.start[c] - 1, -1):
            stride[trees.place[a]] = step
            step *= n


cdef inline void next_row(const Trees *trees, Factors *factors) noexcept nogil:
    """Go on to the next assignment of labels; the last separator varies fastest."""
    cdef:
        int64_t a = factors.n_axes - 1, f, back = trees.n - 1
    while a >= 0 and factors.label[a] == back:
        factors.label[a] = 0
        for f in range(factors.count):
            factors.offset[f] -= back * factors.stride[f * factors.n_axes + a]
        a -= 1
    if a >= 0:
        factors.label[a] += 1
        for f in range(factors.count):
            factors.offset[f] += factors.stride[f * factors.n_axes + a]


cdef inline void read_row(
    const Trees *trees, const Factors *factors, const Layer *layer, double *x
) noexcept nogil:
    """The sum of the rows of all factors."""
    cdef:
        int64_t f, j, inner
        const double *row
    for j in range(trees.n):
        x[j] = 0.0
    for f in range(factors.count):
        row = layer.part[factors.kind[f]] + factors.offset[f]
        inner = factors.inner[f]
        for j in range(trees.n):
            x[j] += row[j * inner]


cdef inline void add_to_row(
    const Trees *trees, const Factors *factors, const Layer *layer, const double *x
) noexcept nogil:
    """Add to the rows of all factors."""
    cdef:
        int64_t f, j, inner
        double *row
    for f in range(factors.count):
        row = layer.part[factors.kind[f]] + factors.offset[f]
        inner = factors.inner[f]
        for j in range(trees.n):
            row[j * inner] += x[j]


cdef inline double log_sum(const double *x, int64_t n) noexcept nogil:
    """log sum_j exp(x_j); NaN if a score is NaN or inf."""
    cdef:
        int64_t j
        double top = maximum(x, n), total = 0.0
    if top == -INFINITY:
        for j in range(n):
            if isnan(x[j]):
                return NAN
        return top
    for j in range(n):
        total += exp(x[j] - top)
    return top + log(total)


cdef inline void probabilities(double *x, int64_t n, double total) noexcept nogil:
    """x = exp(x - total)"""
    cdef int64_t j
    for j in range(n):
        x[j] = exp(x[j] - total)


cdef inline int64_t at_labels(
    const Trees *trees, int64_t k, const int32_t *y, Factors *factors
) noexcept nogil:
    """Set the factors of step k to the labels that its separators have; returns the row."""
    cdef int64_t a, f, label, row = 0
    set_factors(trees, k, factors)
    for a in range(factors.n_axes):
        label = y[trees.token[trees.separator[trees.start[k] + a]]]
        row = row * trees.n + label
        for f in range(factors.count):
            factors.offset[f] += label * factors.stride[f * factors.n_axes + a]
    return row


def sum_over_trees(
    plan,                          # arrays of Trees, from ``token`` to ``is_previous``
    const int64_t[::1] offsets,    # (n_units + 1,) steps of each unit IN
    const int64_t[::1] table,      # (n_links,) IN
    const int64_t[::1] message,    # (n_steps,) IN
    double[:, ::1] state,          # (n_tokens, n_labels) with begin and end IN
    double[:, :, ::1] tables,      # (n_tables, n_labels, n_labels) IN
    double[::1] m,                 # messages OUT
    double[::1] log_z,             # (n_units,) OUT, -inf where no labelling is possible
):
    """The messages of all steps, and the log-partitions."""
    cdef:
        int64_t n = state.shape[1], u, k, r
        int64_t[:, ::1] memory = factors_memory(plan)
        Trees trees = trees_of(n, plan, table, message)
        Factors factors = factors_in(memory)
        Layer value = layer_of(state, tables, m)
        double[::1] work = np.empty(n)
        double *x = &work[0]
        double *out
    with nogil:
        for u in range(offsets.shape[0] - 1):
            log_z[u] = 0.0
            for k in range(offsets[u], offsets[u + 1]):
                set_factors(&trees, k, &factors)
                out = value.part[MESSAGES] + trees.message[k]
                for r in range(factors.n_rows):
                    read_row(&trees, &factors, &value, x)
                    out[r] = log_sum(x, n)
                    next_row(&trees, &factors)
                if factors.n_axes == 0:
                    log_z[u] += out[0]


def add_expected_uses(
    plan,
    const int64_t[::1] offsets,    # (n_units + 1,) IN
    const int64_t[::1] table,      # (n_links,) IN
    const int64_t[::1] message,    # (n_steps,) IN
    double[:, ::1] state,          # (n_tokens, n_labels) IN
    double[:, :, ::1] tables,      # (n_tables, n_labels, n_labels) IN
    double[::1] m,                 # messages IN
    const double[::1] log_z,       # (n_units,) IN
    const double[::1] weight,      # (n_units,) IN
    double[:, ::1] of_state,       # (n_tokens, n_labels) INOUT
    double[:, :, ::1] of_tables,   # (n_tables, n_labels, n_labels) INOUT
    double[::1] p,                 # (n_messages,) zeros; p(s) times the weight OUT
    double[::1] entropy,           # (n_units,) times the weight OUT
):
    """Add the expected number of uses of each score, times the weight of each unit."""
    cdef:
        int64_t n = state.shape[1], u, k, r, j
        int64_t[:, ::1] memory = factors_memory(plan)
        Trees trees = trees_of(n, plan, table, message)
        Factors factors = factors_in(memory)
        Layer value = layer_of(state, tables, m), gradient = layer_of(of_state, of_tables, p)
        double[::1] work = np.empty((2 * n))
        double *x = &work[0]
        double *q = x + n
        double *below
        const double *total
    with nogil:
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


def add_tree_covariances(
    plan,
    const int64_t[::1] offsets,    # (n_units + 1,) IN
    const int64_t[::1] table,      # (n_links,) IN
    const int64_t[::1] message,    # (n_steps,) IN
    double[:, ::1] state,          # (n_tokens, n_labels) IN
    double[:, :, ::1] tables,      # (n_tables, n_labels, n_labels) IN
    double[::1] m,                 # messages IN
    const double[::1] log_z,       # (n_units,) IN
    double[:, ::1] along_state,    # (n_tokens, n_labels) direction, with begin and end IN
    double[:, :, ::1] along_tables,  # (n_tables, n_labels, n_labels) direction IN
    double[::1] along_m,           # (n_messages,) OUT
    double[::1] mean,              # (n_units,) of the linear function OUT, NaN if not possible
    const double[::1] weight,      # (n_units,) IN
    double[:, ::1] of_state,       # (n_tokens, n_labels) INOUT
    double[:, :, ::1] of_tables,   # (n_tables, n_labels, n_labels) INOUT
):
    """Add the derivatives of the expected uses in a direction, times the weight of each unit.

    With a dot for derivatives in the direction,

        m'_k(s)     = sum_j p_k(j | s) x'_k(s, j)
        p'(s, j)    = p'(s) p_k(j | s) + p(s) p_k(j | s) (x'_k(s, j) - m'_k(s)).
    """
    cdef:
        int64_t n = state.shape[1], u, k, r, j
        int64_t[:, ::1] memory = factors_memory(plan)
        Trees trees = trees_of(n, plan, table, message)
        Factors factors = factors_in(memory)
        double[::1] p = np.zeros_like(m), along_p = np.zeros_like(m), work = np.empty(4 * n)
        double[:, ::1] no_state = np.zeros_like(state)
        double[:, :, ::1] no_tables = np.zeros_like(tables)
        Layer value = layer_of(state, tables, m)
        Layer along = layer_of(along_state, along_tables, along_m)
        Layer gradient = layer_of(no_state, no_tables, p)
        Layer out = layer_of(of_state, of_tables, along_p)
        double *x = &work[0]
        double *dx = x + n
        double *q = x + 2 * n
        double *dq = x + 3 * n
        const double *total
        double *dtotal
        double *below
        double *dbelow
    with nogil:
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


def maximise_over_trees(
    plan,
    const int64_t[::1] offsets,    # (n_units + 1,) IN
    const int64_t[::1] table,      # (n_links,) IN
    const int64_t[::1] message,    # (n_steps,) IN
    double[:, ::1] state,          # (n_tokens, n_labels) with begin and end IN
    double[:, :, ::1] tables,      # (n_tables, n_labels, n_labels) IN
    double[::1] m,                 # messages OUT
    double[::1] value,             # (n_units,) OUT, -inf where no labelling is possible
    int32_t[::1] y,                # (n_tokens,) OUT
):
    """The best labellings: m_k(s) = max_j x_k(s, j). Of ties, the lowest label."""
    cdef:
        int64_t n = state.shape[1], u, k, r, j
        int64_t[:, ::1] memory = factors_memory(plan)
        Trees trees = trees_of(n, plan, table, message)
        Factors factors = factors_in(memory)
        Layer layer = layer_of(state, tables, m)
        double[::1] work = np.empty(n)
        double *x = &work[0]
        double *out
    with nogil:
        for u in range(offsets.shape[0] - 1):
            value[u] = 0.0
            for k in range(offsets[u], offsets[u + 1]):
                set_factors(&trees, k, &factors)
                out = layer.part[MESSAGES] + trees.message[k]
                for r in range(factors.n_rows):
                    read_row(&trees, &factors, &layer, x)
                    out[r] = maximum(x, n)
                    next_row(&trees, &factors)
                if factors.n_axes == 0:
                    value[u] += out[0]
            for k in range(offsets[u + 1] - 1, offsets[u] - 1, -1):
                at_labels(&trees, k, &y[0], &factors)
                read_row(&trees, &factors, &layer, x)
                y[trees.token[k]] = 0
                for j in range(1, n):
                    if x[j] > x[y[trees.token[k]]]:
                        y[trees.token[k]] = <int32_t>j


def sample_from_trees(
    plan,
    const int64_t[::1] offsets,    # (n_units + 1,) IN
    const int64_t[::1] table,      # (n_links,) IN
    const int64_t[::1] message,    # (n_steps,) IN
    double[:, ::1] state,          # (n_tokens, n_labels) IN
    double[:, :, ::1] tables,      # (n_tables, n_labels, n_labels) IN
    double[::1] m,                 # messages IN
    const double[:, ::1] uniform,  # (n_samples, n_tokens) random numbers from 0 to 1 IN
    int32_t[:, ::1] y,             # (n_samples, n_tokens) OUT
):
    """Draw labellings: the label of the last step first, then the others given it."""
    cdef:
        int64_t n = state.shape[1], i, k, j, row
        int64_t[:, ::1] memory = factors_memory(plan)
        Trees trees = trees_of(n, plan, table, message)
        Factors factors = factors_in(memory)
        Layer value = layer_of(state, tables, m)
        double[::1] work = np.empty(n)
        double left
        double *x = &work[0]
    with nogil:
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
