from libc.stdint cimport int64_t


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
