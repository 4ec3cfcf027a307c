# The labels of sequences whose scores are linear in the attributes of tokens.

from libc.stdlib cimport qsort

from sklearn_crcrf._kernels.text.tokens cimport (
    Attribute, AttributeReader, Attributes, free_attributes, look_up
)
from sklearn_crcrf._kernels.sparse.weights cimport add_sparse_row
from sklearn_crcrf._kernels.vectors cimport add_sum

# Known attributes of a token up to this number are sorted by insertion.
cdef enum: FEW = 128


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
            Attributes *attributes = &(<ReadBatch *>work).sequences[i]
            int64_t width = self.chain.step.width, n = self.weights.n_labels
            int64_t n_tokens = stop - start
            int64_t n_work = width + n_tokens * self.chain.step.n_words
            int64_t n_single = n_tokens * n if self.is_single else 0
            void *memory = malloc((n_tokens * width + n_work) * sizeof(double) + ALIGNED)
            float *single = <float *>malloc(n_single * sizeof(float) + 1)
            double *delta = <double *>aligned(memory)
            bint has_memory = memory != NULL and single != NULL
            int64_t t, j
        if has_memory:
            look_up(&self.reader.strings.table, attributes)
            if self.is_single:
                has_memory = write_scores[float](&self.weights, attributes, n, single)
            else:
                has_memory = write_scores[double](&self.weights, attributes, width, delta)
        if has_memory:
            for t in range(n_tokens):
                for j in range(n if self.is_single else 0):
                    delta[t * width + j] = single[t * n + j]
                for j in range(n, width):
                    delta[t * width + j] = NAN
            decoded[0] = self.chain.decode(NULL, n_tokens, delta, delta + n_tokens * width, path)
        free(memory)
        free(single)
        return has_memory


cdef bint write_scores(
    const Weights *weights, Attributes *attributes, int64_t stride,
    real *out,                     # (n_tokens, stride) OUT, the first n_labels of each row
) noexcept nogil:
    """State scores, summed in the order of the rows of weights; False if there is no memory."""
    cdef:
        int64_t t, k, row, start, stop, n = weights.n_labels
        int32_t *rows = <int32_t *>malloc(attributes.n * sizeof(int32_t) + 1)
        real *values = <real *>malloc(attributes.n * sizeof(real) + 1)
        bint has_memory = rows != NULL and values != NULL
        const real *data = <const real *>weights.data
        real *scores
    if has_memory:
        collect(weights.row, attributes, rows, values)
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
            for k in range(start, stop):
                row = weights.indptr[rows[k]]
                add_sparse_row(
                    values[k], weights.columns + row, data + row, weights.indptr[rows[k] + 1] - row,
                    scores,
                )
    free(rows)
    free(values)
    return has_memory


cdef void collect(
    const int32_t *row_of, Attributes *attributes, int32_t *rows, real *values
) noexcept nogil:
    """Write rows and values of the known attributes, as in the rows of a CSR matrix.

    The rows of a token are sorted and differ; afterwards ``attributes.first`` is where they begin.
    """
    cdef:
        int64_t t, k, at, start, stop, first, last, n_known, out = 0
        int32_t id
        Attribute *found = attributes.found
    for k in range(attributes.n if row_of != NULL else 0):
        found[k].id = row_of[found[k].id] if found[k].id >= 0 else -1
    for t in range(attributes.n_tokens):
        start, stop = attributes.first[t], attributes.first[t + 1]
        n_known = 0
        for k in range(start, stop):
            n_known += found[k].id >= 0
        if n_known > FEW:
            qsort(found + start, stop - start, sizeof(Attribute), compare)
        attributes.first[t] = first = last = out
        for k in range(start, stop):
            id, at = found[k].id, last
            if id < 0:
                continue
            while at > first and rows[at - 1] > id:
                rows[at], values[at] = rows[at - 1], values[at - 1]
                at -= 1
            rows[at], values[at] = id, <real>found[k].value
            last += 1
        for k in range(first, last):
            if out > first and rows[out - 1] == rows[k]:
                values[out - 1] += values[k]
            else:
                rows[out], values[out] = rows[k], values[k]
                out += 1
    attributes.first[attributes.n_tokens] = out


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
