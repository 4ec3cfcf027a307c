"""Max-margin Markov networks, and the solvers of their dual."""

from .estimator import MaxMarginCRF

__all__ = ["MaxMarginCRF"]
