"""CRFsuite's parameters, algorithms, taggers and models."""

from .estimator import CRFsuiteCRF

__all__ = ["CRFsuiteCRF"]
