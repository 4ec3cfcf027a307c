"""Tools for training any estimator: fitted state, validation, callbacks and interrupts."""

from .fitted_state import FittedState
from .interruptible import Stop, check_not_stopped, interruptible, is_nested, nested_fits

__all__ = ["FittedState", "Stop", "check_not_stopped", "interruptible", "is_nested", "nested_fits"]
