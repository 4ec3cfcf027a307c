/* Steps of the recursions of segments/sums.pyx. Included by segments/rows.h for each type. */

#if defined(VECTOR_BYTES)
#define LANES ((int)(VECTOR_BYTES / sizeof(REAL)))
#define VECTOR NAME(vector)
#define AT(address) (*(VECTOR *)(address))
#else
#define LANES 1
#define VECTOR REAL
#define AT(address) (*(address))
#endif
/* The vector at lane j of a row. */
#define ROW(base, row) AT((base) + (row) * SEQUENCES + j)

/* out[r] = factor * sum_i table[r, i] * rows[i] */
static inline void NAME(mix_rows)(const REAL *table, const REAL *rows, int64_t n_rows,
                                  const REAL *factor, int64_t n_out, REAL *out) {
    for (int64_t j = 0; j < SEQUENCES; j += LANES) {
        VECTOR by = AT(factor + j);
        const REAL *weight = table;
        int64_t r = 0;
        /* Four rows at once, so that each row is read once for all of them. */
        for (; r + 4 <= n_out; r += 4, weight += 4 * n_rows) {
            VECTOR a = NAME(splat)(0), b = a, c = a, d = a;
            for (int64_t i = 0; i < n_rows; i++) {
                VECTOR x = ROW(rows, i);
                a += weight[i] * x;
                b += weight[n_rows + i] * x;
                c += weight[2 * n_rows + i] * x;
                d += weight[3 * n_rows + i] * x;
            }
            ROW(out, r) = by * a;
            ROW(out, r + 1) = by * b;
            ROW(out, r + 2) = by * c;
            ROW(out, r + 3) = by * d;
        }
        for (; r < n_out; r++, weight += n_rows) {
            VECTOR a = NAME(splat)(0);
            for (int64_t i = 0; i < n_rows; i++) a += weight[i] * ROW(rows, i);
            ROW(out, r) = by * a;
        }
    }
}

/* pairs[a, b] += factor * first[a] * second[b] */
static inline void NAME(add_row_pairs)(const REAL *factor, const REAL *first, int64_t n_first,
                                   const REAL *second, int64_t n_second, REAL *pairs) {
    for (int64_t a = 0; a < n_first; a++, pairs += n_second * SEQUENCES) {
        for (int64_t j = 0; j < SEQUENCES; j += LANES) {
            VECTOR x = AT(factor + j) * ROW(first, a);
            for (int64_t b = 0; b < n_second; b++) ROW(pairs, b) += x * ROW(second, b);
        }
    }
}

/* largest = max(largest, rows) */
static inline void NAME(raise_to)(const REAL *rows, int64_t n_rows, REAL *largest) {
    for (int64_t j = 0; j < SEQUENCES; j += LANES) {
        VECTOR x = AT(largest + j);
        for (int64_t i = 0; i < n_rows; i++) x = NAME(larger)(ROW(rows, i), x);
        AT(largest + j) = x;
    }
}

/* out[r] = the sum of row r times the weight of each sequence */
static inline void NAME(weigh_rows)(const REAL *rows, int64_t n_rows, const REAL *weight,
                                    REAL *out) {
    for (int64_t r = 0; r < n_rows; r++) {
        VECTOR total = NAME(splat)(0);
        for (int64_t j = 0; j < SEQUENCES; j += LANES) total += AT(weight + j) * ROW(rows, r);
        out[r] = NAME(add_lanes)(total);
    }
}

/* Set opened and closed of type k at token t, and raise top. */
static inline void NAME(extend_segments)(const SegmentRows *n, const SegmentType *type, int64_t k,
                                         int64_t t, REAL *memory) {
    const int64_t m = n->positions, step = n->types * m * SEQUENCES;
    const REAL *v = memory + (n->v + t * n->labels) * SEQUENCES;
    const REAL *entry = memory + n->entry * SEQUENCES;
    const REAL *share = memory + (n->share + t) * SEQUENCES;
    const REAL *factor = memory + (n->factor + k * m) * SEQUENCES;
    const REAL *within = memory + (n->within + 4 * k) * SEQUENCES;
    REAL *closed = memory + (n->closed + t * n->ends) * SEQUENCES;
    REAL *opened = memory + (n->opened + k * m) * SEQUENCES + (t + 1) * step;
    REAL *top = memory + n->top * SEQUENCES;
    const REAL *before = opened - step;
    for (int64_t j = 0; j < SEQUENCES; j += LANES) {
        VECTOR inside = ROW(share, 0) * ROW(v, type->inside), more = inside * ROW(within, 1);
        VECTOR longer = ROW(before, m - 1), ending = longer * ROW(factor, m - 1);
        VECTOR x = ROW(entry, type->first_begin) * ROW(v, type->first), largest = ROW(top, 0);
        largest = NAME(larger)(x, largest);
        ROW(opened, 0) = x;
        x = ROW(before, 0) * inside * ROW(within, 0);
        for (int64_t d = 1; d < m - 1; d++) {
            VECTOR of_length = ROW(before, d);
            ROW(opened, d) = x;
            largest = NAME(larger)(x, largest);
            ending += of_length * ROW(factor, d + 1);
            x = of_length * more;
        }
        x += longer * more;
        ROW(opened, m - 1) = x;
        largest = NAME(larger)(x, largest);
        x = ROW(before, 0) * ROW(factor, 1) * ROW(within, 2) + ending * ROW(within, 3);
        x *= ROW(share, 0) * ROW(v, type->last);
        ROW(closed, type->last_end) = x;
        largest = NAME(larger)(x, largest);
        x = ROW(entry, type->single_begin) * ROW(v, type->single) * ROW(factor, 0);
        ROW(closed, type->single_end) = x;
        ROW(top, 0) = NAME(larger)(x, largest);
    }
}

/* The way back of extend_segments: add the expected counts of type k at token t, write the expected
   labels over v, and set after_open of the token before. Raises top to the sums set. */
static inline void NAME(retract_segments)(const SegmentRows *n, const SegmentType *type, int64_t k,
                                          int64_t t, REAL *memory) {
    const int64_t m = n->positions, step = n->types * m * SEQUENCES;
    const REAL *share = memory + (n->share + t) * SEQUENCES;
    const REAL *factor = memory + (n->factor + k * m) * SEQUENCES;
    const REAL *within = memory + (n->within + 4 * k) * SEQUENCES;
    const REAL *closed = memory + (n->closed + t * n->ends) * SEQUENCES;
    const REAL *opened = memory + (n->opened + k * m) * SEQUENCES + (t + 1) * step;
    const REAL *before = opened - step;
    const REAL *after_closed = memory + n->after_closed * SEQUENCES;
    REAL *v = memory + (n->v + t * n->labels) * SEQUENCES;
    REAL *after_open = memory + (n->after_open + k * m) * SEQUENCES;
    REAL *after_entry = memory + n->after_entry * SEQUENCES;
    REAL *closing = memory + (n->closing + 2 * k) * SEQUENCES;
    REAL *inner = memory + (n->inner + 4 * k) * SEQUENCES;
    REAL *lengths = memory + (n->lengths + k * m) * SEQUENCES;
    REAL *top = memory + n->top * SEQUENCES;
    for (int64_t j = 0; j < SEQUENCES; j += LANES) {
        VECTOR after = ROW(after_closed, type->single_end), largest = ROW(top, 0);
        VECTOR single = ROW(closed, type->single_end) * after;
        ROW(lengths, 0) += single;
        ROW(after_entry, type->single_begin) += ROW(v, type->single) * ROW(factor, 0) * after;
        after = ROW(after_open, 0);
        VECTOR first = ROW(opened, 0) * after;
        ROW(after_entry, type->first_begin) += ROW(v, type->first) * after;

        VECTOR last = ROW(v, type->last) * ROW(after_closed, type->last_end) * ROW(share, 0);
        VECTOR two = last * ROW(within, 2), many = last * ROW(within, 3);
        ROW(closing, 0) = two;
        ROW(closing, 1) = many;
        VECTOR inside = ROW(v, type->inside) * ROW(share, 0), more = inside * ROW(within, 1);
        after = ROW(after_open, 1);
        VECTOR sum = two * ROW(factor, 1), through = inside * ROW(within, 0) * after;
        VECTOR first_last = ROW(before, 0) * sum, first_inside = ROW(before, 0) * through;
        ROW(lengths, 1) += first_last;
        sum += through;
        ROW(after_open, 0) = sum;
        largest = NAME(larger)(sum, largest);
        VECTOR inside_last = NAME(splat)(0), inside_inside = inside_last;
        for (int64_t d = 1; d < m; d++) {
            /* The last position is followed by itself. */
            int64_t next = d + 1 < m ? d + 1 : d;
            VECTOR of_length = ROW(before, d), ends = many * ROW(factor, next);
            VECTOR ended = of_length * ends;
            after = ROW(after_open, next);
            sum = more * after + ends;
            ROW(after_open, d) = sum;
            largest = NAME(larger)(sum, largest);
            ROW(lengths, next) += ended;
            inside_last += ended;
            inside_inside += of_length * after;
        }
        inside_inside *= more;
        ROW(inner, 0) += first_inside;
        ROW(inner, 1) += inside_inside;
        ROW(inner, 2) += first_last;
        ROW(inner, 3) += inside_last;
        /* One label may be both the first and the only one, or both inside and last. */
        ROW(v, type->single) = ROW(v, type->inside) = NAME(splat)(0);
        ROW(v, type->first) = ROW(v, type->last) = NAME(splat)(0);
        ROW(v, type->single) += single;
        ROW(v, type->first) += first;
        ROW(v, type->inside) += first_inside + inside_inside;
        ROW(v, type->last) += first_last + inside_last;
        ROW(top, 0) = largest;
    }
}

#undef LANES
#undef VECTOR
#undef AT
#undef ROW
