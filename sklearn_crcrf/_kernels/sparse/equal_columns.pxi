# Which columns of a matrix are equal, by refinement of a partition (Paige & Tarjan 1987).

def split_by_rows(
    const int64_t[::1] indptr,     # (n_rows + 1,) of a CSR matrix IN
    const int32_t[::1] indices,    # no index twice in a row IN
    int32_t[::1] group,            # (n_columns,) numbered from 0 INOUT
    int64_t n_groups,
):
    """Split groups until the columns of a group have the same rows; return the number of groups."""
    cdef:
        int64_t n_columns = group.shape[0], r, k
        int32_t old
        # For each group, its number of columns, and how many of these the current row has.
        int32_t[::1] size = np.zeros(n_columns, dtype=np.int32)
        int32_t[::1] present = np.zeros(n_columns, dtype=np.int32)
        # For each group, the group last split off from it, and the row that split it.
        int32_t[::1] part = np.zeros(n_columns, dtype=np.int32)
        int64_t[::1] row_of_part = np.full(n_columns, -1, dtype=np.int64)
    with nogil:
        for k in range(n_columns):
            size[group[k]] += 1
        for r in range(indptr.shape[0] - 1):
            for k in range(indptr[r], indptr[r + 1]):
                present[group[indices[k]]] += 1
            for k in range(indptr[r], indptr[r + 1]):
                old = group[indices[k]]
                if present[old] == size[old]:
                    continue
                if row_of_part[old] != r:
                    row_of_part[old] = r
                    part[old] = <int32_t>n_groups
                    n_groups += 1
                present[old] -= 1
                size[old] -= 1
                size[part[old]] += 1
                group[indices[k]] = part[old]
            for k in range(indptr[r], indptr[r + 1]):
                present[group[indices[k]]] = 0
    return n_groups


def number_by_appearance(
    const int32_t[::1] indices,    # (n_entries,) of a CSR matrix IN
    int32_t[::1] group,            # (n_columns,) IN, renumbered OUT
    int64_t n_groups,
):
    """Number groups in the order of their first entries; return the number of entries of each."""
    cdef:
        int64_t n_numbered = 0, k
        int32_t g
        int32_t[::1] number = np.full(n_groups, -1, dtype=np.int32)
        int64_t[::1] n_entries = np.zeros(n_groups, dtype=np.int64)
    with nogil:
        for k in range(indices.shape[0]):
            g = group[indices[k]]
            if number[g] < 0:
                number[g] = <int32_t>n_numbered
                n_numbered += 1
            n_entries[number[g]] += 1
        for k in range(n_groups):
            if number[k] < 0:
                number[k] = <int32_t>n_numbered
                n_numbered += 1
        for k in range(group.shape[0]):
            group[k] = number[group[k]]
    return np.asarray(n_entries)
