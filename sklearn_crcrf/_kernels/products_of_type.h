/* Products of matrices and sums of their rows; included by vectors.h for each type, after
   vectors_of_type.h. */

/* Pack a matrix of n rows and columns, with the given strides, into panels of TILE_VECTORS vectors,
   in the order in which products read it; padded with zeros. */
static inline void NAME(pack)(const double *matrix, int64_t n, int64_t row_stride,
                              int64_t column_stride, REAL *out) {
    for (int64_t p = 0; p < n; p += TILE_VECTORS * LANES) {
        int64_t size = n - p < TILE_VECTORS * LANES ? n - p : TILE_VECTORS * LANES;
        int64_t stop = p + NAME(padded)(size);
        for (int64_t k = 0; k < n; k++)
            for (int64_t j = p; j < stop; j++)
                *out++ = j < n ? (REAL)matrix[k * row_stride + j * column_stride] : 0;
    }
}

INLINE void NAME(product_tile)(const int rows, const int vectors, const REAL *a, const REAL *panel,
                               int64_t n, int64_t width, REAL *out) {
    VECTOR sum[TILE_ROWS][TILE_VECTORS];
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++) sum[r][v] = NAME(splat)(0);
    for (int64_t k = 0; k < n; k++, panel += vectors * LANES)
        for (int r = 0; r < rows; r++)
            for (int v = 0; v < vectors; v++) sum[r][v] += a[r * width + k] * AT(panel + v * LANES);
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++) AT(out + r * width + v * LANES) = sum[r][v];
}

INLINE void NAME(product_panel)(const int vectors, const REAL *a, int64_t n_rows, const REAL *panel,
                                int64_t n, int64_t width, REAL *out) {
    int64_t r = 0;
    for (; r + TILE_ROWS <= n_rows; r += TILE_ROWS)
        NAME(product_tile)(TILE_ROWS, vectors, a + r * width, panel, n, width, out + r * width);
    for (; TILE_ROWS > 4 && r + 4 <= n_rows; r += 4)
        NAME(product_tile)(4, vectors, a + r * width, panel, n, width, out + r * width);
    for (; r + 2 <= n_rows; r += 2)
        NAME(product_tile)(2, vectors, a + r * width, panel, n, width, out + r * width);
    for (; r < n_rows; r++)
        NAME(product_tile)(1, vectors, a + r * width, panel, n, width, out + r * width);
}

/* out = a @ matrix, (n_rows, n) by (n, n); the matrix is packed. */
static void NAME(product)(const REAL *a, int64_t n_rows, const REAL *packed, int64_t n,
                          int64_t width, REAL *out) {
    for (int64_t p = 0; p < width; p += TILE_VECTORS * LANES) {
        int64_t vectors = (width - p) / LANES;
        BY_TILE(vectors, NAME(product_panel), a, n_rows, packed, n, width, out + p);
        packed += n * (vectors < TILE_VECTORS ? vectors : TILE_VECTORS) * LANES;
    }
}

INLINE void NAME(outer_tile)(const int rows, const int vectors, const REAL *a, const REAL *b,
                             int64_t n_rows, int64_t width, REAL *out) {
    VECTOR sum[TILE_ROWS][TILE_VECTORS], other[TILE_ROWS][TILE_VECTORS];
    /* In a small tile, every other row is summed apart, so that additions can overlap. */
    const int is_small = rows * vectors <= 4;
    int64_t k = 0;
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++) {
            sum[r][v] = AT(out + r * width + v * LANES);
            other[r][v] = NAME(splat)(0);
        }
    for (; is_small && k + 2 <= n_rows; k += 2, a += 2 * width, b += 2 * width)
        for (int r = 0; r < rows; r++)
            for (int v = 0; v < vectors; v++) {
                sum[r][v] += a[r] * AT(b + v * LANES);
                other[r][v] += a[width + r] * AT(b + width + v * LANES);
            }
    for (; k < n_rows; k++, a += width, b += width)
        for (int r = 0; r < rows; r++)
            for (int v = 0; v < vectors; v++) sum[r][v] += a[r] * AT(b + v * LANES);
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++) AT(out + r * width + v * LANES) = sum[r][v] + other[r][v];
}

INLINE void NAME(outer_panel)(const int vectors, const REAL *a, const REAL *b, int64_t n_rows,
                              int64_t n, int64_t width, REAL *out) {
    int64_t i = 0;
    for (; i + TILE_ROWS <= n; i += TILE_ROWS)
        NAME(outer_tile)(TILE_ROWS, vectors, a + i, b, n_rows, width, out + i * width);
    for (; TILE_ROWS > 4 && i + 4 <= n; i += 4)
        NAME(outer_tile)(4, vectors, a + i, b, n_rows, width, out + i * width);
    for (; i + 2 <= n; i += 2)
        NAME(outer_tile)(2, vectors, a + i, b, n_rows, width, out + i * width);
    for (; i < n; i++) NAME(outer_tile)(1, vectors, a + i, b, n_rows, width, out + i * width);
}

/* out += a.T @ b, of n_rows rows each, n of the columns of a. */
static void NAME(outer_products)(const REAL *a, const REAL *b, int64_t n_rows, int64_t n,
                                 int64_t width, REAL *out) {
    for (int64_t p = 0; p < width; p += TILE_VECTORS * LANES) {
        int64_t vectors = (width - p) / LANES;
        BY_TILE(vectors, NAME(outer_panel), a, b + p, n_rows, n, width, out + p);
    }
}

/* Rows of a matrix are fetched from memory this number of entries ahead. */
#define AHEAD 24

static inline void NAME(fetch_row)(const REAL *row, int64_t n) {
    for (int64_t j = 0; j < n; j += 64 / sizeof(REAL)) PREFETCH(row + j);
    PREFETCH(row + n - 1);
}

/* Some vectors of a row of add_sum; the last of them may overlap the one before it. */
INLINE void NAME(sum_tile)(const int vectors, const int32_t *index, const REAL *value,
                           int64_t count, int64_t n_more, const REAL *matrix, int64_t n,
                           int64_t start, int64_t last, const REAL *base, REAL *out) {
    VECTOR sum[8];
    for (int v = 0; v < vectors - 1; v++) sum[v] = AT(base + start + v * LANES);
    sum[vectors - 1] = AT(base + last);
    for (int64_t k = 0; k < count; k++) {
        const REAL *row = matrix + index[k] * n;
        if (k + AHEAD < count + n_more) {
            const REAL *next = matrix + index[k + AHEAD] * n;
            for (int v = 0; v < vectors; v++) PREFETCH(next + start + v * LANES);
            PREFETCH(next + last + LANES - 1);
        }
        for (int v = 0; v < vectors - 1; v++) sum[v] += value[k] * AT(row + start + v * LANES);
        sum[vectors - 1] += value[k] * AT(row + last);
    }
    for (int v = 0; v < vectors - 1; v++) AT(out + start + v * LANES) = sum[v];
    AT(out + last) = sum[vectors - 1];
}

/* out = base + sum_k value[k] * matrix[index[k]], rows of n numbers that are not padded; n_more
   entries follow these, and the base may be out. */
static inline void NAME(add_sum)(const int32_t *index, const REAL *value, int64_t count,
                                 int64_t n_more, const REAL *matrix, int64_t n, const REAL *base,
                                 REAL *out) {
    if (n < LANES) {
        for (int64_t j = 0; j < n; j++) out[j] = base[j];
        for (int64_t k = 0; k < count; k++) {
            const REAL *row = matrix + index[k] * n;
            if (k + AHEAD < count + n_more) PREFETCH(matrix + index[k + AHEAD] * n);
            for (int64_t j = 0; j < n; j++) out[j] += value[k] * row[j];
        }
        return;
    }
    for (int64_t start = 0, size; start < n; start += size) {
        /* After these vectors nothing is left, or at least one vector. */
        int64_t rest = n - start;
        size = rest <= 8 * LANES ? rest : rest < 9 * LANES ? 7 * LANES : 8 * LANES;
        int64_t last = start + size - LANES;
#define SUM_TILE(vectors)                                                                       \
    NAME(sum_tile)(vectors, index, value, count, n_more, matrix, n, start, last, base, out); \
    break
        UP_TO_8((size + LANES - 1) / LANES, SUM_TILE)
#undef SUM_TILE
    }
}

#undef AHEAD
#undef LANES
#undef VECTOR
#undef MASK
#undef AT
