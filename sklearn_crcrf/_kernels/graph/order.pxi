# Orders of the tokens of graphs, and forests that span them.
#
# The tokens of a unit are put in breadth-first order, in which each token but the first of a component
# is linked to an earlier one. From then on tokens are numbered by this order. A token has a slot for
# each of its links, by the number of the token at the other end.

def links_of_tokens(
    const int64_t[:, ::1] ends,    # (2, n_links) tokens IN
    int64_t[::1] first,            # (n_tokens + 1,) OUT
    int64_t[::1] link,             # (2 * n_links,) OUT
):
    """The links of each token t: ``link[first[t] : first[t + 1]]``, in their order."""
    cdef:
        int64_t n = first.shape[0] - 1, i, k, t
        int64_t[::1] place = np.zeros(n + 1, dtype=np.int64)
    with nogil:
        for k in range(ends.shape[1]):
            for i in range(2):
                place[ends[i, k] + 1] += 1
        for t in range(n):
            place[t + 1] += place[t]
        first[:] = place
        for k in range(ends.shape[1]):
            for i in range(2):
                t = ends[i, k]
                link[place[t]] = k
                place[t] += 1


def breadth_first(
    const int64_t[::1] offsets,    # (n_units + 1,) IN
    const int64_t[:, ::1] ends,    # (2, n_links) IN
    const int64_t[::1] first,      # (n_tokens + 1,) IN
    const int64_t[::1] link,       # (2 * n_links,) IN
    int64_t[::1] order,            # (n_tokens,) tokens OUT
):
    """The tokens of each unit in breadth-first order; a component begins with its first token."""
    cdef:
        int64_t u, root, n_found, n_seen, k, t, other
        uint8_t[::1] is_found = np.zeros(order.shape[0], dtype=np.uint8)
    with nogil:
        for u in range(offsets.shape[0] - 1):
            n_found = n_seen = offsets[u]
            for root in range(offsets[u], offsets[u + 1]):
                if is_found[root]:
                    continue
                is_found[root] = True
                order[n_found] = root
                n_found += 1
                while n_seen < n_found:
                    t = order[n_seen]
                    n_seen += 1
                    for k in range(first[t], first[t + 1]):
                        other = ends[0, link[k]] + ends[1, link[k]] - t
                        if not is_found[other]:
                            is_found[other] = True
                            order[n_found] = other
                            n_found += 1


def make_slots(
    const int64_t[:, ::1] ends,    # (2, n_links) tokens IN
    const int64_t[::1] first,      # (n_tokens + 1,) IN
    const int64_t[::1] link,       # (2 * n_links,) IN
    const int64_t[::1] order,      # (n_tokens,) IN
    int64_t[::1] start,            # (n_tokens + 1,) first slot of each number OUT
    int64_t[::1] middle,           # (n_tokens,) its first slot for a later number OUT
    int64_t[::1] neighbour,        # (n_slots,) number of the token at the other end OUT
    int64_t[::1] reverse,          # (n_slots,) slot of the token at the other end OUT
    int64_t[::1] link_of,          # (n_slots,) OUT
    uint8_t[::1] is_current,       # (n_slots,) whether the token is the second end OUT
):
    """The slots of all tokens, which are numbered by their order."""
    cdef:
        int64_t n = order.shape[0], i, j, k, t, slot
        int64_t[::1] number = np.empty(n, dtype=np.int64), place = np.empty(n, dtype=np.int64)
        int64_t[::1] made = np.full(ends.shape[1], -1)
    with nogil:
        start[0] = 0
        for i in range(n):
            t = order[i]
            number[t] = i
            place[i] = start[i]
            start[i + 1] = start[i] + first[t + 1] - first[t]
        # Tokens send in their order, so that the slots of a receiver are in that order.
        for i in range(n):
            t = order[i]
            middle[i] = place[i]
            for k in range(first[t], first[t + 1]):
                j = number[ends[0, link[k]] + ends[1, link[k]] - t]
                slot = place[j]
                place[j] += 1
                neighbour[slot] = i
                link_of[slot] = link[k]
                is_current[slot] = ends[0, link[k]] == t
                if made[link[k]] < 0:
                    made[link[k]] = slot
                else:
                    reverse[slot] = made[link[k]]
                    reverse[made[link[k]]] = slot


cdef inline int64_t root_of(int64_t[::1] parent, int64_t t) noexcept nogil:
    while parent[t] != t:
        parent[t] = parent[parent[t]]
        t = parent[t]
    return t


def spanning_forest(
    const int64_t[:, ::1] ends,    # (2, n_links) IN
    const int64_t[::1] order,      # (n_ordered,) links, the ones to be preferred first IN
    int64_t n_tokens,
    uint8_t[::1] is_chosen,        # (n_links,) zeros OUT
):
    """Choose links one after another, unless they close a cycle (Kruskal 1956)."""
    cdef:
        int64_t k, a, b
        int64_t[::1] parent = np.arange(n_tokens)
    with nogil:
        for k in range(order.shape[0]):
            a, b = root_of(parent, ends[0, order[k]]), root_of(parent, ends[1, order[k]])
            if a != b:
                parent[b] = a
                is_chosen[order[k]] = True


def root_forest(
    const int64_t[::1] offsets,    # (n_units + 1,) IN
    const int64_t[::1] units,      # IN
    const int64_t[::1] start,      # (n_tokens + 1,) slots IN
    const int64_t[::1] neighbour,  # (n_slots,) IN
    const int64_t[::1] reverse,    # (n_slots,) IN
    const int64_t[::1] link_of,    # (n_slots,) IN
    const uint8_t[::1] is_chosen,  # (n_links,) links of a forest that spans each unit IN
    int64_t[::1] order,            # (n,) tokens of the units, each after its parent OUT
    int64_t[::1] up,               # (n,) slot of the message from the parent, -1 for a root OUT
):
    """Root a forest, unit by unit."""
    cdef:
        int64_t i, u, s, t, root, n_found = 0, n_seen = 0
        uint8_t[::1] is_found = np.zeros(start.shape[0], dtype=np.uint8)
    with nogil:
        for i in range(units.shape[0]):
            u = units[i]
            for root in range(offsets[u], offsets[u + 1]):
                if is_found[root]:
                    continue
                is_found[root] = True
                order[n_found] = root
                up[n_found] = -1
                n_found += 1
                while n_seen < n_found:
                    t = order[n_seen]
                    n_seen += 1
                    for s in range(start[t], start[t + 1]):
                        if is_chosen[link_of[s]] and not is_found[neighbour[s]]:
                            is_found[neighbour[s]] = True
                            order[n_found] = neighbour[s]
                            up[n_found] = reverse[s]
                            n_found += 1
