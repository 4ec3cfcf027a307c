"""Sequence labelling as scikit-learn estimators."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import _kernels  # noqa: F401, says at once if the kernels are not compiled
from ._version import __version__

if TYPE_CHECKING:
    from .base.pipeline import SequencePipeline, make_sequence_pipeline
    from .boosting import BoostedCRF
    from .calibration import CalibratedSequenceClassifier, SegmentF1Classifier
    from .counts.hmm import HMM
    from .crf import CRF
    from .crf.memm import MEMM
    from .crfsuite import CRFsuiteCRF
    from .data.graphs import GraphArray
    from .data.ragged import SequenceArray
    from .data.sequences import as_sequences
    from .empirical import EmpiricalCRF
    from .feature_extraction import (
        FoundLabels,
        Gazetteer,
        PerToken,
        SequenceVectorizer,
        TemplateFeatures,
        TokenFeatures,
        Window,
        WordClusters,
        WordVectors,
        text_features,
    )
    from .graphs import AssociativeMarkovNetwork, GraphCRF
    from .induction import FeatureInduction
    from .lattice import LatticeCRF
    from .max_margin import MaxMarginCRF
    from .notebook.explanation import explain
    from .opinion_pool import OpinionPoolCRF
    from .output_codes import OutputCodeCRF
    from .perceptron import ArowCRF, PassiveAggressiveCRF, StructuredPerceptron
    from .semi_markov import (
        SegmentedArray,
        SegmentFeatures,
        SegmentGazetteer,
        SemiMarkovCRF,
        WithSegments,
    )
    from .separate import SeparateCRF

# Where the public names are defined. What is not used is not imported: the command line starts at
# once, and a program waits only for the estimators that it has.
_HOMES = {
    "CRF": "crf",
    "HMM": "counts.hmm",
    "MEMM": "crf.memm",
    "AssociativeMarkovNetwork": "graphs",
    "BoostedCRF": "boosting",
    "CRFsuiteCRF": "crfsuite",
    "CalibratedSequenceClassifier": "calibration",
    "EmpiricalCRF": "empirical",
    "FeatureInduction": "induction",
    "FoundLabels": "feature_extraction",
    "Gazetteer": "feature_extraction",
    "GraphArray": "data.graphs",
    "GraphCRF": "graphs",
    "LatticeCRF": "lattice",
    "MaxMarginCRF": "max_margin",
    "OpinionPoolCRF": "opinion_pool",
    "OutputCodeCRF": "output_codes",
    "SeparateCRF": "separate",
    "SegmentF1Classifier": "calibration",
    "PerToken": "feature_extraction",
    "SegmentFeatures": "semi_markov",
    "SegmentGazetteer": "semi_markov",
    "SegmentedArray": "semi_markov",
    "SemiMarkovCRF": "semi_markov",
    "SequenceArray": "data.ragged",
    "SequencePipeline": "base.pipeline",
    "SequenceVectorizer": "feature_extraction",
    "StructuredPerceptron": "perceptron",
    "ArowCRF": "perceptron",
    "PassiveAggressiveCRF": "perceptron",
    "TemplateFeatures": "feature_extraction",
    "TokenFeatures": "feature_extraction",
    "Window": "feature_extraction",
    "WithSegments": "semi_markov",
    "WordClusters": "feature_extraction",
    "WordVectors": "feature_extraction",
    "as_sequences": "data.sequences",
    "explain": "notebook.explanation",
    "make_sequence_pipeline": "base.pipeline",
    "text_features": "feature_extraction",
}

__all__ = [
    "CRF",
    "HMM",
    "MEMM",
    "ArowCRF",
    "AssociativeMarkovNetwork",
    "BoostedCRF",
    "CRFsuiteCRF",
    "CalibratedSequenceClassifier",
    "EmpiricalCRF",
    "FeatureInduction",
    "FoundLabels",
    "Gazetteer",
    "GraphArray",
    "GraphCRF",
    "LatticeCRF",
    "MaxMarginCRF",
    "OpinionPoolCRF",
    "OutputCodeCRF",
    "PassiveAggressiveCRF",
    "PerToken",
    "SegmentF1Classifier",
    "SegmentFeatures",
    "SegmentGazetteer",
    "SegmentedArray",
    "SemiMarkovCRF",
    "SeparateCRF",
    "SequenceArray",
    "SequencePipeline",
    "SequenceVectorizer",
    "StructuredPerceptron",
    "TemplateFeatures",
    "TokenFeatures",
    "Window",
    "WithSegments",
    "WordClusters",
    "WordVectors",
    "__version__",
    "as_sequences",
    "explain",
    "make_sequence_pipeline",
    "text_features",
]


def __getattr__(name: str) -> Any:
    """Import a public name, or a package, when it is asked for."""
    if name in _HOMES:
        value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    full_name = f"{__name__}.{name}"
    if not name.startswith("__"):
        try:
            return import_module(full_name)
        except ModuleNotFoundError as error:
            if error.name != full_name:
                raise
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
