"""See ../_row_sums.pxi."""

include "../_row_sums.pxi"
