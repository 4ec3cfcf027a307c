"""Estimators whose training data is spread over the workers of Dask.

They need the package ``dask``: ``pip install "dask[distributed]"``.
"""

from .computing import ComputationError
from .counting import DaskEmpiricalCRF, DaskHMM
from .crf import DaskCRF
from .metrics import segment_precision_recall_f1, sequence_accuracy, token_accuracy
from .reading import read_conll
from .separate import DaskSeparateCRF

__all__ = [
    "ComputationError",
    "DaskCRF",
    "DaskEmpiricalCRF",
    "DaskHMM",
    "DaskSeparateCRF",
    "read_conll",
    "segment_precision_recall_f1",
    "sequence_accuracy",
    "token_accuracy",
]
