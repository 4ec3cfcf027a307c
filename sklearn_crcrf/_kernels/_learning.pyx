"""Learning from one unit after another: the weights change with each unit.

The links of a unit make a forest, such as a chain or a tree. A labelling y scores

    sum_t x_t @ state[:, y_t] + sum_t z_t @ pairs[:, y_t, y_p(t)]

for the attributes x of tokens and z of links, where the link into token t leads from token p(t).
The first attribute of a link is always 1; if there are no others, all links have the same transition
scores. These kernels are compiled the same way for all processors, so that ties break the same way
on all of them.
"""

include "_viterbi.pxi"
include "_search.pxi"
include "_corrections.pxi"
include "_margin_steps.pxi"
include "_dual_steps.pxi"
