from libc.stdint cimport int64_t

from sklearn_crcrf._kernels._batch_scores cimport BatchScores
from sklearn_crcrf._kernels._edges cimport Edges


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
