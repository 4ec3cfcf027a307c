# The factors of the steps of eliminations, and the messages; see graph/junction_messages.pxi.

cdef enum: TOKENS = 0, TABLES = 1, MESSAGES = 2, TRIANGLES = 3


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
    const int64_t *first_triangle  # (n_steps + 1,)
    const int64_t *triangle        # (n_triangles,) by the first step that eliminates a token of it
    const int64_t *corner          # (n_triangles, 3) by triangle: which separator, -1 for that token
    const int64_t *table           # (n_links,) by link
    const int64_t *of_triangle     # (n_triangles,) by triangle: its table
    const int64_t *message         # (n_steps,) where the message of each step begins


cdef struct Layer:
    double *part[4]                # by TOKENS, TABLES, MESSAGES, TRIANGLES


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


cdef inline Layer layer_of(
    double[:, ::1] tokens, double[:, :, ::1] tables, double[::1] messages,
    double[:, :, :, ::1] triangles,
) noexcept:
    cdef Layer layer
    layer.part[TOKENS] = &tokens[0, 0] if tokens.shape[0] else NULL
    layer.part[TABLES] = &tables[0, 0, 0]
    layer.part[MESSAGES] = &messages[0] if messages.shape[0] else NULL
    layer.part[TRIANGLES] = &triangles[0, 0, 0, 0] if triangles.shape[0] else NULL
    return layer


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
        int64_t n = trees.n, a, c, i, link, step, t
        int64_t *stride
        const int64_t *corner
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
    for i in range(trees.first_triangle[k], trees.first_triangle[k + 1]):
        t = trees.triangle[i]
        stride = add_factor(factors, TRIANGLES, trees.of_triangle[t] * n * n * n, 1)
        corner = trees.corner + 3 * t
        step = n * n
        for a in range(3):
            if corner[a] < 0:
                factors.inner[factors.count - 1] = step
            else:
                stride[corner[a]] = step
            step //= n
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


cdef inline double send_messages(
    const JunctionTrees *trees, Factors *factors, const Layer *layer, int64_t first, int64_t stop,
    bint is_max,                   # whether messages are maxima instead of sums
    double *x,                     # (n_labels,) work space
) noexcept nogil:
    """The messages of all steps of a unit; returns the sum of the messages of the roots."""
    cdef:
        int64_t k, r
        double total = 0.0
        double *out
    for k in range(first, stop):
        set_factors(trees, k, factors)
        out = layer.part[MESSAGES] + trees.message[k]
        for r in range(factors.n_rows):
            read_row(trees, factors, layer, x)
            out[r] = maximum(x, trees.n) if is_max else log_of_sum(x, trees.n)
            next_row(trees, factors)
        if factors.n_axes == 0:
            total += out[0]
    return total


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
