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
        int64_t n = transition.shape[0], link, t, j, k, row
        int32_t i
        double[::1] work = np.empty(n)
    with nogil:
        give_turn()
        for link in range(token.shape[0]):
            t = token[link]
            i = y[neighbour[link]]
            row = edge_row[link]
            if row < 0:
                for j in range(n):
                    scores[t, j] += <real>transition[i, j]
                continue
            work[:] = transition[i]
            for k in range(edge_indptr[row], edge_indptr[row + 1]):
                if edge_source[k] == i:
                    work[edge_target[k]] = edge_score[k]
            for j in range(n):
                scores[t, j] += <real>work[j]
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
        int64_t n = transition.shape[0], link, t, j, k, row
        int32_t i
        double[::1] work = np.empty(n)
    with nogil:
        give_turn()
        for link in range(token.shape[0]):
            t = token[link]
            i = y[neighbour[link]]
            row = edge_row[link]
            if row < 0:
                for j in range(n):
                    transition[i, j] += weight[t, j]
                continue
            for j in range(n):
                work[j] = weight[t, j]
            for k in range(edge_indptr[row], edge_indptr[row + 1]):
                if edge_source[k] == i:
                    edge_counts[k] += work[edge_target[k]]
                    work[edge_target[k]] = 0.0
            for j in range(n):
                transition[i, j] += work[j]
        take_turn()
