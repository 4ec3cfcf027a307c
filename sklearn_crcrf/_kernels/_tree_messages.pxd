from libc.stdint cimport int64_t

from sklearn_crcrf._kernels._batch_scores cimport BatchScores
from sklearn_crcrf._kernels._tree_order cimport TreeRows


cdef class UpwardMessages:
    cdef:
        BatchScores batch
        TreeRows rows
        const int64_t[::1] parent      # (n_tokens,) -1 for a root
        const double[:, ::1] state     # (n_tokens, n_labels) with begin and end
        const double[:, ::1] potential  # (n_labels, n_labels) exp(transition - top)
        double top                     # maximum of the finite transition scores
        double[:, ::1] up              # (n_tokens, n_labels)
        double[::1] increment          # (n_tokens,) z
        double[::1] log_z              # (n_units,) -inf where no labelling is possible
