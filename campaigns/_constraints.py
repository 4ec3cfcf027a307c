"""Random and hostile constraints on the labels of samples."""

from random import Random
from typing import Any

from _samples import ATOMS, Sample

from sklearn_crcrf.constraints import (
    AtLeast,
    AtMost,
    Exactly,
    GlobalConstraint,
    Implies,
    Linear,
    SameLabel,
)

__all__ = ["subject_to"]

NAMES = [None, None, -1, float("nan"), "x", "y", 3, ("a", "tuple")]
NUMBERS = [0, 1, -1, 2.5, 1e-3, 1e12, 1e-300]


def subject_to(rng: Random, made: Sample, classes: list) -> list[GlobalConstraint]:
    """A few constraints that most often fit an input and its labels."""
    return [_constraint(rng, made, classes) for _ in range(rng.choice([0, 1, 1, 2, 4]))]


def _constraint(rng: Random, made: Sample, classes: list) -> GlobalConstraint:
    labels = rng.choices(classes, k=rng.choice([1, 1, 2]))
    if rng.random() < 0.05:
        labels = rng.choice([*ATOMS, "nonsense", []])
    per = "sample" if rng.random() < 0.5 else _per_token(rng, made, NAMES)
    kind = rng.choice([AtMost, AtMost, AtLeast, Exactly, Implies, SameLabel, Linear])
    if kind is Implies:
        return Implies(labels, rng.choice(classes), per)
    if kind is SameLabel:
        return SameLabel(per, rng.choice([None, str, dict.fromkeys(classes[:2], 1), "IOB2"]))
    if kind is Linear:
        numbers = NUMBERS if rng.random() < 0.9 else [*NUMBERS, float("inf"), "a", None]
        values = rng.choice([rng.choice(numbers), _per_token(rng, made, numbers)])
        return Linear({rng.choice(classes): values}, upper=rng.choice(numbers), per=per)
    return kind(labels, rng.choice([0, 1, 1, 2, 5, -1, 1.5]), per)


def _per_token(rng: Random, made: Sample, values: list) -> Any:
    """One of the values for each token, most often in the layout of X."""
    if rng.random() < 0.05:
        return rng.choice(["parent", None, [], [["x"]], 3, {"a": 1}, [[[]]]])
    drawn = [rng.choices(values, k=n) for n in made.lengths]
    return drawn[0] if made.is_table else drawn
