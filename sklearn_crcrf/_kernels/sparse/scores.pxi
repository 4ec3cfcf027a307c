# State scores: sums of sparse rows, one row per attribute of a token.

ctypedef fused place:
    int32_t
    int64_t


def add_rows(
    const int32_t[:, ::1] rows,    # (n_tokens, n_slots) rows of the weights, -1 for none IN
    const int8_t[::1] kind,        # (n_tokens,) the row of exponents of each token IN
    const double[:, ::1] exponents,  # (n_kinds, n_slots) IN
    const place[::1] indptr,       # the weights, CSR (n_rows, n_labels) IN
    const int32_t[::1] indices,
    const double[::1] data,
    double[:, ::1] scores,         # (n_tokens, n_labels) INOUT
):
    """scores[t, y] += sum_s exponents[kind[t], s] * weights[rows[t, s], y]"""
    cdef:
        int64_t t, s, k, row, n_tokens = rows.shape[0]
        double a
    with nogil:
        give_turn()
        for t in range(n_tokens):
            for s in range(rows.shape[1]):
                # What the next two tokens need is fetched from memory.
                if t + 2 < n_tokens and rows[t + 2, s] >= 0:
                    prefetch(&indptr[rows[t + 2, s]])
                if t + 1 < n_tokens and rows[t + 1, s] >= 0:
                    k = indptr[rows[t + 1, s]]
                    prefetch(&indices[0] + k)
                    prefetch(&data[0] + k)
                row = rows[t, s]
                a = exponents[kind[t], s]
                if row < 0 or a == 0.0:
                    continue
                for k in range(indptr[row], indptr[row + 1]):
                    scores[t, indices[k]] += a * data[k]
        take_turn()


def add_rows_pullback(
    const int32_t[:, ::1] rows,
    const int8_t[::1] kind,
    const place[::1] indptr,
    const int32_t[::1] indices,
    const double[::1] data,
    const double[:, ::1] weight,   # (n_tokens, n_labels) derivative by the scores IN
    double[:, ::1] gradient,       # (n_kinds, n_slots) derivative by the exponents INOUT
):
    """gradient[kind[t], s] += sum_y weights[rows[t, s], y] * weight[t, y]"""
    cdef:
        int64_t t, s, k, row
        double total
    with nogil:
        give_turn()
        for t in range(rows.shape[0]):
            for s in range(rows.shape[1]):
                row = rows[t, s]
                if row < 0:
                    continue
                total = 0.0
                for k in range(indptr[row], indptr[row + 1]):
                    total += data[k] * weight[t, indices[k]]
                gradient[kind[t], s] += total
        take_turn()
