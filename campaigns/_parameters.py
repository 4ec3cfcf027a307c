"""Random parameters of estimators, found through the constraints that scikit-learn checks."""

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
from _models import MORE_OPTIONS, make
from _samples import ATOMS
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, Options, StrOptions, make_constraint

import sklearn_crcrf
from sklearn_crcrf.labels import Constraints

__all__ = ["random_estimator", "random_parameters"]

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
