from sklearn_crcrf._kernels.chain.scores cimport BatchScores


cdef class ForwardMessages:
    cdef:
        BatchScores batch
        const double[:, ::1] state     # (n_tokens, n_labels) with begin and end
        const double[:, ::1] potential  # (n_labels, n_labels) exp(transition - top)
        double top                     # maximum of the finite transition scores
        double[:, ::1] alpha           # (n_tokens, n_labels)
        double[::1] increment          # (n_tokens,) c
        double[::1] log_z              # (n_sequences,) -inf where no path is possible
