"""CRFs over a few candidate labels per token, which a fast model proposes."""

from .estimator import LatticeCRF

__all__ = ["LatticeCRF"]
