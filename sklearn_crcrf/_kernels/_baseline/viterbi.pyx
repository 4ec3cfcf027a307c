"""See ../_viterbi.pxi."""

include "../_viterbi.pxi"
