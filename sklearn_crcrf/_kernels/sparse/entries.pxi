# Some of the entries of a sparse matrix, and where they stand.

ctypedef fused Value:
    float
    double
    int8_t

def some_entries(
    const int64_t[::1] indptr,     # (n_rows + 1,) of a CSR matrix IN
    const int32_t[::1] columns,    # (n_entries,) -1 for entries to leave out IN
    const Value[::1] values,       # (n_entries,) IN
    const int32_t[::1] renamed=None,  # (n_columns,) new columns, -1 for columns to leave out IN
):
    """The values, columns and indptr of the entries that are not left out."""
    cdef:
        int64_t n_kept = 0, r, e
        bint rename = renamed is not None
        int64_t[::1] starts = np.zeros(len(indptr), dtype=np.int64)
        # Entries to leave out are written, too, and then overwritten: faster than a branch.
        int32_t[::1] kept
        Value[::1] kept_values
    out = np.empty(len(columns) + 1, dtype=np.asarray(values).dtype), np.empty(
        len(columns) + 1, dtype=np.int32
    )
    kept_values, kept = out
    with nogil:
        for r in range(starts.shape[0] - 1):
            for e in range(indptr[r], indptr[r + 1]):
                kept[n_kept] = renamed[columns[e]] if rename and columns[e] >= 0 else columns[e]
                kept_values[n_kept] = values[e]
                n_kept += kept[n_kept] >= 0
            starts[r + 1] = n_kept
    kept_values = kept = None
    for array in out:
        array.resize(n_kept, refcheck=False)
    return *out, np.asarray(starts)


def find_entries(
    const int64_t[::1] indptr,     # (n_rows + 1,) of a CSR matrix, columns of rows ascending IN
    const int32_t[::1] columns,    # (n_entries,) IN
    const int32_t[::1] row,        # (n_wanted,) IN
    const int32_t[::1] column,     # (n_wanted,) IN
    int64_t[::1] places,           # (n_wanted,) OUT
):
    """Where the wanted entries stand; whether there are all of them."""
    cdef:
        int64_t n_rows = indptr.shape[0] - 1, k, at, stop
        bint found = True
    with nogil:
        for k in range(row.shape[0]):
            if row[k] < 0 or row[k] >= n_rows:
                found = False
                break
            at, stop = indptr[row[k]], indptr[row[k] + 1]
            if at < stop:
                at = place_from(&columns[0], at, stop, column[k])
            if at == stop or columns[at] != column[k]:
                found = False
                break
            places[k] = at
    return found
