from libc.stdint cimport int64_t

from sklearn_crcrf._kernels.chain.scores cimport BatchScores


cdef struct Trees:
    # The rows of all blocks; see tree/order.pxi
    int64_t n_rows
    int64_t n_blocks
    int64_t largest_block          # the number of its rows
    const int64_t *level_start     # (n_levels + 1,)
    const int64_t *block_level     # (n_blocks + 1,)
    const int64_t *token           # (n_rows,)
    const int64_t *unit            # (n_rows,)
    const int64_t *parent_row      # (n_rows,)
    const int64_t *first_child     # (n_rows,)
    const int64_t *n_children      # (n_rows,)


cdef class TreeRows:
    cdef:
        Trees trees
        tuple arrays                   # what trees point to


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
