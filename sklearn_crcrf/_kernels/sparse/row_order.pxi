# Whether the rows of a sparse matrix are valid, as all other kernels assume.

# About this number of entries is checked at once, or one row if it has more.
cdef enum: BLOCK = 1 << 12

ctypedef fused index:
    int32_t
    int64_t


def has_sound_rows(
    const index[::1] indptr,       # (n_rows + 1,) begins with 0 IN
    const index[::1] indices,      # (n_entries,) IN
    int64_t n_columns,             # below 2 ** 31
):
    """Whether the columns of every row exist and are strictly increasing.

    The arrays may hold any numbers: no number is used as an index before it is checked.
    """
    cdef:
        int64_t n_rows = indptr.shape[0] - 1, n_entries = indices.shape[0]
        const index *first_index = &indices[0] if n_entries else NULL
        bint is_sound
    with nogil:
        is_sound = are_in_order(&indptr[0], n_rows, first_index, n_entries, n_columns)
    return is_sound and indptr[n_rows] == n_entries


cdef bint are_in_order(
    const index *indptr, int64_t n_rows, const index *indices, int64_t n_entries, int64_t n_columns
) noexcept nogil:
    """Rows are checked in blocks that stay in the cache."""
    cdef int64_t first = 0, r
    for r in range(n_rows):
        if indptr[r + 1] > n_entries or not 0 <= indptr[r + 1] - indptr[r] <= n_columns:
            return False
        if indptr[r + 1] - indptr[first] > BLOCK:
            if not is_block_in_order(indptr, indices, first, r, <index>n_columns):
                return False
            first = r
    return is_block_in_order(indptr, indices, first, n_rows, <index>n_columns)


cdef inline bint is_block_in_order(
    const index *indptr, const index *indices, int64_t start, int64_t stop, index n_columns
) noexcept nogil:
    """Whether every entry that does not exceed the entry before it begins a row.

    Both kinds of entries are counted without branches, so compilers look at several at once.
    """
    cdef:
        int64_t low = indptr[start], k, r, at
        index n_falls = 0, n_starts = 0, signs, is_beyond
    if low == indptr[stop]:
        return True
    signs, is_beyond = indices[low], indices[low] >= n_columns
    for k in range(low + 1, indptr[stop]):
        signs |= indices[k]
        is_beyond |= indices[k] >= n_columns
        n_falls += indices[k] <= indices[k - 1]
    for r in range(start, stop):
        at = indptr[r]
        if low < at < indptr[r + 1]:
            n_starts += indices[at] <= indices[at - 1]
    return signs >= 0 and not is_beyond and n_falls == n_starts
