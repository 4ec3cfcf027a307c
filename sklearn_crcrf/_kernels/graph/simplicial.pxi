# Elimination of tokens whose neighbours are linked to each other, and the triangles of graphs.
#
# A token is eliminated if it has at most one neighbour, or two that are linked to each other; with
# two, the three are a triangle, and each triangle is found once: when its first token is eliminated.
# All tokens of a unit are eliminated if and only if it is chordal and has no clique of four tokens: a
# chordal graph has such a token, and is chordal without it (Dirac 1961).

cdef bint are_linked(
    const int32_t[::1] first, const int32_t[::1] neighbour, int64_t a, int64_t b
) noexcept nogil:
    """Whether two tokens are linked, by a search among the neighbours of the one with fewer."""
    cdef int64_t at
    if first[a + 1] - first[a] > first[b + 1] - first[b]:
        a, b = b, a
    at = place_from(&neighbour[0], first[a], first[a + 1], b)
    return at < first[a + 1] and neighbour[at] == b


def eliminate_simplicial(
    const int32_t[::1] first,      # (n_tokens + 1,) IN
    const int32_t[::1] neighbour,  # (2 * n_links,) by token, in increasing order IN
    uint8_t[::1] is_left,          # (n_tokens,) ones INOUT
    int64_t[:, ::1] triangles,     # (n_tokens, 3) OUT
):
    """Eliminate tokens until there is none to eliminate; return the number of triangles."""
    cdef:
        int64_t n = is_left.shape[0], n_waiting = 0, n_triangles = 0, k, t, i, count
        int64_t[::1] waiting = np.empty(3 * n, dtype=np.int64)  # at 2, 1, 0
        int64_t[::1] degree = np.empty(n, dtype=np.int64)
        int64_t other[2]
    with nogil:
        for t in range(n):
            degree[t] = first[t + 1] - first[t]
            if degree[t] <= 2:
                waiting[n_waiting] = t
                n_waiting += 1
        while n_waiting:
            n_waiting -= 1
            t = waiting[n_waiting]
            if not is_left[t]:
                continue
            count = 0
            for k in range(first[t], first[t + 1]):
                if is_left[neighbour[k]]:
                    other[count] = neighbour[k]
                    count += 1
            if count == 2:
                if not are_linked(first, neighbour, other[0], other[1]):
                    continue  # until one of both is eliminated
                triangles[n_triangles, 0] = t
                triangles[n_triangles, 1] = other[0]
                triangles[n_triangles, 2] = other[1]
                n_triangles += 1
            is_left[t] = False
            for i in range(count):
                degree[other[i]] -= 1
                if degree[other[i]] <= 2:
                    waiting[n_waiting] = other[i]
                    n_waiting += 1
    return n_triangles
