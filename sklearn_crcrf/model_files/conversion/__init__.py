"""Models of other programs: CRFsuite and CRF++."""

from .crfpp import read_crfpp_model
from .crfsuite import read_crfsuite_dump, read_crfsuite_model, write_crfsuite_model

__all__ = [
    "read_crfpp_model",
    "read_crfsuite_dump",
    "read_crfsuite_model",
    "write_crfsuite_model",
]
