"""The classes and functions that a model file may name.

They hold data and compute with it. With no values of their attributes do they open, write, fetch or
run anything; the attributes in :data:`LIMITED` could, so their values are limited. The classes of
scikit-learn are those that have requirements in :mod:`.foreign`.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import import_module
from typing import Any

from .foreign import SCIKIT_LEARN

__all__ = ["LIMITED", "PACKAGE", "is_trusted", "trusted_names"]

PACKAGE = __package__.partition(".")[0]

# Classes of this package whose attributes are stored, by the module that defines them.
OBJECTS = {
    "base.pipeline": ["SequencePipeline"],
    "boosting.estimator": ["BoostedCRF"],
    "calibration.estimator": ["CalibratedSequenceClassifier"],
    "calibration.segment_f1": ["SegmentF1Classifier"],
    "counts.binning": ["EqualFrequencyBins"],
    "counts.counts": ["Counts"],
    "counts.hmm": ["HMM"],
    "counts.lexicon": ["Lexicon"],
    "counts.observations": ["Encoder"],
    "counts.rows": ["KeyIndex"],
    "counts.state_weights": ["StateWeights"],
    "counts.tabulator": ["Tabulator"],
    "crf.estimator": ["CRF"],
    "crf.memm": ["MEMM"],
    "crfsuite.estimator": ["CRFsuiteCRF"],
    "criteria.expected_cost": ["ExpectedCost"],
    "criteria.local_log_loss": ["LocalLogLoss"],
    "criteria.log_loss": ["LogLoss"],
    "criteria.marginal_likelihood": ["MarginalLikelihood"],
    "criteria.max_margin": ["MaxMargin"],
    "criteria.mce": ["MCE"],
    "criteria.mce_f1": ["MCEF1"],
    "criteria.piecewise": ["Piecewise"],
    "criteria.pseudo_likelihood": ["PseudoLikelihood"],
    "criteria.softmax_margin": ["SoftmaxMargin"],
    "criteria.token_error": ["TokenError"],
    "data.vocabulary": ["Vocabulary"],
    "empirical.estimator": ["EmpiricalCRF"],
    "empirical.exponents": ["Exponents"],
    "empirical.frequencies": ["FrequencyModel"],
    "empirical.model": ["Statistics"],
    "empirical.product_spelling": ["ProductSpelling"],
    "empirical.segment_rates": ["SegmentRates"],
    "empirical.signature_spelling": ["JointSpelling", "MaxEntSpelling", "MeanSpelling"],
    "empirical.smoothed": ["SmoothedModel"],
    "empirical.fourgrams": ["FourgramRates"],
    "empirical.trigrams": ["TrigramRates"],
    "empirical.triangle_rates": ["TriangleRates"],
    "empirical.type_rates": ["TypeRates"],
    "feature_extraction._phrases": ["Phrases"],
    "feature_extraction.found_labels": ["FoundLabels"],
    "feature_extraction.gazetteer": ["Gazetteer"],
    "feature_extraction.per_token": ["PerToken"],
    "feature_extraction.template_features": ["TemplateFeatures"],
    "feature_extraction.token_features": ["TokenFeatures"],
    "feature_extraction.vectorizer": ["SequenceVectorizer"],
    "feature_extraction.window": ["Window"],
    "feature_extraction.word_clusters": ["WordClusters"],
    "feature_extraction.word_vectors": ["WordVectors"],
    "graphs.associative": ["AssociativeMarkovNetwork"],
    "graphs.estimator": ["GraphCRF"],
    "induction.estimator": ["FeatureInduction"],
    "labels.encoding": ["LabelIds"],
    "lattice.estimator": ["LatticeCRF"],
    "linear.edge_data": ["EdgeEncoder"],
    "linear.encoder": ["AttributeEncoder"],
    "max_margin.estimator": ["MaxMarginCRF"],
    "opinion_pool.estimator": ["OpinionPoolCRF"],
    "opinion_pool.merged_labels": ["MergedLabels"],
    "opinion_pool.random_attributes": ["RandomAttributes"],
    "output_codes.estimator": ["OutputCodeCRF"],
    "perceptron.arow": ["ArowCRF"],
    "perceptron.estimator": ["StructuredPerceptron"],
    "perceptron.passive_aggressive": ["PassiveAggressiveCRF"],
    "semi_markov.estimator": ["SemiMarkovCRF"],
    "semi_markov.features": ["SegmentFeatures"],
    "semi_markov.gazetteer": ["SegmentGazetteer"],
    "semi_markov.span_symbols": ["SpanSymbols"],
    "semi_markov.with_segments": ["WithSegments"],
    "separate.estimator": ["SeparateCRF"],
    "structures.inference.auto": ["Auto"],
    "structures.inference.cut": ["Cut"],
    "structures.inference.exact": ["Exact"],
    "structures.inference.ilp": ["IntegerProgram"],
    "structures.inference.loopy": ["Loopy"],
    "structures.inference.tree_reweighted": ["TreeReweighted"],
}

NAMED_TUPLES = {
    "base.weights": ["Weights"],
    "constraints.constraints": ["Constraints"],
    "counts.counts": ["Template"],
    "counts.storage": ["Rows"],
    "counts.tables": ["Table"],
    "crfsuite.algorithms": ["_FrequentFeatures"],
    "empirical.transitions": ["Transitions"],
    "induction.conjunctions": ["Conjunctions"],
    "lattice.candidates": ["CandidateStatistics"],
    "perceptron.voting": ["Changes", "WeightHistory"],
}

# Functions that may be the criterion or the choice of features of a CRF.
FUNCTIONS = {
    "crf.features": ["all_features", "observed_features"],
    "criteria.expected_cost": ["expected_cost"],
    "criteria.local_log_loss": ["local_log_loss"],
    "criteria.log_loss": ["log_loss"],
    "criteria.marginal_likelihood": ["marginal_likelihood"],
    "criteria.pseudo_likelihood": ["pseudo_likelihood"],
}

# Elementwise functions, for FunctionTransformer.
NUMPY_FUNCTIONS = [
    "absolute",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctanh",
    "cbrt",
    "ceil",
    "cos",
    "cosh",
    "degrees",
    "exp",
    "exp2",
    "expm1",
    "fabs",
    "floor",
    "isfinite",
    "isinf",
    "isnan",
    "log",
    "log10",
    "log1p",
    "log2",
    "logical_not",
    "negative",
    "positive",
    "radians",
    "reciprocal",
    "rint",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "trunc",
]
SCIPY_FUNCTIONS = ["expit", "log_expit", "logit"]
# The modules of these functions in different versions of NumPy and SciPy.
NUMPY_MODULES = ["numpy", "numpy._core._multiarray_umath", "numpy.core._multiarray_umath"]
SCIPY_MODULES = [
    "scipy.special",
    "scipy.special._special_ufuncs",
    "scipy.special._support_alternative_backends",
    "scipy.special._ufuncs",
]

NUMPY_SCALARS = [
    "bool",
    "bool_",
    "int8",
    "int16",
    "int32",
    "int64",
    "intc",
    "longlong",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "uintc",
    "ulonglong",
    "float16",
    "float32",
    "float64",
    "str_",
]
SPARSE = {
    f"scipy.sparse._{form}": [f"{form}_array", f"{form}_matrix"] for form in ("csr", "csc", "coo")
}


def _is_few(value: Any) -> bool:
    return value is None or (type(value) is int and abs(value) <= 1024)


LIMITED: dict[str, tuple[Callable[[Any], bool], str]] = {
    "memory": (lambda value: value is None, "None: models may not write cache files"),
    "n_jobs": (_is_few, "None or an int of at most 1024"),
}
"""Attributes by which a model could write files or start processes: a test of allowed values."""


def is_trusted(kind: str, module: Any, name: Any) -> bool:
    """Whether a node of a skops file may name a class or function.

    Parameters
    ----------
    kind : str
        The kind of node.
    module, name : str
        The name of the module, and the name in it. Anything but text is not trusted.
    """
    full_name = f"{module}.{name}"
    if full_name in trusted_names().get(kind, ()):
        return True
    return kind == "ObjectNode" and any(
        name in names and full_name == _full_name(exporter, name)
        for exporter, names in SCIKIT_LEARN.items()
        if full_name.startswith(f"{exporter}.")
    )


@lru_cache(maxsize=1)
def trusted_names() -> dict[str, frozenset[str]]:
    """The names that each kind of node of a skops file may have, but for scikit-learn's classes."""
    builtin = "builtins.{}".format
    numpy_scalars = _names({"numpy": NUMPY_SCALARS})
    functions = [
        *_names(_ours(FUNCTIONS)),
        *_names(dict.fromkeys(NUMPY_MODULES, NUMPY_FUNCTIONS)),
        *_names(dict.fromkeys(SCIPY_MODULES, SCIPY_FUNCTIONS)),
    ]
    names = {
        "BytesNode": [builtin("bytes")],
        "ConstructorFromReduceNode": [builtin("frozenset")],
        "DTypeNode": ["numpy.dtype"],
        "DictNode": [builtin("dict"), "collections.OrderedDict"],
        "FunctionNode": functions,
        "JsonNode": [builtin("str")],
        "ListNode": [builtin("list")],
        "NdArrayNode": ["numpy.ndarray", *numpy_scalars],
        # Older versions of skops store sparse arrays as objects.
        "ObjectNode": [*_names(_ours(OBJECTS)), *_names(SPARSE)],
        "RandomStateNode": ["numpy.random.mtrand.RandomState"],
        "SetNode": [builtin("set")],
        "SliceNode": [builtin("slice")],
        "SparseMatrixNode": _names(SPARSE),
        "TreeNode": ["sklearn.tree._tree.Tree"],
        "TupleNode": [builtin("tuple"), *_names(_ours(NAMED_TUPLES))],
        "TypeNode": [*map(builtin, ("bool", "float", "int", "str")), *numpy_scalars],
    }
    return {kind: frozenset(allowed) for kind, allowed in names.items()}


def _ours(names: Mapping[str, list[str]]) -> dict[str, list[str]]:
    return {f"{PACKAGE}.{module}": classes for module, classes in names.items()}


def _names(by_module: Mapping[str, list[str]]) -> list[str]:
    return [f"{module}.{name}" for module, names in by_module.items() for name in names]


def _full_name(exporter: str, name: str) -> str:
    """The name of a class of scikit-learn, with the module that defines it."""
    return f"{getattr(import_module(exporter), name).__module__}.{name}"
