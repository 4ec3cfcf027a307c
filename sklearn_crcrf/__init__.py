"""Sequence labelling as scikit-learn estimators."""

from . import _kernels  # noqa: F401, says at once if the kernels are not compiled
from .utils.lazy import attach
from .utils.moved import add_moved

add_moved()
__getattr__, __dir__, __all__ = attach(__name__, __file__)
