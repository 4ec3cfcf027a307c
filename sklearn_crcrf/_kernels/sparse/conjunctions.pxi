# Columns that are products of two columns of sparse matrices.
#
# A pair of columns is the key of a hash table.

cdef enum:
    SMALLEST = 1024
    LARGEST = 0x7fffffff


cdef struct Pairs:
    Table table                        # of pair_key
    const int32_t *first               # (n_left,) the first column that each is joined with
    const uint8_t *is_right            # (n_right,) whether it is joined with any


cdef inline int64_t pair_key(int32_t left, int32_t right) noexcept nogil:
    return <int64_t>left << 32 | right


def join_columns(
    const int64_t[::1] left_indptr,    # (n_rows + 1,) of a CSR matrix IN
    const int32_t[::1] left_indices,   # (n_left_entries,) IN
    const real[::1] left_values,       # (n_left_entries,) IN
    const int64_t[::1] right_indptr,   # (n_rows + 1,) of a CSR matrix IN
    const int32_t[::1] right_indices,  # (n_right_entries,) IN
    const real[::1] right_values,      # (n_right_entries,) IN
    const int32_t[::1] left,           # (n_products,) the columns on the left IN
    const int32_t[::1] right,          # (n_products,) the columns on the right IN
    int64_t n_left,                    # number of columns on the left
    int64_t n_right,                   # number of columns on the right
):
    """The values, columns and indptr of the products, as a CSR of shape (n_rows, n_products).

    Products are numbered as in ``left`` and ``right``. If both matrices have rising indices in
    every row, and the pairs rise, so do the indices of the products.
    """
    cdef:
        int64_t n_rows = left_indptr.shape[0] - 1, n = right.shape[0], k, row = 0, capacity
        int64_t[::1] starts = np.zeros(n_rows + 1, dtype=np.int64)
        # The first column on the right that is joined with each column on the left.
        int32_t[::1] first = np.full(n_left + 1, LARGEST, dtype=np.int32)
        uint8_t[::1] is_right = np.zeros(n_right + 1, dtype=np.uint8)
        Pairs pairs
        int64_t key
        int32_t[::1] columns
        real[::1] values
    check_number(n, "products")
    found = np.empty(left_indices.shape[0] + 1, dtype=np.int32)
    products = np.empty(left_indices.shape[0] + 1, dtype=np.asarray(left_values).dtype)
    pairs.table.capacity = SMALLEST
    while pairs.table.capacity < <size_t>(2 * n):
        pairs.table.capacity *= 2
    # Each slot has the size of two numbers.
    cdef int64_t[:, ::1] memory = np.zeros((pairs.table.capacity, 2), dtype=np.int64)
    pairs.table.slots = <Slot *>&memory[0, 0]
    pairs.first, pairs.is_right = &first[0], &is_right[0]
    for k in range(n):
        key = pair_key(left[k], right[k])
        find(&pairs.table, key, mix(key))[0] = Slot(key, k + 1)
        first[left[k]] = min(first[left[k]], right[k])
        is_right[right[k]] = True
    while row < n_rows:
        columns, values = found, products
        capacity = columns.shape[0]
        with nogil:
            row = join_rows[real](
                left_indptr, left_indices, left_values, right_indptr, right_indices, right_values,
                &pairs, row, starts, columns, values,
            )
        if row < n_rows:  # the arrays are full
            k = left_indptr[row + 1] - left_indptr[row]
            k = max(capacity, k * (right_indptr[row + 1] - right_indptr[row]))
            found = np.concatenate([found, np.empty(k, dtype=found.dtype)])
            products = np.concatenate([products, np.empty(k, dtype=products.dtype)])
    k = starts[n_rows]
    return products[:k].copy(), found[:k].copy(), np.asarray(starts)


cdef int64_t join_rows(
    const int64_t[::1] left_indptr, const int32_t[::1] left_indices, const real[::1] left_values,
    const int64_t[::1] right_indptr, const int32_t[::1] right_indices, const real[::1] right_values,
    const Pairs *pairs, int64_t row,
    int64_t[::1] starts,               # (n_rows + 1,) up to ``row`` IN, then OUT
    int32_t[::1] columns,              # (capacity,) OUT
    real[::1] values,                  # (capacity,) OUT
) noexcept nogil:
    """Write the products of rows, from ``row`` to the one that is returned, which may not fit."""
    cdef:
        int64_t n_rows = starts.shape[0] - 1, i, j, end, n_left, n_right, key
        int32_t least
        Slot *slot
    while row < n_rows:
        end = starts[row]
        n_left = left_indptr[row + 1] - left_indptr[row]
        n_right = right_indptr[row + 1] - right_indptr[row]
        if n_left * n_right > columns.shape[0] - end:
            return row
        for i in range(left_indptr[row], left_indptr[row + 1]):
            least = pairs.first[left_indices[i]]
            if least == LARGEST:
                continue
            for j in range(right_indptr[row], right_indptr[row + 1]):
                if right_indices[j] < least or not pairs.is_right[right_indices[j]]:
                    continue
                key = pair_key(left_indices[i], right_indices[j])
                slot = find(&pairs.table, key, mix(key))
                if slot.entry != 0:
                    columns[end] = <int32_t>(slot.entry - 1)
                    values[end] = left_values[i] * right_values[j]
                    end += 1
        row += 1
        starts[row] = end
    return row
