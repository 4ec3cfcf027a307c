"""Learning from one sequence after another: the weights change with each of them.

A path y of a sequence scores

    sum_t x_t @ state[:, y_t] + sum_{t>0} z_t @ pairs[:, y_t, y_{t-1}]

for the attributes x of tokens and z of two neighbours. The first of the z is 1 everywhere; where
it is the only one, all tokens have the same transition scores. The kernels are the same for all
processors, so that labels that score the same are the same ones everywhere.
"""

include "_viterbi.pxi"
include "_search.pxi"
include "_corrections.pxi"
include "_dual_steps.pxi"
