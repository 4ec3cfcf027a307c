"""Readers for text models of other programs."""

from .crfpp import read_crfpp_model
from .crfsuite import read_crfsuite_dump

__all__ = ["read_crfpp_model", "read_crfsuite_dump"]
