# Potentials of the transitions of chains and trees, which sums in probabilities start from.
#
# They are exp(score - top) for the scores of transitions and of edges, where top is the maximum of
# the scores of transitions. The potential of an edge may be infinite: the probabilities of its
# unit then show it.

cdef class BatchPotentials:
    """The potentials of a batch, and how far apart its transition scores are."""

    def __cinit__(self, BatchScores batch):
        cdef:
            Potentials *p = &self.potentials
            int64_t n = batch.transition.shape[0]
            double lowest, highest
        self.scores = batch
        self.transition = np.empty((n, n))
        lowest = set_transitions(p, batch.transition, self.transition)
        highest = p.top
        p.edges, p.has_edges = batch.edges, batch.n_entries > 0
        if p.has_edges:
            score = batch.token_transitions.score
            highest = max(highest, <double>score.max())
            lowest = min(lowest, <double>score.min(initial=p.top, where=score > -np.inf))
            with np.errstate(over="ignore"):
                self.edges = np.exp(score - p.top)
            p.edges.score = &self.edges[0]
        p.spread = highest - lowest
        p.n, p.begin, p.end = n, &batch.begin[0], &batch.end[0]

    cdef Potentials in_rows_of(self, int64_t width) noexcept:
        """What the recursions read, for a kernel whose rows have a given width."""
        cdef Potentials potentials = self.potentials
        potentials.width = width
        return potentials


cdef double set_transitions(
    Potentials *p,
    const double[:, ::1] score,    # (n_labels, n_labels) IN
    double[:, ::1] potential,      # (n_labels, n_labels) OUT
) noexcept:
    """Set potentials of transitions, and what is known of their scores; return the least score."""
    cdef:
        int64_t n = score.shape[0], i, j
        double top = -INFINITY, lowest = INFINITY
    for i in range(n):
        for j in range(n):
            top = max(top, score[i, j])
            if score[i, j] > -INFINITY:
                lowest = min(lowest, score[i, j])
    p.top = top if top > -INFINITY else 0.0
    p.forbids = False
    for i in range(n):
        for j in range(n):
            potential[i, j] = exp(score[i, j] - p.top)
            p.forbids |= score[i, j] == -INFINITY
    p.transition = &potential[0, 0]
    return min(lowest, p.top)
