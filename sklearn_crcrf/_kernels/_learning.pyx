"""Learning from one sequence after another: the weights change with each sequence.

A path y of a sequence scores

    sum_t x_t @ state[:, y_t] + sum_{t>0} z_t @ pairs[:, y_t, y_{t-1}]

for the attributes x of tokens and z of pairs of neighbouring tokens. The first attribute of a pair
is always 1; if there are no others, all tokens have the same transition scores. These kernels are
compiled the same way for all processors, so that ties break the same way on all of them.
"""

include "_viterbi.pxi"
include "_search.pxi"
include "_corrections.pxi"
include "_dual_steps.pxi"
