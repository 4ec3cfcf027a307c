# Estimates of the columns of rows of counts, each smoothed towards the estimates of another row; and
# sums of rows.

def smooth_rows(
    const place[::1] indptr,       # counts, CSR (n_rows, n_columns), columns of rows ascending IN
    const int32_t[::1] columns,
    const double[::1] counts,
    const double[::1] sums,        # (n_rows,) of the counts IN
    const int32_t[::1] above,      # (n_rows,) a row before it, negative for none; or None IN
    int64_t first, int64_t last,   # the rows to estimate
    double strength,
    double[::1] prior,             # (n_entries,) of rows without a row above INOUT
    double[::1] estimate,          # (n_entries,), of these rows OUT
):
    """estimate = (c + strength * prior) / (sum + strength), where prior is the estimate above.

    It returns False if the row above lacks a column.
    """
    cdef:
        int64_t row, entry, at, stop
        bint are_there = True, has_above = above is not None
    if not 0 <= first <= last < indptr.shape[0] or sums.shape[0] != indptr.shape[0] - 1:
        raise ValueError(f"there are {indptr.shape[0] - 1} rows, {sums.shape[0]} sums")
    if has_above and last > above.shape[0]:
        raise ValueError(f"there are {above.shape[0]} rows with a row above")
    if not counts.shape[0] == prior.shape[0] == estimate.shape[0]:
        raise ValueError(f"{counts.shape[0]} counts, {prior.shape[0]} priors")
    with nogil:
        for row in range(first, last):
            at = stop = 0
            if has_above and 0 <= above[row] < row:
                at, stop = indptr[above[row]], indptr[above[row] + 1]
            for entry in range(indptr[row], indptr[row + 1]):
                if has_above and above[row] >= 0:
                    while at < stop and columns[at] < columns[entry]:
                        at += 1
                    if at < stop and columns[at] == columns[entry]:
                        prior[entry] = estimate[at]
                    else:
                        are_there = False
                estimate[entry] = (counts[entry] + strength * prior[entry]) / (sums[row] + strength)
    return are_there


def sums_of_rows(
    const int32_t[:, ::1] rows,    # (n_sums, n_slots), -1 for none IN
    const place[::1] indptr,       # CSR (n_rows, n_columns), columns of rows ascending IN
    const int32_t[::1] columns,
    const double[::1] values,
):
    """The sum of several rows each: data, columns and indptr, of rows with ascending columns."""
    cdef:
        int64_t n_sums = rows.shape[0], n_slots = rows.shape[1], s, k, row, column, out = 0
        int64_t room = 0
        int64_t[::1] at = np.zeros(n_slots, dtype=np.int64), stop = np.zeros(n_slots, dtype=np.int64)
        int64_t[::1] ends = np.zeros(n_sums + 1, dtype=np.int64)
        int32_t[::1] found
        double[::1] sums
    for s in range(n_sums):
        for k in range(n_slots):
            if rows[s, k] >= indptr.shape[0] - 1:
                raise ValueError(f"there is no row {rows[s, k]}")
            room += indptr[rows[s, k] + 1] - indptr[rows[s, k]] if rows[s, k] >= 0 else 0
    found, sums = np.empty(room, dtype=np.int32), np.zeros(room)
    with nogil:
        for s in range(n_sums):
            for k in range(n_slots):
                row = rows[s, k]
                at[k] = indptr[row] if row >= 0 else 0
                stop[k] = indptr[row + 1] if row >= 0 else 0
            while True:
                column = INT64_MAX
                for k in range(n_slots):
                    if at[k] < stop[k] and columns[at[k]] < column:
                        column = columns[at[k]]
                if column == INT64_MAX:
                    break
                for k in range(n_slots):
                    if at[k] < stop[k] and columns[at[k]] == column:
                        sums[out] += values[at[k]]
                        at[k] += 1
                found[out] = <int32_t>column
                out += 1
            ends[s + 1] = out
    return np.asarray(sums)[:out], np.asarray(found)[:out], np.asarray(ends)
