"""Small estimators of every kind, found through public names and the options of parameters."""

import inspect
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from random import Random
from typing import Any, NamedTuple

import numpy as np
from _samples import ATOMS
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils._param_validation import Interval, Options, StrOptions, make_constraint

import sklearn_crcrf
from sklearn_crcrf.estimators.crfsuite.algorithms import ALGORITHMS
from sklearn_crcrf.labels import Constraints, convert_scheme

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
    "ConformalSequenceClassifier": lambda: {
        "estimator": sklearn_crcrf.HMM(),
        "confidence_level": 0.3,
        "target": "token",
        "cv": 2,
    },
    "SegmentF1Classifier": lambda: {"estimator": sklearn_crcrf.HMM(), "cv": 2},
    "SemiSupervisedClassifier": lambda: {"estimator": sklearn_crcrf.HMM()},
    "EmpiricalCRFCV": lambda: {"sigmas": [1.0], "mu_oovs": [0.5, 1.0], "cv": 2},
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
    names.remove(sklearn_crcrf.SequenceLabelModel)  # takes votes in place of X and y
    names.remove(sklearn_crcrf.TextTagger)  # takes texts
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


all_trainers: list[Trainer] = []


def prepare_trainers(n_sequences: int) -> None:
    """Find the trainers of a campaign."""
    warnings.simplefilter("ignore")
    all_trainers[:] = trainers(n_sequences)


def is_same(before: dict[str, Any], after: dict[str, Any]) -> bool:
    """Whether all attributes are the same objects."""
    return before.keys() == after.keys() and all(before[k] is after[k] for k in before)


NUMBERS = [0, 1, 2, 3, 5, 10, 0.0, 1e-9, 0.1, 0.5, 0.9, 1.0, 2.0, 100.0, 1e12, 1e300, -0.5, -1]
# Parameters that would only take long, or print to standard output.
FEW: dict[str, list] = {
    "max_iter": [0, 1, 2, 5, 10],
    "max_iterations": [0, 1, 5, 10],
    "n_jobs": [None, None, None, 1, 2, -1],
    "verbose": [0, False],
    "random_state": [0, 1, None],
    "order": [1, 2],
}
HARMFUL = {"max_iter", "max_iterations", "n_jobs", "verbose"}


def _nothing(*args: Any, **kwargs: Any) -> None:
    """A callable that does not return what it should."""


HOSTILE = [*ATOMS, np.nan, -np.inf, 2**31, 2**63, "nonsense", np.float32(0.5), [1, 2], _nothing]


def random_estimator(rng: Random, public: type, hostile: float = 0.1) -> BaseEstimator:
    """An estimator with some parameters that differ from their defaults."""
    return make(public, **random_parameters(rng, public, hostile))


def random_parameters(rng: Random, public: type, hostile: float) -> dict[str, Any]:
    """Values of some parameters.

    Parameters
    ----------
    rng : Random
    public : type
        A public class of the package.
    hostile : float
        Probability that one parameter has an invalid value.
    """
    known = getattr(public, "_parameter_constraints", {})
    chosen = {}
    for name, constraints in known.items():
        values = _values(rng, public, name, constraints) if rng.random() < 0.15 else []
        if values:
            chosen[name] = rng.choice(values)
    if known and rng.random() < hostile:
        chosen[rng.choice(sorted(known.keys() - HARMFUL))] = rng.choice(HOSTILE)
    return chosen


def _values(rng: Random, public: type, name: str, constraints: list) -> list:
    """Some values that a parameter may have."""
    if name in FEW:
        return FEW[name]
    if name in SPECIAL:
        return SPECIAL[name](rng)
    values = [option for of, option in MORE_OPTIONS.get(public.__name__, ()) if of == name]
    for constraint in constraints:
        checked = make_constraint(constraint)
        if isinstance(constraint, Options | StrOptions):
            values += sorted(constraint.options, key=str)
        elif isinstance(constraint, Interval):
            values += [number for number in NUMBERS if checked.is_satisfied_by(number)]
        elif constraint == "boolean":
            values += [True, False]
        elif constraint is None:
            values.append(None)
    return values


def _constraints(rng: Random) -> list:
    masks = [np.ones((n, n), dtype=bool) for n in (2, 3, 5)]
    for mask in masks:
        mask[rng.randrange(len(mask)), rng.randrange(len(mask))] = False
    flags = np.array([True, False, True])
    schemes = ["IOB1", "IOB2", "IOBES", "IOB2"]
    maps = [{"N": ["V"]}, {"O": ["O", "B-X"]}, {0: [1]}, {"N": []}]
    return [*schemes, *masks, *maps, Constraints(masks[1], flags, ~flags), np.zeros((3, 3), bool)]


def _edge_columns(rng: Random) -> list:
    return [["w"], [0], ["token"], [0, 1], "w", ["n", "w"], ["nonsense"], [-1], [99]]


def _estimators(rng: Random) -> list:
    few = [sklearn_crcrf.CRF, sklearn_crcrf.HMM, sklearn_crcrf.EmpiricalCRF, sklearn_crcrf.MEMM]
    n = rng.choice([1, 2, 3])
    pairs = [(f"e{k}", random_estimator(rng, rng.choice(few), 0)) for k in range(n)]
    return [pairs, pairs, pairs, [], [("a", None)], [("a", few[0]()), ("a", few[1]())]]


def _initial(rng: Random) -> list:
    words = [["the", "dog"], ["a", "cat"]], [["N", "V"], ["N", "V"]]
    fitted = sklearn_crcrf.CRF(max_iter=2).fit(*words)
    return ["zeros", "empirical", "log_loss", fitted]


SPECIAL: dict[str, Callable[[Random], list]] = {
    "constraints": _constraints,
    "edge_columns": _edge_columns,
    "estimators": _estimators,
    "init": _initial,
    "class_weight": lambda rng: ["balanced", {"N": 2.0}, {"O": 0.0}, {0: 3.0}, {"N": -1.0}],
    "weights": lambda rng: [None, [0.5, 0.5], [1.0], [0.0, 0.0], [-1.0, 2.0], [np.nan, 1.0]],
    "exponents": lambda rng: [None, "fit", {}, {"word": 0.5}, {"nonsense": 1.0}, {"word": np.nan}],
    "observation": lambda rng: [None, "w", "word", "nonsense"],
}
