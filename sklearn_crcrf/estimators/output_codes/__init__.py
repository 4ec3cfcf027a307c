"""Output codes: a binary CRF for each column of a code of the labels."""

from .estimator import OutputCodeCRF

__all__ = ["OutputCodeCRF"]
