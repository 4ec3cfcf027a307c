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

from libc.math cimport exp
from libc.stdint cimport int32_t, int64_t

cdef enum: TOKENS = 0, TABLES = 1, MESSAGES = 2


cdef struct JunctionTrees:
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


cdef inline const int64_t *address(const int64_t[::1] x) noexcept:
    return &x[0] if x.shape[0] else NULL


cdef inline JunctionTrees junction_trees_of(
    int64_t n_labels, plan, const int64_t[::1] table, const int64_t[::1] message
) except *:
    cdef:
        JunctionTrees trees
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


cdef inline Layer layer_of(
    double[:, ::1] tokens, double[:, :, ::1] tables, double[::1] messages
) noexcept:
    cdef Layer layer
    layer.part[TOKENS] = &tokens[0, 0] if tokens.shape[0] else NULL
    layer.part[TABLES] = &tables[0, 0, 0]
    layer.part[MESSAGES] = &messages[0] if messages.shape[0] else NULL
    return layer


cdef inline Factors factors_in(int64_t[:, ::1] memory) noexcept:
    """Work space for the factors of any step."""
    cdef Factors factors
    factors.kind = &memory[0, 0]
    factors.inner = &memory[1, 0]
    factors.offset = &memory[2, 0]
    factors.label = &memory[3, 0]
    factors.stride = factors.label + memory.shape[1]
    return factors


cdef inline int64_t *add_factor(
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


cdef inline void set_factors(const JunctionTrees *trees, int64_t k, Factors *factors) noexcept nogil:
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


cdef inline void next_row(const JunctionTrees *trees, Factors *factors) noexcept nogil:
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
    const JunctionTrees *trees, const Factors *factors, const Layer *layer, double *x
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
    const JunctionTrees *trees, const Factors *factors, const Layer *layer, const double *x
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


cdef inline void probabilities(double *x, int64_t n, double total) noexcept nogil:
    """x = exp(x - total)"""
    cdef int64_t j
    for j in range(n):
        x[j] = exp(x[j] - total)


cdef inline int64_t at_labels(
    const JunctionTrees *trees, int64_t k, const int32_t *y, Factors *factors
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
