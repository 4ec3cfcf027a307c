# Transition scores between the labels of tokens and the given label of a neighbour of each token.
#
# A link is between a token and its neighbour, which may come before or after the token. The label of
# the neighbour is the row of transition matrices, and the first label of edges. See chain/edges.pxd for
# the scores.

def add_transition_scores(
    const int64_t[::1] token,      # (n_links,) IN
    const int64_t[::1] neighbour,  # (n_links,) IN
    const int32_t[::1] y,          # (n_tokens,) IN
    const double[:, ::1] transition,  # (n_labels, n_labels), row = label of the neighbour IN
    const int64_t[::1] edge_row,   # (n_links,) row of the edges of each link, -1 for none IN
    const int64_t[::1] edge_indptr,
    const int32_t[::1] edge_source,
    const int32_t[::1] edge_target,
    const double[::1] edge_score,
    real[:, ::1] scores,           # (n_tokens, n_labels) INOUT
):
    """Add the scores of the transitions between each label and the neighbour's label in y."""
    cdef:
        Edges edges = edges_of(edge_row, edge_indptr, edge_source, edge_target, edge_score)
        int64_t n = transition.shape[0], link, j
        double[::1] work = np.empty(n)
    with nogil:
        give_turn()
        for link in range(token.shape[0]):
            fill_transitions(edges, &transition[0, 0], n, link, y[neighbour[link]], &work[0])
            for j in range(n):
                scores[token[link], j] += <real>work[j]
        take_turn()


def add_transition_counts(
    const int64_t[::1] token,
    const int64_t[::1] neighbour,
    const int32_t[::1] y,
    const int64_t[::1] edge_row,
    const int64_t[::1] edge_indptr,
    const int32_t[::1] edge_source,
    const int32_t[::1] edge_target,
    const real[:, ::1] weight,     # (n_tokens, n_labels) IN
    double[:, ::1] transition,     # (n_labels, n_labels) INOUT
    double[::1] edge_counts,       # (n_entries,) INOUT
):
    """Add the weight of each label of each token to the transitions that score this label."""
    cdef:
        Edges edges = edges_of(edge_row, edge_indptr, edge_source, edge_target, edge_counts)
        int64_t n = transition.shape[0], link, j
        double[::1] work = np.empty(n)
    with nogil:
        give_turn()
        for link in range(token.shape[0]):
            for j in range(n):
                work[j] = weight[token[link], j]
            count_transitions(
                edges, &work[0], n, link, y[neighbour[link]], &transition[0, 0],
                <double *>edges.score,
            )
        take_turn()
