"""Sequence labelling as scikit-learn estimators."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import _kernels  # noqa: F401, says at once if the kernels are not compiled
from ._version import __version__

if TYPE_CHECKING:
    from .base.pipeline import SequencePipeline, make_sequence_pipeline
    from .data.graphs import GraphArray
    from .data.ragged import SequenceArray
    from .data.sequences import as_sequences
    from .display.notebook.explanation import explain
    from .estimators.boosting import BoostedCRF
    from .estimators.calibration import CalibratedSequenceClassifier, SegmentF1Classifier
    from .estimators.crf import CRF
    from .estimators.crfsuite import CRFsuiteCRF
    from .estimators.empirical import EmpiricalCRF
    from .estimators.graphs import AssociativeMarkovNetwork, GraphCRF
    from .estimators.hmm import HMM
    from .estimators.induction import FeatureInduction
    from .estimators.lattice import LatticeCRF
    from .estimators.max_margin import MaxMarginCRF
    from .estimators.memm import MEMM
    from .estimators.opinion_pool import OpinionPoolCRF
    from .estimators.output_codes import OutputCodeCRF
    from .estimators.perceptron import ArowCRF, PassiveAggressiveCRF, StructuredPerceptron
    from .estimators.semi_markov import (
        SegmentedArray,
        SegmentFeatures,
        SegmentGazetteer,
        SemiMarkovCRF,
        WithSegments,
    )
    from .estimators.separate import SeparateCRF
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

# Where the public names are defined. What is not used is not imported: the command line starts at
# once, and a program waits only for the estimators that it has.
_HOMES = {
    "CRF": "estimators.crf",
    "HMM": "estimators.hmm",
    "MEMM": "estimators.memm",
    "AssociativeMarkovNetwork": "estimators.graphs",
    "BoostedCRF": "estimators.boosting",
    "CRFsuiteCRF": "estimators.crfsuite",
    "CalibratedSequenceClassifier": "estimators.calibration",
    "EmpiricalCRF": "estimators.empirical",
    "FeatureInduction": "estimators.induction",
    "FoundLabels": "feature_extraction",
    "Gazetteer": "feature_extraction",
    "GraphArray": "data.graphs",
    "GraphCRF": "estimators.graphs",
    "LatticeCRF": "estimators.lattice",
    "MaxMarginCRF": "estimators.max_margin",
    "OpinionPoolCRF": "estimators.opinion_pool",
    "OutputCodeCRF": "estimators.output_codes",
    "SeparateCRF": "estimators.separate",
    "SegmentF1Classifier": "estimators.calibration",
    "PerToken": "feature_extraction",
    "SegmentFeatures": "estimators.semi_markov",
    "SegmentGazetteer": "estimators.semi_markov",
    "SegmentedArray": "estimators.semi_markov",
    "SemiMarkovCRF": "estimators.semi_markov",
    "SequenceArray": "data.ragged",
    "SequencePipeline": "base.pipeline",
    "SequenceVectorizer": "feature_extraction",
    "StructuredPerceptron": "estimators.perceptron",
    "ArowCRF": "estimators.perceptron",
    "PassiveAggressiveCRF": "estimators.perceptron",
    "TemplateFeatures": "feature_extraction",
    "TokenFeatures": "feature_extraction",
    "Window": "feature_extraction",
    "WithSegments": "estimators.semi_markov",
    "WordClusters": "feature_extraction",
    "WordVectors": "feature_extraction",
    "as_sequences": "data.sequences",
    "explain": "display.notebook.explanation",
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
