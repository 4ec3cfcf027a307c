# Sums, maxima and samples over all labellings of graphs, by the elimination of tokens.
#
# Tokens are eliminated one after another; step k eliminates the token v_k. The tokens that its links
# and the messages before it join it to are its separator S_k, all of which are eliminated later:
#
#     x_k(s, j) = state_k(j) + sum_links transition(j, s) + sum_triangles score(j, s)
#                 + sum_c m_c(s, j)                                 (c: the steps with parent k)
#     m_k(s)    = log sum_j exp x_k(s, j)                           (s: labels of S_k)
#
# The parent of k is the first step that eliminates a token of S_k; a step without a separator is a
# root, and log Z is the sum of m over the roots. (The cliques v_k, S_k form a junction tree: Lauritzen
# & Spiegelhalter 1988; Shafer & Shenoy 1990.) As p_k(j | s) = exp(x_k(s, j) - m_k(s)) is a conditional
# probability, the marginals on the way back are sums of products of probabilities,
#
#     p(s, j) = p(s) p_k(j | s),
#
# and nothing is divided or subtracted, so they are as exact as the messages.
#
# A message is a table over the labels of S_k in the order of decreasing steps, so that the label of
# the parent varies fastest. What is added up in x_k are its factors: rows of n_labels numbers whose
# place depends on the labels s. A factor is a part of one of four arrays: the scores of tokens, the
# tables of links, the tables of triangles, which are three tokens that are linked to each other, and
# messages. A layer consists of four such arrays, of values, of derivatives, or of derivatives in a
# direction.

cdef class JunctionMessages:
    """The junction trees of a batch of graphs, their scores, and room for the messages.

    offsets (n_units + 1,) are the steps of each unit; plan has the arrays of JunctionTrees, from
    token to corner; work_space (4 + most separators, most factors) is for the factors of a step;
    table (n_links,), of_triangle (n_triangles,) and message (n_steps,), see JunctionTrees; state
    (n_tokens, n_labels) with begin and end; tables (n_tables, n_labels, n_labels); triangles
    (n_tables, n_labels, n_labels, n_labels); m, the messages of all steps.
    """

    cdef:
        const int64_t[::1] offsets     # (n_units + 1,) steps of each unit
        JunctionTrees trees
        Factors factors                # work space for the factors of a step
        Layer value
        tuple arrays                   # what the fields above point to

    def __cinit__(
        self, offsets, plan, work_space, table, of_triangle, message, state, tables, triangles, m
    ):
        self.offsets = offsets
        self.arrays = *plan, table, of_triangle, message, work_space, state, tables, triangles, m
        self.trees = junction_trees_of(state.shape[1], plan, table, of_triangle, message)
        self.factors = factors_in(work_space)
        self.value = layer_of(state, tables, m, triangles)


cdef JunctionTrees junction_trees_of(int64_t n_labels, plan, table, of_triangle, message) except *:
    cdef:
        JunctionTrees trees
        const int64_t[:, ::1] corner
    token, start, place, separator, first_child, child, *others = plan
    first_link, link, axis, is_previous, first_triangle, triangle, corner = others
    trees.n = n_labels
    trees.token, trees.start = integers_at(token), integers_at(start)
    trees.place, trees.separator = integers_at(place), integers_at(separator)
    trees.first_child, trees.child = integers_at(first_child), integers_at(child)
    trees.first_link, trees.link = integers_at(first_link), integers_at(link)
    trees.axis, trees.is_previous = integers_at(axis), integers_at(is_previous)
    trees.first_triangle, trees.triangle = integers_at(first_triangle), integers_at(triangle)
    trees.corner = &corner[0, 0] if corner.shape[0] else NULL
    trees.table, trees.of_triangle = integers_at(table), integers_at(of_triangle)
    trees.message = integers_at(message)
    return trees


cdef Factors factors_in(int64_t[:, ::1] memory) noexcept:
    """Work space for the factors of any step."""
    cdef Factors factors
    factors.kind = &memory[0, 0]
    factors.inner = &memory[1, 0]
    factors.offset = &memory[2, 0]
    factors.label = &memory[3, 0]
    factors.stride = factors.label + memory.shape[1]
    return factors
