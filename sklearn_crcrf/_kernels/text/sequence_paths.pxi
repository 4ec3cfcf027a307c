# The paths of one sequence, which is read once, and then asked for labels and for probabilities.

cdef class SequencePaths:
    """The paths of one sequence of at least one token.

    labels are the labels by their numbers; otherwise sums over the paths where probabilities could
    be rounded to 0: it takes state scores, (n_tokens, n), and returns the log-partition and the
    marginals.
    """

    cdef:
        ChainTables tables
        list labels
        object otherwise
        object found               # the log-partition and the marginals, when they are known
        double[:, ::1] probability # these marginals
        void *memory
        double *scores             # (length, width) state scores, padded with NaN
        readonly int64_t length

    def __cinit__(self, ChainTables tables not None, list labels not None, int64_t length, otherwise):
        self.tables, self.labels, self.otherwise = tables, labels, otherwise
        self.length = length
        self.memory = malloc(length * tables.step.width * sizeof(double) + ALIGNED)
        if self.memory == NULL:
            raise MemoryError
        self.scores = <double *>aligned(self.memory)

    def __dealloc__(self):
        free(self.memory)

    @staticmethod
    def of(ChainTables tables not None, list labels, const double[:, ::1] state, otherwise):
        """The paths of given state scores, (n_tokens, n)."""
        cdef:
            SequencePaths paths = SequencePaths(tables, labels, state.shape[0], otherwise)
            int64_t width = tables.step.width, t, j
        for t in range(paths.length):
            for j in range(width):
                paths.scores[t * width + j] = state[t, j] if j < tables.step.n else NAN
        return paths

    cdef bint is_short(self):
        """Whether the interpreter lock is kept."""
        return self.length * self.tables.step.n < SHORT

    def best(self):
        """The labels of the best path."""
        return self.find_best()

    cdef list find_best(self):
        cdef:
            int64_t width = self.tables.step.width, n = self.length
            size_t n_delta = n * width, n_work = width + n * self.tables.step.n_words
            void *memory = malloc((n_delta + n_work) * sizeof(double) + n * sizeof(int32_t) + ALIGNED)
            double *delta = <double *>aligned(memory)
            int32_t *path = <int32_t *>(delta + n_delta + n_work)
            Decoded decoded
        try:
            if memory == NULL:
                raise MemoryError
            memcpy(delta, self.scores, n_delta * sizeof(double))
            if self.is_short():
                decoded = self.tables.decode(NULL, n, delta, delta + n_delta, path)
            else:
                with nogil:
                    decoded = self.tables.decode(NULL, n, delta, delta + n_delta, path)
            check_decoded(decoded, -1)
            return spelled(self.labels, path, n)
        finally:
            free(memory)

    cdef int sum_paths(self) except -1:
        cdef:
            int64_t width = self.tables.step.width, n = self.length
            void *memory = malloc(((3 * n + 1) * width + n) * sizeof(double) + ALIGNED)
            double log_z
        if memory == NULL:
            raise MemoryError
        marginals = self.probability = np.empty((n, self.tables.step.n))
        with nogil:
            log_z = self.tables.sum_paths(
                self.scores, n, <double *>aligned(memory), &self.probability[0, 0]
            )
            free(memory)
        self.found = log_z, marginals
        if not log_z == log_z:
            state = np.asarray(<double[:n, :width]>self.scores)[:, :self.tables.step.n]
            self.found = self.otherwise(np.ascontiguousarray(state))
            self.probability = self.found[1]
        return 0

    @property
    def marginals(self):
        """The log-partition, and the marginals, (n_tokens, n)."""
        if self.found is None:
            self.sum_paths()
        return self.found

    def marginal(self, int64_t position, int64_t label):
        """One of these marginals."""
        if self.found is None:
            self.sum_paths()
        if not (0 <= position < self.length and 0 <= label < self.tables.step.n):
            raise IndexError(position)
        return self.probability[position, label]

    def log_probability(self, list y not None):
        """The logarithm of the probability of a path, given as the numbers of its labels."""
        cdef:
            const Step *step = &self.tables.step
            int64_t t, label, before = 0
            double score = 0.0
        if len(y) != self.length:
            raise IndexError(len(y))
        for t in range(self.length):
            label = y[t]
            if not 0 <= label < step.n:
                raise IndexError(label)
            score += self.scores[t * step.width + label]
            score += step.transition[before * step.width + label] if t else self.tables.ends[0, label]
            before = label
        return score + self.tables.ends[1, before] - self.marginals[0]
