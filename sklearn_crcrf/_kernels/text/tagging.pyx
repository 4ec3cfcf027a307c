"""The labels of sequences, in one call: chains, whose transition scores do not change. Objects are
immutable; all work space belongs to the call. See chain/viterbi.pxi for the recursion.
"""

from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.ref cimport Py_INCREF
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

include "sklearn_crcrf/_kernels/chain/viterbi.pxi"

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
        cdef int64_t n_tokens
        path = self.label_batch([tokens], 0, 1, &n_tokens)
        return spelled(self.labels, path, &n_tokens, 1)[0]

    def many(self, list sequences not None):
        """The labels of the best paths of all sequences."""
        cdef int64_t[::1] n_tokens = np.empty(len(sequences) + 1, dtype=np.int64)
        path = self.paths(sequences, n_tokens)
        return spelled(self.labels, path, &n_tokens[0], n_tokens.shape[0] - 1)

    def paths(self, list sequences not None, int64_t[::1] n_tokens):
        """The numbers of the labels of the best paths, one after the other, int32.

        n_tokens (n_sequences,), or longer, OUT is their lengths.
        """
        cdef:
            list out = [np.empty(0, dtype=np.int32)]
            Py_ssize_t start, stop
        sequences = list(sequences)
        for start in range(0, len(sequences), BATCH):
            stop = min(start + BATCH, len(sequences))
            out.append(np.asarray(self.label_batch(sequences, start, stop, &n_tokens[start])))
        return np.concatenate(out)

    cdef int32_t[::1] label_batch(
        self, list sequences, Py_ssize_t start, Py_ssize_t stop, int64_t *n_tokens
    ):
        """The paths of the sequences from start to stop; n_tokens (stop - start,) OUT."""
        cdef:
            int64_t[BATCH + 1] first
            Decoded[BATCH] decoded
            void *work = calloc(1, self.work_size)
            int32_t[::1] path
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
            path = np.empty(first[n], dtype=np.int32)
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
        self, void *work, int64_t n, const int64_t *first, int32_t[::1] path, Decoded *decoded
    ) noexcept nogil:
        cdef:
            int64_t i
            bint has_memory = True
        self.look_up(work)
        for i in range(n):
            if has_memory and first[i + 1] > first[i]:
                has_memory = self.decode(
                    work, i, first[i], first[i + 1], &path[first[i]], &decoded[i]
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


cdef list spelled(
    list labels, const int32_t[::1] path, const int64_t *n_tokens, int64_t n_sequences
):
    """The labels of paths, in a list for each."""
    cdef:
        list out = []
        list one
        int64_t i, t, first = 0
    for i in range(n_sequences):
        one = PyList_New(n_tokens[i])
        for t in range(n_tokens[i]):
            label = labels[path[first + t]]
            Py_INCREF(label)
            PyList_SET_ITEM(one, t, label)
        out.append(one)
        first += n_tokens[i]
    return out


cdef inline void *aligned(void *memory) noexcept nogil:
    """The first place in memory that vectors can be aligned to."""
    return <void *>((<size_t>memory + ALIGNED - 1) & ~<size_t>(ALIGNED - 1))


include "linear_tagging.pxi"
include "counted_tagging.pxi"
