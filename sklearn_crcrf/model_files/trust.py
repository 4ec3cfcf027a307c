"""The classes and functions that a model file may name.

They hold data and compute with it. With no values of their attributes do they open, write, fetch or
run anything; the attributes in :data:`LIMITED` could, so their values are limited. Among them are
all public estimators, criteria and engines of inference of this package, and the classes of
scikit-learn that have requirements in :mod:`.foreign`.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import import_module
from typing import Any

from sklearn.base import BaseEstimator

from ..structures.inference import Inference
from .foreign import SCIKIT_LEARN

PACKAGE = __package__.partition(".")[0]

# What exports public estimators, criteria and engines of inference.
EXPORTERS = PACKAGE, f"{PACKAGE}.criteria", f"{PACKAGE}.structures.inference"

# Other classes of this package whose attributes are stored, by the module that defines them.
OBJECTS = {
    "counts.binning": ["EqualFrequencyBins"],
    "counts.counts": ["Counts"],
    "counts.lexicon": ["Lexicon"],
    "counts.observations": ["Encoder"],
    "counts.rows": ["KeyIndex", "StateWeights"],
    "counts.tabulator": ["Tabulator"],
    "data.phrases": ["Phrases"],
    "data.vocabulary": ["Vocabulary"],
    "estimators.empirical.frequencies": ["FrequencyModel"],
    "estimators.empirical.half_known": ["HalfKnownRates"],
    "estimators.empirical.model": ["Exponents", "Statistics"],
    "estimators.empirical.product_spelling": ["ProductSpelling"],
    "estimators.empirical.segment_rates": ["SegmentRates"],
    "estimators.empirical.signature_spelling": ["JointSpelling", "MaxEntSpelling", "MeanSpelling"],
    "estimators.empirical.smoothed": ["SmoothedModel"],
    "estimators.empirical.transitions": ["TypeRates"],
    "estimators.empirical.triangle_rates": ["TriangleRates"],
    "estimators.empirical.run_rates": ["RunRates"],
    "estimators.opinion_pool.merged_labels": ["MergedLabels"],
    "estimators.opinion_pool.random_attributes": ["RandomAttributes"],
    "estimators.separate.row_crf": ["RowCRF"],
    "labels.encoding": ["LabelIds"],
    "linear.edge_data": ["EdgeEncoder"],
    "linear.encoder": ["AttributeEncoder"],
}

NAMED_TUPLES = {
    "base.weights": ["Weights"],
    "counts.counter": ["Counter"],
    "counts.counts": ["Table", "Template"],
    "counts.observations": ["Plan"],
    "counts.rows": ["Rows"],
    "estimators.crfsuite.algorithms": ["_FrequentFeatures"],
    "estimators.empirical.transitions": ["Transitions"],
    "estimators.induction.conjunctions": ["Conjunctions"],
    "estimators.lattice.candidates": ["CandidateStatistics"],
    "estimators.perceptron.voting": ["Changes", "WeightHistory"],
    "labels.constraints.constraints": ["Constraints"],
}

# Functions that may be the choice of features of a CRF.
FUNCTIONS = {"estimators.crf.features": ["all_features", "observed_features"]}

# Elementwise functions, for FunctionTransformer.
NUMPY_FUNCTIONS = """
absolute arccos arccosh arcsin arcsinh arctan arctanh cbrt ceil cos cosh degrees exp exp2 expm1
fabs floor isfinite isinf isnan log log10 log1p log2 logical_not negative positive radians
reciprocal rint sign signbit sin sinh sqrt square tan tanh trunc
"""
SCIPY_FUNCTIONS = ["expit", "log_expit", "logit"]
NUMPY_SCALARS = """
bool bool_ int8 int16 int32 int64 intc longlong uint8 uint16 uint32 uint64 uintc ulonglong float16
float32 float64 str_
"""
SPARSE = {
    f"scipy.sparse._{form}": [f"{form}_array", f"{form}_matrix"] for form in ("csr", "csc", "coo")
}


LIMITED: dict[str, tuple[Callable[[Any], bool], str]] = {
    "memory": (lambda value: value is None, "None: models may not write cache files"),
    "n_jobs": (
        lambda value: value is None or (type(value) is int and abs(value) <= 1024),
        "None or an int of at most 1024",
    ),
}
"""Attributes by which a model could write files or start processes: a test of allowed values."""


def is_trusted(kind: str, full_name: Any) -> bool:
    """Whether a node of a model file may name a class or function.

    Parameters
    ----------
    kind : {"name", "named tuple", "object", "scalar", "sparse"}
        What is made of it: the class or function itself, or an object of the class.
    full_name : str
        With the module. Anything but text is not trusted.
    """
    if not isinstance(full_name, str) or full_name in trusted_names()[kind]:
        return isinstance(full_name, str)
    module, _, name = full_name.rpartition(".")
    if kind != "object":
        return False
    exported = {exporter: import_module(exporter).__all__ for exporter in EXPORTERS}
    exported |= SCIKIT_LEARN
    for exporter in exported:
        if full_name.startswith(f"{exporter}.") and name in exported[exporter]:
            cls = getattr(import_module(exporter), name)
            is_public = isinstance(cls, type) and issubclass(cls, BaseEstimator | Inference)
            if is_public and cls.__module__ == module:
                return True
    return False


@lru_cache(maxsize=1)
def trusted_names() -> dict[str, frozenset[str]]:
    """Return the names that each kind of node may have, but for public classes."""

    def of(names: Mapping[str, list[str]], package: str = f"{PACKAGE}.") -> list[str]:
        return [f"{package}{module}.{name}" for module, names in names.items() for name in names]

    plain = {"numpy": NUMPY_SCALARS.split(), "builtins": ["bool", "float", "int", "str"]}
    elementwise = {"numpy": NUMPY_FUNCTIONS.split(), "scipy.special": SCIPY_FUNCTIONS}
    names = {
        "name": [*of(FUNCTIONS), *of(elementwise, ""), *of(plain, "")],
        "named tuple": of(NAMED_TUPLES),
        "object": of(OBJECTS),
        "scalar": of({"numpy": NUMPY_SCALARS.split()}, ""),
        "sparse": of(SPARSE, ""),
    }
    return {kind: frozenset(allowed) for kind, allowed in names.items()}
