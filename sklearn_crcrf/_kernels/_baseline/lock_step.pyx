"""See ../_lock_step.pxi and ../_lock_step_covariance.pxi."""

include "../_lock_step.pxi"
include "../_lock_step_covariance.pxi"
