# The scores of one unit and its best labelling, under weights that change with each unit.
#
# The links of a unit make a forest, such as a chain or a tree. A labelling y scores
#
#     sum_t x_t @ state[:, y_t] + sum_t z_t @ pairs[:, y_t, y_p(t)]
#
# for the attributes x of tokens and z of links, where the link into token t leads from token p(t).
# The first attribute of a link is always 1; if there are no others, all links have the same
# transition scores. To find the best labelling, each token sends a message to one token that it is
# linked to, after it has got all messages to itself:
#
#     delta_t(j) = score_t(j) + sum_s max_i delta_s(i) + transition_s(i, j)    (s: all that send to t)
#
# where transition_s are the scores of the link between s and t. A token that sends to no other one
# takes the best label of its delta; then each token takes the best label, given the label of the
# token that it sends to. In a chain messages go to the next token, in a tree to the parent. Labels
# that cannot win are ruled out as in chain/viterbi.pxi.

from libc.math cimport isfinite
from libc.string cimport memcmp, memcpy, memset

from sklearn_crcrf._kernels.vectors cimport add_row, add_sum


cdef struct LinkAttributes:
    # Attributes of links, rows of a CSR matrix, and their weights
    const int64_t *indptr
    const int32_t *indices
    const double *values
    double *weights                # (n_attributes, n * n), column = n * label + previous label
    const double *forbidden        # (n * n,) 0, or -inf for what is impossible


cdef class Search:
    """Work space for a unit.

    offsets (n_units + 1,). In the tuple order each token has, as positions within its unit: order
    (n_tokens,), in which tokens send messages; to (n_tokens,), the token that it sends to, -1 for
    none; previous (n_tokens,), the token that the link into it leads from, -1 for none; and is_last
    (n_tokens,), int8, whether no link leads from it. Its last entry says whether to is previous.

    The tuple forbidden has begin (n,), end (n,) and transition (n, n), row = label, which are added
    to scores: 0 or -inf. links, arrays of a CSR matrix, are the attributes of the link into each
    token, and weights (n_attributes, n * n) may change between searches.

    Links with the same attributes share a table of transition scores: row (n_tokens,) is the table
    of the link into each token; tables, arrays of a CSR matrix, are the attributes of each table.
    If there are no tables, the scores of each link are computed when it is searched.
    """

    cdef:
        const int64_t[::1] offsets, order, to, previous, row
        const int8_t[::1] is_last
        bint upwards
        bint is_chain                  # units are chains, and all links have the same scores
        const double[::1] begin, end
        const int64_t[::1] link_indptr
        int64_t n_tables, n_attributes   # of tables, and of links
        LinkAttributes links, tables
        Step *steps                    # (n_tables,), or one for all links
        # For each step n rows of the labels that send, then n rows of the labels that are sent to
        double[:, ::1] transitions     # (n_steps * 2 * n, width)
        double[:, ::1] scores, delta   # (longest, width) of the tokens, with begin and end
        bint has_changed               # whether tables have changed since the last search
        list kept                      # the memory that pointers point to

    def __init__(self, offsets, order, forbidden, links, row, tables, weights):
        begin, end, transition = forbidden
        cdef int64_t n = len(begin), longest = np.max(np.diff(offsets), initial=1), i, j
        self.offsets, self.begin, self.end = offsets, begin, end
        self.order, self.to, self.previous, self.is_last, self.upwards = order
        self.row, self.link_indptr = row, links[0]
        self.n_tables, self.n_attributes = len(tables[0]) - 1, len(weights)
        self.scores, self.delta = (rows_of(longest, padded_d(n), np.nan) for _ in range(2))
        self.is_chain = self.n_tables == 1 and are_chains(offsets, self.is_last, self.upwards)
        self.kept = make_steps(self, n, longest if self.is_chain else 1)
        self.kept += use_attributes(&self.links, links, weights, transition)
        self.kept += use_attributes(&self.tables, tables, weights, transition)
        for i in range(n):
            for j in range(n):
                read_transition(self, i, j)


cdef list use_attributes(
    LinkAttributes *links, arrays, double[:, ::1] weights, const double[:, ::1] forbidden
):
    cdef:
        const int64_t[::1] indptr
        const int32_t[::1] indices
        const double[::1] values
    indptr, indices, values = arrays
    links.indptr = &indptr[0]
    links.indices = &indices[0] if indices.shape[0] else NULL
    links.values = &values[0] if values.shape[0] else NULL
    links.weights = &weights[0, 0]
    links.forbidden = &forbidden[0, 0]
    return [indptr, indices, values, weights, forbidden]


def are_chains(offsets, is_last, upwards):
    """Whether each token sends its message to the next one; unless upwards, none sends elsewhere."""
    return not upwards and np.count_nonzero(is_last) == np.count_nonzero(np.diff(offsets))


cdef list make_steps(Search search, int64_t n, int64_t longest):
    cdef:
        int64_t n_steps = max(search.n_tables, <int64_t>1), i
        int8_t[::1] memory = np.zeros(n_steps * sizeof(Step), dtype=np.int8)
        list kept = [memory]
    search.transitions = rows_of(n_steps * 2 * n, padded_d(n))
    search.steps = <Step *>&memory[0]
    for i in range(n_steps):
        search.steps[i].transition = &search.transitions[2 * i * n, 0]
        search.steps[i].transposed = &search.transitions[(2 * i + 1) * n, 0]
        kept += make_work_space(&search.steps[i], n, longest)
    return kept


cdef double transition_score(
    const LinkAttributes *links, int64_t row, int64_t n, int64_t previous, int64_t label
) noexcept nogil:
    """The score of a transition at a link with the attributes of a row."""
    cdef:
        int64_t place = label * n + previous, k
        double score = links.forbidden[place]
    for k in range(links.indptr[row], links.indptr[row + 1]):
        score += links.values[k] * links.weights[links.indices[k] * n * n + place]
    return score


cdef void read_transition(Search search, int64_t previous, int64_t label) noexcept nogil:
    """Compute the score of a transition, whose weights have changed, in all tables."""
    cdef:
        int64_t n = search.steps.n, i
        int64_t sender = label if search.upwards else previous
        int64_t receiver = previous if search.upwards else label
        double score
    for i in range(search.n_tables):
        score = transition_score(&search.tables, i, n, previous, label)
        search.transitions[2 * i * n + sender, receiver] = score
        search.transitions[(2 * i + 1) * n + receiver, sender] = score
    search.has_changed = True


cdef inline int64_t previous_of(Search search, int64_t first, int64_t t) noexcept nogil:
    """The token that the link into token t leads from, -1 for none."""
    # Units come in any order: each array that is not read saves a cache miss.
    return t - 1 if search.is_chain else search.previous[first + t]


cdef real[:, ::1] rows_for(Search search, const real[:, ::1] state):
    """Work space of read_scores."""
    return np.zeros((1 + search.scores.shape[0], state.shape[1]), dtype=np.asarray(state).dtype)


cdef bint read_scores(
    Search search, int64_t u,
    const int64_t[::1] indptr,     # attributes of tokens, CSR (n_tokens, n_attributes) IN
    const int32_t[::1] indices, const real[::1] values,
    const real[:, ::1] state,      # (n_attributes, n) weights IN
    real[:, ::1] rows,             # (1 + longest, n), first a row of zeros, then work space
) noexcept nogil:
    """Compute the scores of the tokens of unit u; return whether all without ends are finite."""
    cdef:
        int64_t first = search.offsets[u], length = search.offsets[u + 1] - first
        int64_t t, j, start, stop, end = indptr[first + length], n = rows.shape[1]
        vector_d total = splat_d(0)
        double *scores
        bint is_last
    for t in range(length):
        start, stop = indptr[first + t], indptr[first + t + 1]
        if start < stop:
            add_sum(
                &indices[start], &values[start], stop - start, end - stop, &state[0, 0],
                n, &rows[0, 0], &rows[1 + t, 0],
            )
        else:
            memset(&rows[1 + t, 0], 0, n * sizeof(real))
    # Not in the same loop: a row that has just been written by several vectors is slow to read.
    for t in range(length):
        scores = &search.scores[t, 0]
        copy_scores(&rows[1 + t, 0], n, scores, &total)
        if previous_of(search, first, t) < 0:
            for j in range(n):
                scores[j] += search.begin[j]
        is_last = t + 1 == length
        if not search.is_chain:
            is_last = search.is_last[first + t]
        if is_last:
            for j in range(n):
                scores[j] += search.end[j]
    return is_finite(total)


cdef void find_best(
    Search search, int64_t u,
    const int32_t *gold,           # (length,) IN
    double cost,                   # added to each label that is not gold
    int32_t *labels,               # (length,) OUT
) noexcept nogil:
    """The labelling with the best score plus cost, of the unit whose scores were read last."""
    cdef:
        int64_t first = search.offsets[u], length = search.offsets[u + 1] - first, i, t
        Team team
    memcpy(&search.delta[0, 0], &search.scores[0, 0], length * search.steps.width * sizeof(double))
    if cost != 0:
        for t in range(length):
            search.delta[t, gold[t]] -= cost
    if search.has_changed:
        for i in range(search.n_tables):
            memset(search.steps[i].has_gains, 0, search.steps.n)
        search.has_changed = False
    if search.is_chain:
        team.size = team.ways = 1
        team.first[0], team.length[0] = 0, length
        max_forward(search.steps, &team, &search.delta[0, 0])
        trace_back(search.steps, &team, &search.delta[0, 0], labels)
        return
    for i in range(length):
        send_message(search, first, search.order[first + i])
    for i in range(length - 1, -1, -1):
        t = search.order[first + i]
        labels[t] = <int32_t>best_label(search, first, t, labels)


cdef inline int64_t link_of(Search search, int64_t first, int64_t t) noexcept nogil:
    """The token whose row has the attributes of the link that t sends its message along."""
    return first + (t if search.upwards else search.to[first + t])


cdef void send_message(Search search, int64_t first, int64_t t) noexcept nogil:
    """Add the maxima over the labels of token t to the delta of the token that it sends to."""
    cdef:
        int64_t to = search.to[first + t], width = search.steps.width, link, best = 0
        const double *delta = &search.delta[t, 0]
        const uint64_t *rivals = search.steps.all
        Step *step = search.steps
    if to < 0:
        return
    link = link_of(search, first, t)
    if search.n_tables == 0:
        fill_step(search, link)
    else:
        step += search.row[link]
        best = first_largest(delta, NULL, width)
        find_rivals(delta, gain_row(step, best), best, width, step.rivals)
        rivals = step.rivals
    add_maxima(
        best, rivals, delta, step.transition, width, step.nothing, &search.delta[to, 0]
    )


cdef void fill_step(Search search, int64_t link) noexcept nogil:
    """Compute the scores of all transitions at a link, if links have no tables."""
    cdef:
        LinkAttributes *links = &search.links
        int64_t n = search.steps.n, label, previous, k
        double *scores
    for label in range(n):
        # Where tokens send to their next tokens, these rows become columns in the end.
        scores = &search.transitions[label if search.upwards else n + label, 0]
        memcpy(scores, links.forbidden + label * n, n * sizeof(double))
        for k in range(links.indptr[link], links.indptr[link + 1]):
            add_row(
                links.values[k], links.weights + (links.indices[k] * n + label) * n, n, scores
            )
    if not search.upwards:
        for label in range(n):
            for previous in range(n):
                search.transitions[previous, label] = search.transitions[n + label, previous]


cdef int64_t best_label(
    Search search, int64_t first, int64_t t, const int32_t *labels
) noexcept nogil:
    """The best label of token t, given the label of the token that it sends to; at a tie the
    lowest."""
    cdef:
        int64_t to = search.to[first + t], n = search.steps.n, width = search.steps.width, link, j
        const double *delta = &search.delta[t, 0]
        const double *transition = search.steps.into
    if to < 0:
        return first_largest(delta, NULL, width)
    link = link_of(search, first, t)
    if search.n_tables:
        transition = search.steps[search.row[link]].transposed + labels[to] * width
    else:
        for j in range(n):
            if search.upwards:
                search.steps.into[j] = transition_score(&search.links, link, n, labels[to], j)
            else:
                search.steps.into[j] = transition_score(&search.links, link, n, j, labels[to])
    return first_largest(delta, transition, width)


cdef double score_labels(Search search, int64_t u, const int32_t *labels) noexcept nogil:
    """The score of a labelling of the unit whose scores were read last."""
    cdef:
        int64_t first = search.offsets[u], previous, t
        double score = 0.0
    for t in range(search.offsets[u + 1] - first):
        score += search.scores[t, labels[t]]
        previous = previous_of(search, first, t)
        if previous >= 0:
            score += transition_score(
                &search.links, first + t, search.steps.n, labels[previous], labels[t]
            )
    return score


cdef double score_difference(
    Search search, int64_t u, const int32_t *labels, const int32_t *gold
) noexcept nogil:
    """How much more a labelling of the unit whose scores were read last scores than gold."""
    cdef:
        int64_t first = search.offsets[u], n = search.steps.n, p, t
        double difference = 0.0
        bint is_wrong
    for t in range(search.offsets[u + 1] - first):
        is_wrong = labels[t] != gold[t]
        if is_wrong:
            difference += search.scores[t, labels[t]] - search.scores[t, gold[t]]
        p = previous_of(search, first, t)
        if p >= 0 and (is_wrong or labels[p] != gold[p]):
            difference += transition_score(&search.links, first + t, n, labels[p], labels[t])
            difference -= transition_score(&search.links, first + t, n, gold[p], gold[t])
    return difference


cdef int64_t n_wrong(const int32_t *labels, const int32_t *gold, int64_t length) noexcept nogil:
    """Number of labels that are not gold."""
    cdef int64_t t, wrong = 0
    for t in range(length):
        wrong += labels[t] != gold[t]
    return wrong
