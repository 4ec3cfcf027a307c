"""Sequence labelling as scikit-learn estimators."""

from . import _interruption

_interruption.install()

try:
    from .boosting import BoostedCRF
    from .crf import CRF, CRFsuiteCRF
    from .empirical import EmpiricalCRF
    from .explanation import explain
    from .feature_extraction import (
        Gazetteer,
        SequenceVectorizer,
        TemplateFeatures,
        TokenFeatures,
        Window,
        WordClusters,
        WordVectors,
    )
    from .hmm import HMM
    from .max_margin import MaxMarginCRF
    from .memm import MEMM
    from .opinion_pool import OpinionPoolCRF
    from .perceptron import StructuredPerceptron
    from .sequences import SequenceArray, as_sequences
except ModuleNotFoundError as error:
    if not (error.name or "").startswith(f"{__name__}._kernels."):
        raise
    raise ImportError(
        f"{error.name} is not compiled in {__path__[0]}. If this is a source checkout, which "
        'hides an installed package from Python, run "pip install -e ." in it or start Python '
        "in another folder"
    ) from error

__version__ = "0.1.0"

__all__ = [
    "CRF",
    "HMM",
    "MEMM",
    "BoostedCRF",
    "CRFsuiteCRF",
    "EmpiricalCRF",
    "Gazetteer",
    "MaxMarginCRF",
    "OpinionPoolCRF",
    "SequenceArray",
    "SequenceVectorizer",
    "StructuredPerceptron",
    "TemplateFeatures",
    "TokenFeatures",
    "Window",
    "WordClusters",
    "WordVectors",
    "as_sequences",
    "explain",
]
