# The labels of one sequence, in one call: chains, whose transition scores do not change, and scores
# that are linear in attributes. Objects are immutable; all work space belongs to the call. See
# _viterbi.pxi for the recursion.

from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.ref cimport Py_INCREF
from libc.stdlib cimport calloc, free, malloc, qsort
from libc.string cimport memset

from sklearn_crcrf._kernels._attribute_reader cimport (
    Attribute, AttributeReader, Attributes, free_attributes, look_up
)
from sklearn_crcrf._kernels._counted_scores cimport CountedScores, Work, free_work
from sklearn_crcrf._kernels._sparse_product cimport add_sparse_row
from sklearn_crcrf._kernels.vectors cimport add_sum

# Attributes of a token up to this number are sorted by insertion.
cdef enum: FEW = 32
# Below this number of scores the interpreter lock is kept: to get it back could take longer than
# the work.
cdef enum: SHORT = 8192
# Number of sequences that are read, then labelled without the interpreter lock.
cdef enum: BATCH = 32
cdef enum: ALIGNED = 64


cdef struct Decoded:
    double value                   # of the best path
    int64_t improper               # the first token with a score of NaN or inf, -1 for none


cdef class ChainTables:
    """Transition, begin and end scores of a chain, as the search for the best path reads them."""

    cdef:
        Step step                  # all of it but the work space of a call
        double[:, ::1] ends        # (2, width) begin and end scores
        list kept                  # what the step points to

    def __cinit__(
        self,
        const double[:, ::1] transition,  # (n, n)
        const double[::1] begin,   # (n,)
        const double[::1] end,     # (n,)
    ):
        cdef:
            int64_t n = transition.shape[0], j
            double[:, ::1] matrix = padded_rows(transition, False)
            double[:, ::1] transposed = padded_rows(transition, True)
        self.ends = rows_of(2, padded_d(n), 0.0)
        for j in range(n):
            self.ends[0, j], self.ends[1, j] = begin[j], end[j]
        self.kept = [matrix, transposed, *make_work_space(&self.step, n, 0)]
        self.step.transition, self.step.transposed = &matrix[0, 0], &transposed[0, 0]
        self.step.edges.score = NULL
        for j in range(n):
            gain_row(&self.step, j)

    cdef Decoded decode(
        self,
        const Edges *edges,        # into the tokens, or NULL
        int64_t n_tokens,
        double *delta,             # (n_tokens, width) state scores, padded with NaN INOUT
        double *into,              # (width + n_tokens * n_words,) work space
        int32_t *labels,           # (n_tokens,) OUT
    ) noexcept nogil:
        """The best path."""
        cdef:
            Step step = self.step
            Team team
            Decoded decoded
            int64_t t, j
            double *last = delta + (n_tokens - 1) * step.width
            bint is_proper
        step.into, step.rivals = into, <uint64_t *>(into + step.width)
        if edges != NULL:
            step.edges = edges[0]
        team.size = team.ways = 1
        team.first[0], team.length[0] = 0, n_tokens
        decoded.improper = -1
        for t in range(n_tokens - 1, -1, -1):
            is_proper = True
            for j in range(step.n):
                is_proper &= delta[t * step.width + j] < INFINITY
            if not is_proper:
                decoded.improper = t
        for j in range(step.n):
            delta[j] += self.ends[0, j]
        for j in range(step.n):
            last[j] += self.ends[1, j]
        max_forward(&step, &team, delta)
        trace_back(&step, &team, delta, labels)
        decoded.value = last[labels[n_tokens - 1]]
        return decoded


cdef struct Weights:
    # Of attributes: dense, or the rows of a CSR matrix, of single or of double precision
    const int32_t *row             # (n_attributes,) -1 for none; NULL if attribute k has row k
    int64_t n_labels
    const void *dense              # (n_rows, n_labels), or NULL
    const int64_t *indptr
    const int32_t *columns
    const void *data
    const void *zeros              # (n_labels,)


cdef class BatchTagger:
    """Labels sequences: their tokens are read with the interpreter lock, all else is done without.

    A subclass reads the tokens of a sequence into work space of work_size bytes, all zero, and finds the
    best path.
    """

    cdef:
        size_t work_size
        int64_t n_labels
        list labels

    cdef int64_t read(self, object tokens, void *work) except -1:
        """Read the tokens of a sequence; return their number. If this fails, nothing is to free."""

    cdef bint decode(self, void *work, int32_t *path, Decoded *decoded) noexcept nogil:
        """The best path of at least one token; False if there is no memory."""

    cdef void free_work(self, void *work) noexcept nogil:
        """Free what a work space points to."""

    def __call__(self, tokens):
        """The labels of the best path."""
        return self.label_batch([tokens], 0, 1)[0]

    def many(self, list sequences not None):
        """The labels of the best paths of all sequences."""
        cdef:
            list out = []
            Py_ssize_t start
        sequences = list(sequences)
        for start in range(0, len(sequences), BATCH):
            out += self.label_batch(sequences, start, min(start + BATCH, len(sequences)))
        return out

    cdef list label_batch(self, list sequences, Py_ssize_t start, Py_ssize_t stop):
        cdef:
            int64_t[BATCH + 1] first
            Decoded[BATCH] decoded
            char *works = <char *>calloc(stop - start, self.work_size)
            int32_t *path = NULL
            int64_t n_read = 0, n = stop - start, i
            bint has_memory = True
        first[0] = 0
        try:
            if works == NULL:
                raise MemoryError
            for i in range(n):
                try:
                    n_read = i
                    first[i + 1] = first[i] + self.read(
                        sequences[start + i], works + i * self.work_size
                    )
                    n_read = i + 1
                except (TypeError, ValueError) as error:
                    if len(sequences) == 1:
                        raise
                    raise type(error)(f"sequence {start + i}: {error}") from None
            path = <int32_t *>malloc(first[n] * sizeof(int32_t) + 1)
            if path == NULL:
                raise MemoryError
            if first[n] * self.n_labels < SHORT:
                has_memory = self.decode_batch(works, n, first, path, decoded)
            else:
                with nogil:
                    has_memory = self.decode_batch(works, n, first, path, decoded)
            if not has_memory:
                raise MemoryError
            for i in range(n):
                if first[i + 1] > first[i]:
                    check_decoded(decoded[i], start + i if len(sequences) > 1 else -1)
            return [spelled(self.labels, path + first[i], first[i + 1] - first[i]) for i in range(n)]
        finally:
            for i in range(n_read):
                self.free_work(works + i * self.work_size)
            free(works)
            free(path)

    cdef bint decode_batch(
        self, char *works, int64_t n, const int64_t *first, int32_t *path, Decoded *decoded
    ) noexcept nogil:
        cdef:
            int64_t i
            bint has_memory = True
        for i in range(n):
            if has_memory and first[i + 1] > first[i]:
                has_memory = self.decode(works + i * self.work_size, path + first[i], &decoded[i])
        return has_memory


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
        self.work_size, self.n_labels = sizeof(Attributes), len(labels)
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

    cdef int64_t read(self, object tokens, void *work) except -1:
        return len(self.reader.read(tokens, <Attributes *>work))

    cdef void free_work(self, void *work) noexcept nogil:
        free_attributes(<Attributes *>work)

    def state_scores(self, tokens):
        """State scores, (n_tokens, n_labels), in the precision of the weights, and no edges."""
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
            return scores, None
        finally:
            free_attributes(&attributes)

    cdef bint decode(self, void *work, int32_t *path, Decoded *decoded) noexcept nogil:
        cdef:
            Attributes *attributes = <Attributes *>work
            int64_t width = self.chain.step.width, n = self.weights.n_labels
            int64_t n_tokens = attributes.n_tokens
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


cdef class CountedTagger(BatchTagger):
    """Labels by scores that are sums of counted weights of words, their spelling and contexts."""

    cdef:
        ChainTables chain
        CountedScores scores

    def __cinit__(
        self, ChainTables chain not None, CountedScores scores not None, list labels not None
    ):
        self.chain, self.scores, self.labels = chain, scores, labels
        self.work_size, self.n_labels = sizeof(Work), len(labels)

    cdef int64_t read(self, object tokens, void *work) except -1:
        self.scores.read(tokens, <Work *>work)
        return (<Work *>work).n

    cdef void free_work(self, void *work) noexcept nogil:
        free_work(<Work *>work, self.scores.n_texts)

    def state_scores(self, tokens):
        """State scores, (n_tokens, n_labels), and edges: row, indptr, previous, current, score."""
        cdef:
            Work work
            double[:, ::1] out
            int64_t n
            bint has_memory = True
        self.scores.read(tokens, &work)
        try:
            state = out = np.empty((work.n, self.scores.n_labels))
            if work.n == 0:
                return state, None
            with nogil:
                has_memory = self.scores.write_scores(&work, self.scores.n_labels, &out[0, 0])
            if not has_memory:
                raise MemoryError
            n = work.n_edges
            if n == 0:
                return state, None
            return state, (
                np.array(<int64_t[: work.n]>work.edge_row),
                np.array(<int64_t[: work.n + 1]>work.edge_indptr),
                np.array(<int32_t[:n]>work.edges.previous),
                np.array(<int32_t[:n]>work.edges.current),
                np.array(<double[:n]>work.edges.score),
            )
        finally:
            free_work(&work, self.scores.n_texts)

    cdef bint decode(self, void *place, int32_t *path, Decoded *decoded) noexcept nogil:
        cdef:
            Work *work = <Work *>place
            int64_t width = self.chain.step.width, n = self.scores.n_labels, t, j
            void *memory = malloc(
                ((work.n + 1) * width + work.n * self.chain.step.n_words) * sizeof(double) + ALIGNED
            )
            double *delta = <double *>aligned(memory)
            bint has_memory = memory != NULL
        if has_memory:
            has_memory = self.scores.write_scores(work, width, delta)
        if has_memory:
            for t in range(work.n):
                for j in range(n, width):
                    delta[t * width + j] = NAN
            decoded[0] = self.chain.decode(
                &work.edges, work.n, delta, delta + work.n * width, path
            )
        free(memory)
        return has_memory


cdef bint write_scores(
    const Weights *weights,
    Attributes *attributes,
    int64_t stride,
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
        int64_t t, k, n, start, stop, out = 0
        Attribute *found
    for t in range(attributes.n_tokens):
        start, stop = attributes.first[t], attributes.first[t + 1]
        found = attributes.found + start
        n = sort_known(row_of, found, stop - start)
        attributes.first[t] = start = out
        for k in range(n):
            if out > start and rows[out - 1] == found[k].id:
                values[out - 1] += <real>found[k].value
            else:
                rows[out], values[out] = found[k].id, <real>found[k].value
                out += 1
    attributes.first[attributes.n_tokens] = out


cdef int64_t sort_known(const int32_t *row_of, Attribute *found, int64_t n) noexcept nogil:
    """Sort attributes by the rows of their weights, without the unknown ones; return how many."""
    cdef:
        int64_t k, at, n_known = 0
        Attribute one
    for k in range(n):
        one = found[k]
        if one.id >= 0 and row_of != NULL:
            one.id = row_of[one.id]
        if one.id < 0:
            continue
        at = n_known
        while n <= FEW and at > 0 and found[at - 1].id > one.id:
            found[at] = found[at - 1]
            at -= 1
        found[at] = one
        n_known += 1
    if n > FEW:
        qsort(found, n_known, sizeof(Attribute), compare)
    return n_known


cdef int compare(const void *a, const void *b) noexcept nogil:
    """Order by row, then as attributes were read."""
    cdef:
        const Attribute *left = <const Attribute *>a
        const Attribute *right = <const Attribute *>b
    if left.id != right.id:
        return -1 if left.id < right.id else 1
    return -1 if left.start < right.start else left.start > right.start


cdef int check_decoded(Decoded decoded, Py_ssize_t sequence) except -1:
    """Raise ValueError unless the best path is possible and its score finite."""
    who = "tokens" if sequence < 0 else f"sequence {sequence}"
    if decoded.improper >= 0 or not decoded.value < INFINITY:
        where = f", position {decoded.improper}" if decoded.improper >= 0 else ""
        raise ValueError(
            f"{who}{where}: the scores of labels are not finite, since the values of attributes "
            "or the weights of the model are too large; scale the attributes"
        )
    if decoded.value == -INFINITY:
        raise ValueError(
            f"no path of {'the tokens' if sequence < 0 else who} is possible"
        )
    return 0


cdef list spelled(list labels, const int32_t *path, int64_t n_tokens):
    """The labels of a path."""
    cdef:
        list out = PyList_New(n_tokens)
        int64_t t
    for t in range(n_tokens):
        label = labels[path[t]]
        Py_INCREF(label)
        PyList_SET_ITEM(out, t, label)
    return out


cdef const void *first_byte(array):
    """Where an array begins, NULL for None."""
    return NULL if array is None else <const void *><size_t>array.ctypes.data


cdef inline void *aligned(void *memory) noexcept nogil:
    """The first place in memory that vectors can be aligned to."""
    return <void *>((<size_t>memory + ALIGNED - 1) & ~<size_t>(ALIGNED - 1))
