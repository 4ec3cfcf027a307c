"""See ../_lock_step.pxi and the files beside it."""

include "../_lock_step_blocks.pxi"
include "../_lock_step.pxi"
include "../_lock_step_backward.pxi"
include "../_lock_step_covariance.pxi"
