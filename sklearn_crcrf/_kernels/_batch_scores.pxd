from libc.stdint cimport int64_t

from sklearn_crcrf._kernels._edges cimport Edges


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
