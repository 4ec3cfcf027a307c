# The labels of sequences whose scores are sums of counted weights of words, their spelling and their
# contexts; see text/counted_scores.pxi.

from sklearn_crcrf._kernels.text.tokens cimport CountedScores, Work, free_work


cdef class CountedTagger(BatchTagger):
    """Labels by scores that are sums of counted weights."""

    cdef:
        ChainTables chain
        CountedScores scores

    def __cinit__(
        self, ChainTables chain not None, CountedScores scores not None, list labels not None
    ):
        self.chain, self.scores, self.labels = chain, scores, labels
        self.work_size, self.n_labels = sizeof(Work), len(labels)

    cdef list read(self, object tokens, void *work):
        return self.scores.read(tokens, <Work *>work)

    cdef int arrange(self, list sequences, void *work) except -1:
        return self.scores.arrange(sequences, <Work *>work)

    cdef void look_up(self, void *work) noexcept nogil:
        self.scores.find(<Work *>work)

    cdef void free_work(self, void *work) noexcept nogil:
        free_work(<Work *>work, self.scores.n_texts)

    def scores_of(self, list sequences not None):
        """The scores of all sequences, one after the other.

        State scores, (n_tokens, n_labels), and edges: row, indptr, previous, current, score; or None
        for no edges.
        """
        cdef:
            Work work
            double[:, ::1] out
            double[::1] score
            int32_t[:, ::1] labels
            int64_t n = 0, most
        memset(&work, 0, sizeof(Work))
        try:
            kept = self.read_batch(sequences, 0, len(sequences), &work)
            self.scores.arrange(kept, &work)
            state = out = np.empty((work.n, self.n_labels))
            if work.n == 0:
                return state, None
            with nogil:
                self.scores.find(&work)
                self.scores.write_scores(&work, 0, work.n, self.n_labels, &out[0, 0])
                most = self.scores.most_edges(&work, 0, work.n)
            if most == 0:
                return state, None
            score, labels = np.empty(most), np.empty((2, most), dtype=np.int32)
            with nogil:
                n = self.scores.merge_edges(
                    &work, 0, work.n, &score[0], &labels[0, 0], &labels[1, 0]
                )
            return state, (
                np.array(<int64_t[: work.n]>work.edge_row),
                np.array(<int64_t[: work.n + 1]>work.edge_indptr),
                np.asarray(labels[0, :n]),
                np.asarray(labels[1, :n]),
                np.asarray(score[:n]),
            )
        finally:
            free_work(&work, self.scores.n_texts)

    cdef bint decode(
        self, void *place, int64_t i, int64_t start, int64_t stop, int32_t *path, Decoded *decoded
    ) noexcept nogil:
        cdef:
            Work *work = <Work *>place
            int64_t width = self.chain.step.width, n = self.n_labels, n_tokens = stop - start, t, j
            int64_t most = self.scores.most_edges(work, start, stop)
            size_t n_numbers = (n_tokens + 1) * width + n_tokens * self.chain.step.n_words + most
            void *memory = malloc(
                n_numbers * sizeof(double) + 2 * most * sizeof(int32_t) + ALIGNED
            )
            double *delta = <double *>aligned(memory)
            double *score = delta + n_numbers - most
            int32_t *labels = <int32_t *>(score + most)
            Edges edges
        if memory == NULL:
            return False
        self.scores.write_scores(work, start, stop, width, delta)
        for t in range(n_tokens):
            for j in range(n, width):
                delta[t * width + j] = NAN
        edges.row, edges.indptr = work.edge_row + start, work.edge_indptr
        edges.previous, edges.current, edges.score = labels, labels + most, score
        if self.scores.merge_edges(work, start, stop, score, labels, labels + most) == 0:
            edges.score = NULL
        decoded[0] = self.chain.decode(&edges, n_tokens, delta, delta + n_tokens * width, path)
        free(memory)
        return True
