from libc.stdint cimport int32_t, int64_t

from sklearn_crcrf._kernels.vectors cimport real


cdef struct Runs:
    # The runs of candidates of all tokens; see lattice/best_paths.pxi
    int64_t order
    int64_t n_places               # n_tokens + 1
    const int64_t *offsets         # (n_units + 1,)
    const int64_t *start           # (order + 1, n_places)


cdef class LatticeRuns:
    cdef:
        Runs runs
        readonly int64_t n_units
        readonly int64_t n_runs
        readonly int64_t largest       # the largest number of runs of one length at a token
        tuple arrays                   # what runs point to


cdef bint add_scores_of_ends(
    const Runs *runs, int64_t t, int64_t longest, const real *score, double *total
) noexcept nogil


cdef inline int64_t start_of(const Runs *runs, int64_t n, int64_t t) noexcept nogil:
    """The place of the first run of n + 1 candidates that ends at token t."""
    return runs.start[n * runs.n_places + t]


cdef inline int64_t number_of(const Runs *runs, int64_t n, int64_t t) noexcept nogil:
    """The number of runs of n + 1 candidates that end at token t."""
    return start_of(runs, n, t + 1) - start_of(runs, n, t)


cdef inline int64_t run_of_path(
    const Runs *runs, int64_t t, int64_t n, const int32_t *candidate
) noexcept nogil:
    """The number of the run of the last n + 1 candidates of a path, up to token t."""
    cdef int64_t run = 0, k
    for k in range(t - n, t + 1):
        run = run * number_of(runs, 0, k) + candidate[k]
    return run
