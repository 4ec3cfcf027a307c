# What kernels of semi-Markov chains read beside BatchScores.

cdef class BatchSegments:
    """The labels of segments by their place, and the scores of lengths and of spans.

    roles has the arrays single, first, inside, last (n_types,), int32, -1 for a label that there
    is not, and the methods outside, begins and ends; spans has indptr (n_tokens + 1,), int64, which
    counts the spans that end at each token, and length (n_spans,), int32, their numbers of tokens.
    by_length (n_types, max_length + 1) and by_span (n_spans, n_types) are scores, or factors.
    """

    def __cinit__(self, roles, spans, by_length, by_span):
        self.single, self.first = roles.single, roles.first
        self.inside, self.last = roles.inside, roles.last
        self.outside = roles.outside().astype(np.int32)
        self.begins = np.flatnonzero(roles.begins()).astype(np.int32)
        self.ends = np.flatnonzero(roles.ends()).astype(np.int32)
        self.rows, self.outside_rows = _rows(roles)
        self.indptr, self.length = spans.indptr, spans.length
        self.by_length, self.by_span = by_length, by_span


def _rows(roles):
    """Where the labels of each type, and those between segments, are among labels, begins and ends.

    A label that there is not is behind all others.
    """
    n = len(roles.kind)
    begin, end = (np.full(n + 1, used.sum()) for used in (roles.begins(), roles.ends()))
    for place, used in ((begin, roles.begins()), (end, roles.ends())):
        place[np.flatnonzero(used)] = np.arange(used.sum())
    single, first, inside, last = (
        np.where(label < 0, n, label)
        for label in (roles.single, roles.first, roles.inside, roles.last)
    )
    of_types = single, first, inside, last, begin[single], begin[first], end[single], end[last]
    outside = roles.outside()
    of_outside = outside, begin[outside], end[outside]
    return tuple(
        np.ascontiguousarray(np.column_stack(columns), dtype=np.int64)
        for columns in (of_types, of_outside)
    )
