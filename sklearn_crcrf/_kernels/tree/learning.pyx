"""Learning from one unit after another: searches, corrections and steps that change weights."""

include "sklearn_crcrf/_kernels/chain/viterbi.pxi"
include "search.pxi"
include "corrections.pxi"
include "margin_steps.pxi"
include "dual_steps.pxi"
