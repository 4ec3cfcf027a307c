"""Sequence labelling as scikit-learn estimators."""

from ._version import __version__
from .utils import interruption, moved

interruption.install()

try:
    from .boosting import BoostedCRF
    from .counts.hmm import HMM
    from .crf import CRF, CRFsuiteCRF
    from .crf.memm import MEMM
    from .data.ragged import SequenceArray
    from .data.sequences import as_sequences
    from .empirical import EmpiricalCRF
    from .feature_extraction import (
        Gazetteer,
        SequenceVectorizer,
        TemplateFeatures,
        TokenFeatures,
        Window,
        WordClusters,
        WordVectors,
    )
    from .max_margin import MaxMarginCRF
    from .notebook.explanation import explain
    from .opinion_pool import OpinionPoolCRF
    from .perceptron import StructuredPerceptron
except ModuleNotFoundError as error:
    if not (error.name or "").startswith(f"{__name__}._kernels."):
        raise
    raise ImportError(
        f"{error.name} is not compiled in {__path__[0]}. If this is a source checkout, which "
        'hides an installed package from Python, run "pip install -e ." in it or start Python '
        "in another folder"
    ) from error

moved.keep_importable(__name__)

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
    "__version__",
    "as_sequences",
    "explain",
]
