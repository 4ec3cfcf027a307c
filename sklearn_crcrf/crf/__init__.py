"""Conditional random fields of iterative training."""

from .crfsuite import CRFsuiteCRF
from .estimator import CRF

__all__ = ["CRF", "CRFsuiteCRF"]
