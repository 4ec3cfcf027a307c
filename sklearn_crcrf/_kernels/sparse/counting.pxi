# Count equal events: rows of ids are packed into 64-bit keys, and the keys are radix-sorted.
#
# An id is stored in a key as id + 1, so that -1, which stands for outside of a sequence, comes first.

cdef enum:
    FEW = 1 << 10    # of fewer keys, small digits take less time
    FEW_BITS = 6
    DIGIT_BITS = 11


def count_rows(columns, const int64_t[::1] offsets, const double[::1] weights, Py_ssize_t n_rows):
    """Sum the weights of equal rows of ids.

    The time is linear in the number of rows, and weights are summed in the order of rows.

    Parameters
    ----------
    columns : iterable of (int32 (n_rows,), int)
        Ids from -1 on. Row t has the id of the token at this offset from token t, and -1 if that is
        outside of its sequence; an offset other than 0 needs as many rows as tokens.
    offsets : int64 (n_sequences + 1,)
        Where the sequences begin and end.
    weights : float64 (n_rows,), or (1,) for rows of equal weight
        Not negative. At most 2 ** 32 rows can differ in weight.

    Returns
    -------
    unique : int32 (n_unique, n_columns), in Fortran order
        The different rows whose weights have a positive sum, in lexicographic order.
    sums : float64 (n_unique,)
    """
    cdef:
        uint64_t[::1] keys = np.zeros(n_rows, dtype=np.uint64)
        const int32_t[::1] ids
        int n_bits, used = 0
        int64_t shift
        list widths = [], ranked = []
    if weights.shape[0] not in (1, n_rows):
        raise ValueError(f"{weights.shape[0]} weights for {n_rows} rows")
    for ids, shift in columns:
        n_bits = width_of(ids)
        if used + n_bits > 64:
            # From here on the ids so far are one id: their rank.
            known, rank = np.unique(keys, return_inverse=True)
            ranked.append((known, widths))
            keys, ids_so_far = np.zeros(n_rows, dtype=np.uint64), rank.astype(np.int32)
            used = width_of(ids_so_far)
            push_ids(keys, ids_so_far, 0, offsets, used)
            widths = [used]
        push_ids(keys, ids, shift, offsets, n_bits)
        used += n_bits
        widths.append(n_bits)
    keys, sums = count_keys(keys, weights, used)
    rows = pop_ids(keys, widths)
    for known, widths in reversed(ranked):
        rows = np.asfortranarray(np.hstack([pop_ids(known[rows[:, 0]], widths), rows[:, 1:]]))
    return rows, sums


cdef int width_of(const int32_t[::1] ids) noexcept nogil:
    """The number of bits of a key that ids from -1 on need."""
    cdef:
        Py_ssize_t i
        int n_bits = 1
        uint64_t largest = 0
    for i in range(ids.shape[0]):
        largest = max(largest, <uint64_t>(<uint32_t>ids[i] + 1))
    while largest >> n_bits:
        n_bits += 1
    return n_bits


cdef void push_ids(
    uint64_t[::1] keys,            # (n_rows,) INOUT
    const int32_t[::1] ids,        # (n_rows,) from -1 to 2 ** n_bits - 2 IN
    int64_t shift,
    const int64_t[::1] offsets,    # (n_sequences + 1,) IN
    int n_bits,                    # in [1, 32]
) noexcept nogil:
    """Append the ids at an offset to all keys."""
    cdef:
        Py_ssize_t s
        int64_t i, start, stop
    if shift == 0:
        for i in range(keys.shape[0]):
            keys[i] = keys[i] << n_bits | (<uint32_t>ids[i] + 1)
        return
    for s in range(offsets.shape[0] - 1):
        start, stop = offsets[s], offsets[s + 1]
        for i in range(start, stop):
            keys[i] <<= n_bits
            if start <= i + shift < stop:
                keys[i] |= <uint32_t>ids[i + shift] + 1


def pop_ids(uint64_t[::1] keys, widths):
    """The ids in all keys, from which they are removed."""
    cdef:
        int32_t[::1, :] ids = np.empty((keys.shape[0], len(widths)), dtype=np.int32, order="F")
        Py_ssize_t i, j
        int n_bits
    for j in range(ids.shape[1] - 1, -1, -1):
        n_bits = widths[j]
        with nogil:
            for i in range(keys.shape[0]):
                ids[i, j] = <int32_t>(<int64_t>(keys[i] & ((<uint64_t>1 << n_bits) - 1)) - 1)
                keys[i] >>= n_bits
    return np.asarray(ids)


cdef tuple count_keys(uint64_t[::1] keys, const double[::1] weights, int n_bits):
    """The different keys, which are below 2 ** n_bits, and the sums of their weights."""
    cdef:
        Py_ssize_t n_events = keys.shape[0], n_unique
        uint64_t[::1] spare = np.empty(n_events, dtype=np.uint64)
        uint32_t[::1] order, spare_order
        double[::1] sums
        int shift, digit_bits = DIGIT_BITS if n_events > FEW else FEW_BITS
    check_number(n_events if weights.shape[0] != 1 else 0, "rows that differ in weight", UINT32_MAX)
    order = np.arange(n_events if weights.shape[0] != 1 else 0, dtype=np.uint32)
    spare_order = np.empty_like(order)
    for shift in range(0, n_bits, digit_bits):
        with nogil:
            scatter(keys, order, shift, digit_bits, spare, spare_order)
        keys, spare = spare, keys
        order, spare_order = spare_order, order
    # Only the sorted keys are needed from here on: the sums use the memory of the spare keys.
    sums = np.asarray(spare).view(np.float64)
    with nogil:
        n_unique = run_lengths(keys, order, weights, sums)
    return np.array(keys[:n_unique]), np.array(sums[:n_unique])


cdef void scatter(
    const uint64_t[::1] keys,      # (n_events,) IN
    const uint32_t[::1] order,     # (n_events,) which event a key is of, or (0,) IN
    int shift, int n_bits,
    uint64_t[::1] keys_out,        # (n_events,) OUT, ordered by the digit of n_bits at shift
    uint32_t[::1] order_out,       # as order OUT
) noexcept nogil:
    cdef:
        int64_t starts[1 << DIGIT_BITS]
        int64_t n = keys.shape[0], i, total = 0, size
        uint64_t digit, mask = (<uint64_t>1 << n_bits) - 1
        bint ordered = order.shape[0] > 0
    memset(starts, 0, (mask + 1) * sizeof(int64_t))
    for i in range(n):
        starts[(keys[i] >> shift) & mask] += 1
    for i in range(<int64_t>mask + 1):
        size = starts[i]
        starts[i] = total
        total += size
    for i in range(n):
        digit = (keys[i] >> shift) & mask
        keys_out[starts[digit]] = keys[i]
        if ordered:
            order_out[starts[digit]] = order[i]
        starts[digit] += 1


cdef Py_ssize_t run_lengths(
    uint64_t[::1] keys,            # (n_events,) sorted IN, the unique keys in front OUT
    const uint32_t[::1] order,     # (n_events,) which event a key is of, or (0,) IN
    const double[::1] weights,     # (n_events,) or (1,) for equal weights IN
    double[::1] sums,              # (n_events,) OUT
) noexcept nogil:
    cdef:
        Py_ssize_t n = keys.shape[0], i, n_unique = 0
        bint ordered = order.shape[0] > 0
    for i in range(n):
        if n_unique == 0 or keys[i] != keys[n_unique - 1]:
            n_unique -= n_unique > 0 and not sums[n_unique - 1] > 0.0
            keys[n_unique] = keys[i]
            sums[n_unique] = 0.0
            n_unique += 1
        sums[n_unique - 1] += weights[order[i] if ordered else 0]
    return n_unique - (n_unique > 0 and not sums[n_unique - 1] > 0.0)


def index_runs(const int32_t[:, :] rows):
    """Number the different rows among sorted rows of ids.

    A row is found id by id: the number of the ids before, among those that differ, and the next id
    plus 1 are the upper and the lower half of one 64-bit number.

    Returns
    -------
    starts : int64 (n_different + 1,)
        Where the runs of equal rows begin and end.
    first : int32 (largest first id + 2,)
        The number of each first id from -1 on, -1 for ids that do not occur.
    levels : list of int64 (n_different of the first k ids,), increasing
        The numbers of the k first ids, from the second id on.
    """
    cdef:
        Py_ssize_t n = rows.shape[0], n_ids = rows.shape[1], i, k, place
        int64_t[::1] size = np.zeros(n_ids, dtype=np.int64), starts = np.empty(n + 1, dtype=np.int64)
        int64_t[:, ::1] levels = np.empty((n_ids - 1, n), dtype=np.int64)
        int32_t[::1] first = np.full(<int64_t>rows[n - 1, 0] + 2 if n else 1, -1, dtype=np.int32)
    with nogil:
        for i in range(n):
            k = 0
            while i > 0 and k < n_ids and rows[i, k] == rows[i - 1, k]:
                k += 1
            if k == 0:
                first[rows[i, 0] + 1] = <int32_t>size[0]
            if k < n_ids:
                starts[size[n_ids - 1]] = i
            for place in range(k, n_ids):
                if place > 0:
                    levels[place - 1, size[place]] = (
                        (size[place - 1] - 1) << 32 | (<int64_t>rows[i, place] + 1)
                    )
                size[place] += 1
        starts[size[n_ids - 1]] = n
    return (
        np.array(starts[: size[n_ids - 1] + 1]),
        np.asarray(first),
        [np.array(levels[k - 1, : size[k]]) for k in range(1, n_ids)],
    )


def merge_events(
    const int32_t[::1, :] events,  # (n_events, n_ids), unique rows in lexicographic order IN
    const double[::1] weights,     # (n_events,) IN
    const int32_t[::1, :] more,    # (n_more, n_ids), likewise IN
    const double[::1] more_weights,  # (n_more,) IN
    double sign,
):
    """Merge two tables of events, in time linear in their size.

    Returns
    -------
    events : int32 (n_unique, n_ids), in Fortran order
        The rows of both, in lexicographic order.
    sums : float64 (n_unique,)
        The weights of the first table, plus ``sign`` times the weights of the second.
    """
    cdef:
        Py_ssize_t n_ids = events.shape[1], n_rows = events.shape[0] + more.shape[0], n_unique
        int32_t[::1, :] merged = np.empty((n_rows, n_ids), dtype=np.int32, order="F")
        double[::1] sums = np.empty(n_rows)
    if n_ids == 0 or more.shape[1] != n_ids:
        raise ValueError(f"events of {n_ids} and of {more.shape[1]} ids cannot be merged")
    if weights.shape[0] != events.shape[0] or more_weights.shape[0] != more.shape[0]:
        raise ValueError("each event needs one weight")
    with nogil:
        n_unique = merge_sorted(events, weights, more, more_weights, sign, merged, sums)
    if n_unique == n_rows:
        return np.asarray(merged), np.asarray(sums)
    return np.asarray(merged)[:n_unique].copy(order="F"), np.asarray(sums)[:n_unique].copy()


cdef Py_ssize_t merge_sorted(
    const int32_t[::1, :] a,       # (n_a, n_ids) IN
    const double[::1] a_weights,   # (n_a,) IN
    const int32_t[::1, :] b,       # (n_b, n_ids) IN
    const double[::1] b_weights,   # (n_b,) IN
    double sign,
    int32_t[::1, :] merged,        # (n_a + n_b, n_ids), the unique rows in front OUT
    double[::1] sums,              # (n_a + n_b,) likewise OUT
) noexcept nogil:
    """Merge the rows; returns their number."""
    cdef:
        Py_ssize_t n_a = a.shape[0], n_b = b.shape[0], i = 0, j = 0, n = 0, k
        int order
        double weight
    while i < n_a or j < n_b:
        order = -1 if j == n_b else 1 if i == n_a else compare_keys(a, i, b, j)
        for k in range(a.shape[1]):
            merged[n, k] = a[i, k] if order <= 0 else b[j, k]
        weight = a_weights[i] if order <= 0 else 0.0
        sums[n] = weight + sign * b_weights[j] if order >= 0 else weight
        i += order <= 0
        j += order >= 0
        n += 1
    return n


cdef inline int compare_keys(
    const int32_t[::1, :] a, Py_ssize_t i, const int32_t[::1, :] b, Py_ssize_t j
) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(a.shape[1]):
        if a[i, k] != b[j, k]:
            return -1 if a[i, k] < b[j, k] else 1
    return 0
