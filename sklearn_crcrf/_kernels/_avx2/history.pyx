"""See ../_history.pxi."""

include "../_history.pxi"
