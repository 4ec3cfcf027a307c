"""See ../_best_paths.pxi."""

include "../_viterbi.pxi"
include "../_best_paths.pxi"
