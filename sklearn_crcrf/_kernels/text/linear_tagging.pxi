# The labels of sequences whose scores are linear in the attributes of tokens.

from libc.stdlib cimport qsort

from sklearn_crcrf._kernels.text.tokens cimport (
    Attribute, AttributeReader, Attributes, free_attributes, look_up
)
from sklearn_crcrf._kernels.sparse.weights cimport add_sparse_rows
from sklearn_crcrf._kernels.vectors cimport add_sum, prefetch

# Known attributes of a token up to this number, in whole blocks, are sorted by counting.
cdef enum:
    BLOCK = 16
    FEW = 256


cdef struct Weights:
    # Of attributes: dense, or the rows of a CSR matrix, of single or of double precision
    const int32_t *row             # (n_attributes,) -1 for none; NULL if attribute k has row k
    int64_t n_labels
    const void *dense              # (n_rows, n_labels), or NULL
    const int64_t *indptr
    const int32_t *columns
    const void *data
    const void *zeros              # (n_labels,)


cdef struct ReadBatch:
    # The attributes of the sequences of a batch
    int64_t n
    Attributes[BATCH] sequences


cdef class LinearTagger(BatchTagger):
    """Labels by scores that are linear in the attributes of tokens.

    chain; reader reads the attributes; row (n_attributes,) int32 has the row of weights of each
    attribute, -1 for none, or is None if attribute k has row k. The weights are a tuple of the dense
    array (n_rows, n_labels), or of the indptr, columns and data of a CSR matrix; they are checked
    beforehand. labels is a list of the n_labels labels.
    """

    cdef:
        ChainTables chain
        AttributeReader reader
        Weights weights
        bint is_single             # precision of weights
        tuple kept                 # what the weights point to

    def __cinit__(self, ChainTables chain not None, AttributeReader reader not None, row, weights,
                  list labels not None):
        self.chain, self.reader, self.labels = chain, reader, labels
        self.work_size, self.n_labels = sizeof(ReadBatch), len(labels)
        *_, values = weights
        self.is_single = values.dtype == np.float32
        zeros = np.zeros(len(labels))
        self.kept = row, weights, zeros
        self.weights.n_labels = len(labels)
        self.weights.row = <const int32_t *>first_byte(row)
        self.weights.zeros = first_byte(zeros)
        if len(weights) == 1:
            self.weights.dense = first_byte(weights[0])
        else:
            self.weights.dense = NULL
            self.weights.indptr = <const int64_t *>first_byte(weights[0])
            self.weights.columns = <const int32_t *>first_byte(weights[1])
            self.weights.data = first_byte(weights[2])

    cdef list read(self, object tokens, void *work):
        cdef ReadBatch *batch = <ReadBatch *>work
        kept = self.reader.read(tokens, &batch.sequences[batch.n])
        batch.n += 1
        return kept

    cdef void free_work(self, void *work) noexcept nogil:
        cdef:
            ReadBatch *batch = <ReadBatch *>work
            int64_t i
        for i in range(batch.n):
            free_attributes(&batch.sequences[i])

    def scores_of(self, list sequences not None):
        """State scores of all sequences, one after the other, and None for no edges.

        State scores are (n_tokens, n_labels), in the precision of the weights.
        """
        cdef list parts = []
        for i, tokens in enumerate(sequences):
            try:
                parts.append(self.state_scores(tokens))
            except (TypeError, ValueError) as error:
                raise_in(error, i, len(sequences))
        if len(parts) == 1:
            return parts[0], None
        none = np.empty((0, self.n_labels), dtype=np.float32 if self.is_single else np.float64)
        return np.concatenate([none, *parts]), None

    cdef object state_scores(self, object tokens):
        cdef:
            Attributes attributes
            float[:, ::1] single
            double[:, ::1] double_
            void *out
            bint has_memory
        kept = self.reader.read(tokens, &attributes)
        try:
            shape = len(kept), self.weights.n_labels
            if self.is_single:
                scores = single = np.empty(shape, dtype=np.float32)
                out = &single[0, 0] if len(kept) else NULL
            else:
                scores = double_ = np.empty(shape)
                out = &double_[0, 0] if len(kept) else NULL
            with nogil:
                look_up(&self.reader.strings.table, &attributes)
                if self.is_single:
                    has_memory = write_scores[float](
                        &self.weights, &attributes, self.weights.n_labels, <float *>out
                    )
                else:
                    has_memory = write_scores[double](
                        &self.weights, &attributes, self.weights.n_labels, <double *>out
                    )
            if not has_memory:
                raise MemoryError
            return scores
        finally:
            free_attributes(&attributes)

    cdef bint decode(
        self, void *work, int64_t i, int64_t start, int64_t stop, int32_t *path, Decoded *decoded
    ) noexcept nogil:
        cdef:
            int64_t width = self.chain.step.width, n_tokens = stop - start
            int64_t n_work = width + n_tokens * self.chain.step.n_words
            void *memory = malloc((n_tokens * width + n_work) * sizeof(double) + ALIGNED)
            double *delta = <double *>aligned(memory)
            bint has_memory = memory != NULL
        if has_memory:
            has_memory = self.write_padded(&(<ReadBatch *>work).sequences[i], delta)
        if has_memory:
            decoded[0] = self.chain.decode(NULL, n_tokens, delta, delta + n_tokens * width, path)
        free(memory)
        return has_memory

    cdef bint write_padded(self, Attributes *attributes, double *out) noexcept nogil:
        """State scores, (n_tokens, width), padded with NaN; False if there is no memory."""
        cdef:
            int64_t width = self.chain.step.width, n = self.weights.n_labels
            int64_t n_tokens = attributes.n_tokens, t, j
            float *single = NULL
            bint has_memory
        look_up(&self.reader.strings.table, attributes)
        if self.is_single:
            single = <float *>malloc(n_tokens * n * sizeof(float) + 1)
            has_memory = single != NULL
            if has_memory:
                has_memory = write_scores[float](&self.weights, attributes, n, single)
        else:
            has_memory = write_scores[double](&self.weights, attributes, width, out)
        for t in range(n_tokens if has_memory else 0):
            for j in range(n if self.is_single else 0):
                out[t * width + j] = single[t * n + j]
            for j in range(n, width):
                out[t * width + j] = NAN
        free(single)
        return has_memory

    def __call__(self, tokens):
        """The labels of the best path."""
        cdef SequencePaths paths = self.read_paths(tokens, None)
        return [] if paths is None else paths.find_best()

    def paths_of(self, tokens, otherwise):
        """The paths of one sequence, or None if it is empty; see SequencePaths."""
        return self.read_paths(tokens, otherwise)

    cdef SequencePaths read_paths(self, tokens, otherwise):
        cdef:
            Attributes attributes
            SequencePaths paths = None
            bint has_memory
        kept = self.reader.read(tokens, &attributes)
        try:
            if kept:
                paths = SequencePaths(self.chain, self.labels, len(kept), otherwise)
                if paths.is_short():
                    has_memory = self.write_padded(&attributes, paths.scores)
                else:
                    with nogil:
                        has_memory = self.write_padded(&attributes, paths.scores)
                if not has_memory:
                    raise MemoryError
            return paths
        finally:
            free_attributes(&attributes)


cdef bint write_scores(
    const Weights *weights, Attributes *attributes, int64_t stride,
    real *out,                     # (n_tokens, stride) OUT, the first n_labels of each row
) noexcept nogil:
    """State scores, summed in the order of the rows of weights; False if there is no memory."""
    cdef:
        int64_t t, start, stop, n = weights.n_labels
        int32_t *rows = <int32_t *>malloc(attributes.n * sizeof(int32_t) + 1)
        real *values = <real *>malloc(attributes.n * sizeof(real) + 1)
        bint has_memory = rows != NULL and values != NULL
        const real *data = <const real *>weights.data
        real *scores
    if has_memory:
        find_rows(weights, attributes, data)
        collect(attributes, rows, values)
        for t in range(attributes.n_tokens):
            start, stop, scores = attributes.first[t], attributes.first[t + 1], out + t * stride
            if weights.dense != NULL:
                add_sum(
                    rows + start, values + start, stop - start,
                    attributes.first[attributes.n_tokens] - stop, <const real *>weights.dense, n,
                    <const real *>weights.zeros, scores,
                )
                continue
            memset(scores, 0, n * sizeof(real))
            add_sparse_rows(
                rows + start, values + start, stop - start, weights.indptr, weights.columns, data,
                scores,
            )
    free(rows)
    free(values)
    return has_memory


cdef void find_rows(const Weights *weights, Attributes *attributes, const real *data) noexcept nogil:
    """Turn attributes into their rows of weights, and request what will be read of sparse rows."""
    cdef:
        int64_t k, at
        int32_t row
    for k in range(attributes.n):
        row = attributes.found[k].id
        if weights.row != NULL and row >= 0:
            row = weights.row[row]
        attributes.found[k].id = row
        if weights.dense == NULL and row >= 0:
            prefetch(&weights.indptr[row])
    for k in range(attributes.n if weights.dense == NULL else 0):
        row = attributes.found[k].id
        if row >= 0:
            at = weights.indptr[row]
            prefetch(&weights.columns[at])
            prefetch(&data[at])


cdef void collect(Attributes *attributes, int32_t *rows, real *values) noexcept nogil:
    """Write rows and values of the known attributes, as in the rows of a CSR matrix.

    The rows of a token are sorted and differ; afterwards ``attributes.first`` is where they begin.
    """
    cdef:
        int64_t t, k, start, stop, n, out = 0
        Attribute *found = attributes.found
        int32_t known[FEW]
        int32_t place[FEW]
    for t in range(attributes.n_tokens):
        start, stop, n = attributes.first[t], attributes.first[t + 1], 0
        attributes.first[t] = out
        for k in range(start, stop):
            if found[k].id >= 0:
                found[start + n] = found[k]
                n += 1
        if n > FEW:
            qsort(found + start, n, sizeof(Attribute), compare)
            for k in range(start, start + n):
                if out > attributes.first[t] and rows[out - 1] == found[k].id:
                    values[out - 1] += <real>found[k].value
                else:
                    rows[out], values[out] = found[k].id, <real>found[k].value
                    out += 1
            continue
        for k in range(n):
            known[k] = found[start + k].id
        count_smaller(known, n, place)
        for k in range(n):
            rows[out + k], values[out + k] = -1, 0
        for k in range(n):
            rows[out + place[k]] = known[k]
            values[out + place[k]] += <real>found[start + k].value
        start = out
        for k in range(start, start + n):
            rows[out], values[out] = rows[k], values[k]
            out += rows[k] >= 0
    attributes.first[attributes.n_tokens] = out


cdef void count_smaller(int32_t *known, int64_t n, int32_t *place) noexcept nogil:
    """How many numbers are smaller than each; there is room for whole blocks."""
    cdef int64_t i, j, n_all = (n + BLOCK - 1) // BLOCK * BLOCK
    for j in range(n_all):
        place[j] = 0
    for j in range(n, n_all):
        known[j] = 0
    for i in range(n):
        for j in range(n_all):
            place[j] += known[i] < known[j]


cdef int compare(const void *a, const void *b) noexcept nogil:
    """Order by row, then as attributes were read."""
    cdef:
        const Attribute *left = <const Attribute *>a
        const Attribute *right = <const Attribute *>b
    if left.id != right.id:
        return -1 if left.id < right.id else 1
    return -1 if left.start < right.start else left.start > right.start


cdef const void *first_byte(array):
    """Where an array begins, NULL for None."""
    return NULL if array is None else <const void *><size_t>array.ctypes.data
