from libc.stdint cimport int64_t

from sklearn_crcrf._kernels.chain.edges cimport Edges


cdef class BatchScores:
    cdef:
        const int64_t[::1] offsets     # (n_units + 1,)
        const double[:, ::1] transition  # (n_labels, n_labels)
        const double[::1] begin        # (n_labels,)
        const double[::1] end          # (n_labels,)
        Edges edges
        int64_t n_entries              # of the edges
        object token_transitions       # the arrays that edges point to


cdef class BatchCounts:
    cdef:
        double[:, ::1] transition      # (n_labels, n_labels)
        double[::1] begin              # (n_labels,)
        double[::1] end                # (n_labels,)
        double[::1] edges              # (n_entries,)


cdef struct Potentials:
    int64_t n                      # labels
    int64_t width                  # of a row of the kernel in use, padded
    const double *begin            # (n,) scores
    const double *end              # (n,) scores
    double top                     # of all transition scores
    double spread                  # largest difference of possible transition scores
    bint forbids                   # whether some transitions are impossible
    const double *transition       # (n, n) exp(transition - top)
    bint has_edges
    Edges edges                    # with exp(score - top) for the score


cdef class BatchPotentials:
    cdef:
        BatchScores scores
        double[:, ::1] transition      # (n_labels, n_labels)
        const double[::1] edges        # (n_entries,)
        Potentials potentials          # without the width

    cdef Potentials in_rows_of(self, int64_t width) noexcept
