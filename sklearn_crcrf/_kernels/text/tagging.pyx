"""The labels of sequences, in one call: chains, whose transition scores do not change. Objects are
immutable; all work space belongs to the call. See chain/viterbi.pxi for the recursion.
"""

from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.ref cimport Py_INCREF
from libc.math cimport exp, log
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from sklearn_crcrf._kernels.vectors cimport exponentiate, pack, product

include "sklearn_crcrf/_kernels/chain/viterbi.pxi"

# Below this number of scores the interpreter lock is kept: to get it back could take longer than
# the work.
cdef enum: SHORT = 8192
# Number of sequences that are read, then labelled without the interpreter lock.
cdef enum: BATCH = 32
cdef enum: ALIGNED = 64
# Scores of one token may differ by this much, so that no probability is rounded to 0.
cdef double WIDEST = 600.0


cdef struct Decoded:
    double value                   # of the best path
    int64_t improper               # the first token with a score of NaN or inf, -1 for none


cdef class ChainTables:
    """Transition, begin and end scores of a chain, as the search for the best path reads them."""

    cdef:
        Step step                  # all of it but the work space of a call
        double[:, ::1] ends        # (2, width) begin and end scores
        double top                 # the highest transition score
        double spread              # less the lowest one
        double[:, ::1] forwards    # (n, width) exp(transition - top), packed
        double[:, ::1] backwards   # its transpose, packed
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
        self.top = max(np.max(transition), -1e300)
        self.spread = self.top - np.min(transition)
        self.forwards, self.backwards = rows_of(n, self.step.width), rows_of(n, self.step.width)
        potential = np.exp(np.subtract(transition, self.top))
        self.set_potentials(potential)

    cdef void set_potentials(self, const double[:, ::1] potential):
        cdef int64_t n = potential.shape[0]
        pack(&potential[0, 0], n, n, 1, &self.forwards[0, 0])
        pack(&potential[0, 0], n, 1, n, &self.backwards[0, 0])

    cdef double sum_paths(
        self,
        const double *state,           # (n_tokens, width) IN
        int64_t n_tokens,
        double *work,                  # (3 * n_tokens + 1) * width + n_tokens numbers
        double *marginals,             # (n_tokens, n) OUT
    ) noexcept nogil:
        """The log-partition, by the scaled recursions forwards and backwards.

        It is NaN if scores differ so much that probabilities could be rounded to 0; then there are
        no probabilities.

        With v_t(j) = exp(state(t, j) - m_t), and m_t the highest score of the token:
        alpha_t(j) = v_t(j) sum_i alpha_{t-1}(i) exp(transition(i, j) - top) / c_t, where c_t makes
        the sum 1; beta_t(i) = sum_j exp(transition(i, j) - top) v_{t+1}(j) beta_{t+1}(j) / c_{t+1};
        p(y_t = j) = alpha_t(j) beta_t(j), and log Z is the sum of all log c_t, m_t and top.
        """
        cdef:
            int64_t n = self.step.n, width = self.step.width, t, j
            double *v = work
            double *alpha = v + n_tokens * width
            double *beta = alpha + n_tokens * width
            double *ahead = beta + n_tokens * width
            double *c = ahead + width
            double *row
            double log_z = (n_tokens - 1) * self.top, high, low
        for t in range(n_tokens):
            row = v + t * width
            high, low = -INFINITY, INFINITY
            for j in range(width):
                row[j] = state[t * width + j] if j < n else -INFINITY
            for j in range(n):
                if t == 0:
                    row[j] += self.ends[0, j]
                if t == n_tokens - 1:
                    row[j] += self.ends[1, j]
                high, low = max(high, row[j]), min(low, row[j])
            if not high - low + self.spread < WIDEST:
                return NAN
            exponentiate(row, width, high, row)
            log_z += high
        for t in range(n_tokens):
            row = alpha + t * width
            if t > 0:
                product(row - width, 1, &self.forwards[0, 0], n, width, row)
            c[t] = 0.0
            for j in range(width):
                row[j] = v[t * width + j] * (row[j] if t > 0 else 1.0)
                c[t] += row[j]
            log_z += log(c[t])
            for j in range(width):
                row[j] /= c[t]
        for t in range(n_tokens - 1, -1, -1):
            row = beta + t * width
            for j in range(width):
                row[j] = 1.0
            if t < n_tokens - 1:
                for j in range(width):
                    ahead[j] = row[width + j] * v[(t + 1) * width + j] / c[t + 1]
                product(ahead, 1, &self.backwards[0, 0], n, width, row)
            for j in range(n):
                marginals[t * n + j] = alpha[t * width + j] * row[j]
        return log_z

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


cdef class BatchTagger:
    """Labels sequences: their tokens are read with the interpreter lock, all else is done without.

    A subclass reads the tokens of a batch into work space of work_size bytes, all zero, and finds the
    best paths.
    """

    cdef:
        size_t work_size
        int64_t n_labels
        list labels

    cdef list read(self, object tokens, void *work):
        """Read the tokens of one more sequence; return them."""

    cdef int arrange(self, list sequences, void *work) except -1:
        """Prepare the search, given the tokens of all sequences; the interpreter lock is held."""

    cdef void look_up(self, void *work) noexcept nogil:
        """Look up all tokens."""

    cdef bint decode(
        self, void *work, int64_t i, int64_t start, int64_t stop, int32_t *path, Decoded *decoded
    ) noexcept nogil:
        """The best path of sequence i, the tokens from start to stop; False if there is no memory."""

    cdef void free_work(self, void *work) noexcept nogil:
        """Free what a work space points to."""

    def __call__(self, tokens):
        """The labels of the best path."""
        cdef:
            int64_t n_tokens
            int32_t *path = self.label_batch([tokens], 0, 1, &n_tokens)
        try:
            return spelled(self.labels, path, n_tokens)
        finally:
            free(path)

    def many(self, list sequences not None):
        """The labels of the best paths of all sequences."""
        cdef:
            int64_t[::1] n_tokens = np.empty(len(sequences) + 1, dtype=np.int64)
            list out = []
            int64_t i
            const int32_t *path
        paths = self.paths(sequences, n_tokens)
        path = <const int32_t *>first_byte(paths)
        for i in range(n_tokens.shape[0] - 1):
            out.append(spelled(self.labels, path, n_tokens[i]))
            path += n_tokens[i]
        return out

    def paths(self, list sequences not None, int64_t[::1] n_tokens):
        """The numbers of the labels of the best paths, one after the other, int32.

        n_tokens (n_sequences,), or longer, OUT is their lengths.
        """
        cdef:
            list out = [np.empty(0, dtype=np.int32)]
            Py_ssize_t start, stop
            int64_t i, n
            int32_t *path
        sequences = list(sequences)
        for start in range(0, len(sequences), BATCH):
            stop = min(start + BATCH, len(sequences))
            path = self.label_batch(sequences, start, stop, &n_tokens[start])
            n = 0
            for i in range(start, stop):
                n += n_tokens[i]
            out.append(copied(path, n))
        return np.concatenate(out)

    cdef int32_t *label_batch(
        self, list sequences, Py_ssize_t start, Py_ssize_t stop, int64_t *n_tokens
    ) except NULL:
        """The paths of the sequences from start to stop, to be freed; n_tokens (stop - start,) OUT."""
        cdef:
            int64_t[BATCH + 1] first
            Decoded[BATCH] decoded
            void *work = calloc(1, self.work_size)
            int32_t *path = NULL
            int64_t n = stop - start, i
            bint has_memory
        first[0] = 0
        try:
            if work == NULL:
                raise MemoryError
            kept = self.read_batch(sequences, start, stop, work)
            for i in range(n):
                n_tokens[i] = len(kept[i])
                first[i + 1] = first[i] + n_tokens[i]
            self.arrange(kept, work)
            path = <int32_t *>malloc(first[n] * sizeof(int32_t) + 1)
            if path == NULL:
                raise MemoryError
            if first[n] * self.n_labels < SHORT:
                has_memory = self.decode_batch(work, n, first, path, decoded)
            else:
                with nogil:
                    has_memory = self.decode_batch(work, n, first, path, decoded)
            if not has_memory:
                raise MemoryError
            for i in range(n):
                if first[i + 1] > first[i]:
                    check_decoded(decoded[i], start + i if len(sequences) > 1 else -1)
            return path
        except BaseException:
            free(path)
            raise
        finally:
            if work != NULL:
                self.free_work(work)
            free(work)

    cdef list read_batch(self, list sequences, Py_ssize_t start, Py_ssize_t stop, void *work):
        cdef:
            list kept = []
            Py_ssize_t i
        for i in range(start, stop):
            try:
                kept.append(self.read(sequences[i], work))
            except (TypeError, ValueError) as error:
                raise_in(error, i, len(sequences))
        return kept

    cdef bint decode_batch(
        self, void *work, int64_t n, const int64_t *first, int32_t *path, Decoded *decoded
    ) noexcept nogil:
        cdef:
            int64_t i
            bint has_memory = True
        self.look_up(work)
        for i in range(n):
            if has_memory and first[i + 1] > first[i]:
                has_memory = self.decode(
                    work, i, first[i], first[i + 1], path + first[i], &decoded[i]
                )
        return has_memory


cdef int raise_in(object error, Py_ssize_t sequence, Py_ssize_t n_sequences) except -1:
    """Raise an error in a sequence, with its number if there are several."""
    if n_sequences == 1:
        raise error
    raise type(error)(f"sequence {sequence}: {error}") from None


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


cdef object copied(int32_t *path, int64_t n_tokens):
    """An array of a path, which is freed."""
    try:
        array = np.empty(n_tokens, dtype=np.int32)
        memcpy(<void *>first_byte(array), path, n_tokens * sizeof(int32_t))
        return array
    finally:
        free(path)


cdef inline void *aligned(void *memory) noexcept nogil:
    """The first place in memory that vectors can be aligned to."""
    return <void *>((<size_t>memory + ALIGNED - 1) & ~<size_t>(ALIGNED - 1))


include "sequence_paths.pxi"
include "linear_tagging.pxi"
include "counted_tagging.pxi"
