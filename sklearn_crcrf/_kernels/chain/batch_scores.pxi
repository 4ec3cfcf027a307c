# What kernels read and write beside the arrays of state scores; see chain/edges.pxd for the scores.
#
# State scores have one of two types of numbers. So each kernel takes them as an argument of its own.

cdef class BatchScores:
    """All scores of a batch but the state scores, of chains or of trees.

    offsets (n_units + 1,), int64; scores has the attributes transition (n_labels, n_labels),
    begin and end (n_labels,), and token_transitions: row (n_tokens,), indptr (n_rows + 1,),
    previous, current and score (n_entries,).
    """

    def __cinit__(self, offsets, scores):
        self.offsets = offsets
        self.transition, self.begin, self.end = scores.transition, scores.begin, scores.end
        row, indptr, previous, current, score = self.token_transitions = scores.token_transitions
        self.edges = edges_of(row, indptr, previous, current, score)
        self.n_entries = len(score)


cdef class BatchCounts:
    """How often labellings use each score of BatchScores, which kernels add to.

    counts has the attributes transition, begin, end and token_transitions, of the shapes of the
    scores; token_transitions is an array (n_entries,).
    """

    def __cinit__(self, counts):
        self.transition, self.begin, self.end = counts.transition, counts.begin, counts.end
        self.edges = counts.token_transitions
