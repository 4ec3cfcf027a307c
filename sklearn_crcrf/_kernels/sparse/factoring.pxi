# Which attributes are in every row that has a given attribute.

# Rows are fetched from memory this number of entries ahead.
cdef enum: AHEAD = 8
# From this number of comparisons on, marking the attributes of a row is faster than to compare all.
cdef enum: MANY = 4096
# Entries that may be looked at for each entry of the matrix, so that long rows take linear time.
cdef enum: LOOKS = 256


def column_values(
    const int32_t[::1] indices,    # (n_entries,) of a CSR matrix IN
    const real[::1] values,        # (n_entries,) IN
    int64_t n_columns,
):
    """The first value of each column, and whether all its entries have this value."""
    cdef:
        int64_t k
        real[::1] value = np.zeros(n_columns, dtype=np.asarray(values).dtype)
        uint8_t[::1] is_seen = np.zeros(n_columns, dtype=np.uint8)
        uint8_t[::1] is_even = np.ones(n_columns, dtype=np.uint8)
        int32_t c
    with nogil:
        for k in range(indices.shape[0]):
            c = indices[k]
            if is_seen[c]:
                is_even[c] &= value[c] == values[k]
            else:
                is_seen[c] = True
                value[c] = values[k]
    return np.asarray(value), np.asarray(is_even)


def find_companions(
    const int64_t[::1] indptr,     # (n_rows + 1,) of a CSR matrix IN
    int32_t[::1] indices,          # no index twice in a row IN, -1 for entries left out OUT
    const int64_t[::1] by_indptr,  # (n_attributes + 1,) of its transpose IN
    const int32_t[::1] by_row,     # (n_entries,) the row of each entry of the transpose IN
    const int32_t[::1] by_entry,   # (n_entries,) its place in the matrix IN
    const int32_t[::1] order,      # the attributes to look at, frequent ones first IN
    const uint8_t[::1] is_even,    # (n_attributes,) which may be companions IN
    int64_t fewest,
):
    """Find the companions of each attribute, which all its rows have, and leave them out there.

    An attribute that was left out of a row for an earlier attribute no longer counts there. An
    attribute has companions only if at least ``fewest`` rows still have it. If rows have hundreds
    of entries, rare attributes may keep theirs. Returns the attributes that have companions, called
    owners; where the companions of each owner begin and end; and the companions.
    """
    cdef:
        int32_t[::1] owners = np.empty(len(order), dtype=np.int32)
        int64_t[::1] starts = np.zeros(len(order) + 1, dtype=np.int64)
        # A companion is left out of at least ``fewest`` rows; one row of candidates comes on top.
        int64_t longest = np.diff(indptr).max(initial=0)
        int32_t[::1] companions = np.empty(len(indices) // fewest + longest + 1, dtype=np.int32)
        int64_t n_owners = 0, n_rows, n_common, i, k, stop
        int64_t n_looks = LOOKS * indices.shape[0]
        Marks marks = Marks(len(is_even))
        int32_t a
        int32_t *row
        int32_t *common
    with nogil:
        for i in range(order.shape[0]):
            if n_looks < 0:
                break
            a = order[i]
            stop = by_indptr[a + 1]
            common = &companions[starts[n_owners]]
            n_rows = n_common = 0
            for k in range(by_indptr[a], stop):
                if k + AHEAD < stop:
                    prefetch(&indices[indptr[by_row[k + AHEAD]]])
                    prefetch(&indices[indptr[by_row[k + AHEAD] + 1] - 1])
                if indices[by_entry[k]] < 0:
                    continue
                row = &indices[indptr[by_row[k]]]
                n_common = keep_common(
                    row,
                    indptr[by_row[k] + 1] - indptr[by_row[k]],
                    a,
                    is_even,
                    n_rows == 0,
                    common,
                    n_common,
                    marks,
                )
                n_looks -= indptr[by_row[k] + 1] - indptr[by_row[k]]
                n_rows += 1
                if n_common == 0:
                    break
            if n_common == 0 or n_rows < fewest:
                continue
            for k in range(by_indptr[a], stop):
                if k + AHEAD < stop:
                    prefetch(&indices[indptr[by_row[k + AHEAD]]])
                    prefetch(&indices[indptr[by_row[k + AHEAD] + 1] - 1])
                if indices[by_entry[k]] >= 0:
                    row = &indices[indptr[by_row[k]]]
                    leave_out(row, indptr[by_row[k] + 1] - indptr[by_row[k]], common, n_common, marks)
            owners[n_owners] = a
            starts[n_owners + 1] = starts[n_owners] + n_common
            n_owners += 1
    return (
        np.asarray(owners)[:n_owners],
        np.asarray(starts)[: n_owners + 1],
        np.asarray(companions)[: starts[n_owners]],
    )


cdef class Marks:
    """Which attributes are in a set; another set takes no time to clear."""

    cdef:
        int32_t[::1] round
        int32_t now

    def __cinit__(self, int64_t n_attributes):
        self.round = np.zeros(n_attributes, dtype=np.int32)
        self.now = 0

    cdef void set(self, const int32_t *members, int64_t n) noexcept nogil:
        cdef int64_t e
        self.now += 1
        for e in range(n):
            if members[e] >= 0:
                self.round[members[e]] = self.now


cdef inline int64_t keep_common(
    const int32_t *row, int64_t n, int32_t a, const uint8_t[::1] is_even, bint is_first,
    int32_t *common, int64_t n_common, Marks marks,
) noexcept nogil:
    """Reduce ``common`` to the attributes of this row (the first row sets it); return how many."""
    cdef:
        int64_t c, e, kept = 0
        bint found
    if is_first:
        for e in range(n):
            if row[e] >= 0 and row[e] != a and is_even[row[e]]:
                common[kept] = row[e]
                kept += 1
        return kept
    if n * n_common > MANY:
        marks.set(row, n)
        for c in range(n_common):
            common[kept] = common[c]
            kept += marks.round[common[c]] == marks.now
        return kept
    for c in range(n_common):
        # The loop has no early exit, so compilers can compare several entries at once.
        found = False
        for e in range(n):
            found |= row[e] == common[c]
        common[kept] = common[c]
        kept += found
    return kept


cdef inline void leave_out(
    int32_t *row, int64_t n, const int32_t *common, int64_t n_common, Marks marks
) noexcept nogil:
    cdef int64_t c, e
    if n * n_common > MANY:
        marks.set(common, n_common)
        for e in range(n):
            if row[e] >= 0 and marks.round[row[e]] == marks.now:
                row[e] = -1
        return
    for c in range(n_common):
        for e in range(n):
            row[e] = -1 if row[e] == common[c] else row[e]
