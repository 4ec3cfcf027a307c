"""Small estimators of every kind, found through public names and the options of parameters."""

import inspect
from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils._param_validation import StrOptions

import sklearn_crcrf
from sklearn_crcrf.estimators.crfsuite.algorithms import ALGORITHMS
from sklearn_crcrf.labels import convert_scheme

__all__ = [
    "Trainer",
    "classifiers",
    "examples",
    "kinds_for",
    "make",
    "options_of",
    "trainers",
    "transformers",
]

# Some criteria, and segments, need labels of a scheme.
TAGS = {"the": "O", "a": "O", "saw": "O", "Barks": "O", "dog": "B-N", "x-1": "B-N", "cat": "I-N"}
TAGS |= {"Zürich": "B-P", "in": "I-P", "on": "O"}
N_SEQUENCES = 12
SMALL = {"max_iter": 5, "max_iterations": 5, "n_folds": 2, "random_state": 0}
# Choices that the constraints of parameters do not list.
MORE_OPTIONS = {
    "CRFsuiteCRF": [("algorithm", name) for name in ALGORITHMS],
    "EmpiricalCRF": [("order", 2)],
    "TemplateFeatures": [("syntax", "wapiti")],
}
# Parameters that are required, or incompatible with the default of another parameter.
REQUIRED = {
    "OpinionPoolCRF": lambda: {
        "estimators": [("crf", sklearn_crcrf.CRF(max_iter=5)), ("hmm", sklearn_crcrf.HMM())]
    },
    "CalibratedSequenceClassifier": lambda: {"estimator": sklearn_crcrf.HMM(), "cv": 2},
    "SegmentF1Classifier": lambda: {"estimator": sklearn_crcrf.HMM(), "cv": 2},
    "FoundLabels": lambda: {"estimator": sklearn_crcrf.HMM(), "cv": 2},
    "Gazetteer": lambda: {"lists": {"animal": ["dog", "cat"], "place": ["in Zürich", "Zürich"]}},
    "PerToken": lambda: {"transformer": OneHotEncoder(handle_unknown="ignore")},
    "SegmentGazetteer": lambda: {"lists": {"animal": ["dog", "cat"], "place": ["in Zürich"]}},
    "TemplateFeatures": lambda: {"template": "U00:%x[0,0]\nU01:%x[-1,0]/%x[0,0]\nB01:%x[0,0]\nB\n"},
    "WordClusters": lambda: {"clusters": {"dog": "0011", "cat": "0010", "the": "11"}},
    "WordVectors": lambda: {"vectors": (["dog", "cat"], [[0.5, 1.0], [0.25, 1.0]])},
    "BoostedCRF": lambda: {"min_samples_leaf": 1},
}


class Trainer(NamedTuple):
    """An estimator with some options, and data for it.

    Parameters
    ----------
    name : str
        The class, parameters that differ from its defaults, and the kind of X.
    estimator : estimator
        Not fitted.
    X, y : list
        Some sequences that the estimator accepts.
    """

    name: str
    estimator: BaseEstimator
    X: list
    y: list

    def fit(self) -> Any:
        """A fitted estimator."""
        return clone(self.estimator).fit(self.X, self.y)


def examples(n_sequences: int = N_SEQUENCES) -> tuple[dict[str, list], list]:
    """The same sequences as "words", "dicts", "numbers" and "sparse", and their labels."""
    rng = Random(0)
    words = [rng.choices(list(TAGS), k=rng.randint(1, 6)) for _ in range(n_sequences)]
    words[:2] = list(TAGS), list(TAGS)  # all labels occur, also where a sequence is held out
    dicts = [
        [{"w": word, "length": float(len(word)), "end": [word[-1], word[-2:]]} for word in sequence]
        for sequence in words
    ]
    numbers = [np.array([_numbers(word) for word in sequence]) for sequence in words]
    kinds = {
        "words": words,
        "dicts": dicts,
        "numbers": numbers,
        "sparse": [sparse.csr_array(np.maximum(rows - 1, 0)) for rows in numbers],
    }
    y = [[TAGS[word] for word in sequence] for sequence in words]
    return kinds, convert_scheme(y, "IOB2", "IOB2")


def _numbers(word: str) -> list[float]:
    return [len(word) / 2, word.istitle(), ord(word[0]) % 5, ord(word[-1]) % 3]


def _public_classes() -> Iterator[type]:
    names = [getattr(sklearn_crcrf, name) for name in sklearn_crcrf.__all__]
    names.remove(sklearn_crcrf.SequencePipeline)  # has no more than its steps
    return (public for public in names if inspect.isclass(public))


def classifiers() -> list[type]:
    """All public classes that predict."""
    return [public for public in _public_classes() if hasattr(public, "predict")]


def transformers() -> list[type]:
    """All public classes that transform."""
    return [public for public in _public_classes() if hasattr(public, "transform")]


def make(public: type, **parameters: Any) -> BaseEstimator:
    """An estimator or transformer that is quick to fit, and deterministic."""
    known = inspect.signature(public).parameters
    small = {name: value for name, value in SMALL.items() if name in known}
    required = REQUIRED.get(public.__name__, dict)()
    return public(**{**small, **required, **parameters})


def options_of(public: type) -> Iterator[tuple[str, Any]]:
    """Every parameter with a list of options, with each of its options."""
    yield from MORE_OPTIONS.get(public.__name__, [])
    for name, constraints in getattr(public, "_parameter_constraints", {}).items():
        for constraint in constraints:
            if isinstance(constraint, StrOptions):
                yield from ((name, option) for option in sorted(constraint.options))


def trainers(n_sequences: int = N_SEQUENCES) -> list[Trainer]:
    """Every public classifier with every option of its parameters, and on every kind of X."""
    kinds, y = examples(n_sequences)
    found = []
    for public in classifiers():
        default = make(public)
        fitting = {kind: kinds[kind] for kind in kinds_for(public)}
        for kind, X in fitting.items():
            found.append(Trainer(f"{public.__name__} {kind}", default, X, y))
        X = next(iter(fitting.values()))
        for name, option in options_of(public):
            estimator = make(public, **{name: option})
            if _fits(estimator, X[:N_SEQUENCES], y[:N_SEQUENCES]):
                found.append(Trainer(f"{public.__name__} {name}={option}", estimator, X, y))
        for name, estimator in _constructed(public):
            found.append(Trainer(f"{public.__name__}.{name}", estimator, X, y))
    return found


@cache
def kinds_for(public: type) -> list[str]:
    """The kinds of X that a classifier takes."""
    kinds, y = examples(3)
    return [kind for kind, X in kinds.items() if _fits(make(public), X, y)]


def _constructed(public: type) -> Iterator[tuple[str, BaseEstimator]]:
    """Estimators made by class methods."""
    for name, method in inspect.getmembers(public, inspect.ismethod):
        if not name.startswith("_") and method.__self__ is public:
            yield name, method()


def _fits(estimator: BaseEstimator, X: list, y: list) -> bool:
    """Whether options are compatible with the other defaults, and label this kind of X."""
    try:
        clone(estimator).fit(X, y).predict(X)
    except (ValueError, TypeError):
        return False
    return True
