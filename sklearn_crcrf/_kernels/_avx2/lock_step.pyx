"""See ../_lock_step.pxi."""

include "../_lock_step.pxi"
