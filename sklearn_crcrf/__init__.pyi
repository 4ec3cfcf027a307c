"""The public names, and the files that define them."""

__all__: list[str]

from ._version import __version__ as __version__
from .base.pipeline import SequencePipeline as SequencePipeline
from .base.pipeline import make_sequence_pipeline as make_sequence_pipeline
from .counts.co_occurrence import co_occurrence_rate as co_occurrence_rate
from .data.graphs import GraphArray as GraphArray
from .data.ragged import SequenceArray as SequenceArray
from .data.sequences import as_sequences as as_sequences
from .display.notebook.explanation import explain as explain
from .estimators.boosting import BoostedCRF as BoostedCRF
from .estimators.calibration import CalibratedSequenceClassifier as CalibratedSequenceClassifier
from .estimators.calibration import SegmentF1Classifier as SegmentF1Classifier
from .estimators.crf import CRF as CRF
from .estimators.crfsuite import CRFsuiteCRF as CRFsuiteCRF
from .estimators.empirical import EmpiricalCRF as EmpiricalCRF
from .estimators.empirical.conditions import mle_conditions as mle_conditions
from .estimators.graphs import AssociativeMarkovNetwork as AssociativeMarkovNetwork
from .estimators.graphs import GraphCRF as GraphCRF
from .estimators.hmm import HMM as HMM
from .estimators.induction import FeatureInduction as FeatureInduction
from .estimators.label_issues import find_label_issues as find_label_issues
from .estimators.lattice import LatticeCRF as LatticeCRF
from .estimators.max_margin import MaxMarginCRF as MaxMarginCRF
from .estimators.memm import MEMM as MEMM
from .estimators.opinion_pool import OpinionPoolCRF as OpinionPoolCRF
from .estimators.output_codes import OutputCodeCRF as OutputCodeCRF
from .estimators.perceptron import ArowCRF as ArowCRF
from .estimators.perceptron import PassiveAggressiveCRF as PassiveAggressiveCRF
from .estimators.perceptron import StructuredPerceptron as StructuredPerceptron
from .estimators.semi_markov import SegmentedArray as SegmentedArray
from .estimators.semi_markov import SegmentFeatures as SegmentFeatures
from .estimators.semi_markov import SegmentGazetteer as SegmentGazetteer
from .estimators.semi_markov import SemiMarkovCRF as SemiMarkovCRF
from .estimators.semi_markov import WithSegments as WithSegments
from .estimators.separate import SeparateCRF as SeparateCRF
from .feature_extraction import FoundLabels as FoundLabels
from .feature_extraction import Gazetteer as Gazetteer
from .feature_extraction import PerToken as PerToken
from .feature_extraction import SequenceVectorizer as SequenceVectorizer
from .feature_extraction import TemplateFeatures as TemplateFeatures
from .feature_extraction import TokenFeatures as TokenFeatures
from .feature_extraction import Window as Window
from .feature_extraction import WordClusters as WordClusters
from .feature_extraction import WordVectors as WordVectors
from .feature_extraction import text_features as text_features
