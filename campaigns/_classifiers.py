"""Every classifier: trained on random and hostile input, asked, trained on, and trained again.

And fitted classifiers, of which arrays are replaced by hand.
"""

import copy
import pickle
from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
from _answers import METHODS, check_answer, check_answers
from _campaign import Campaign, Wrong, show
from _models import classifiers, examples, kinds_for, make, random_estimator
from _mutations import mutated_array
from _samples import ATOMS, Sample, allowed_labels, labels, sample, weights

from sklearn_crcrf.labels import (
    AtLeast,
    AtMost,
    Exactly,
    GlobalConstraint,
    Implies,
    Linear,
    SameLabel,
)

NAMES_OF_TOKENS = [None, None, -1, float("nan"), "x", "y", 3, ("a", "tuple")]
NUMBERS_OF_TOKENS = [0, 1, -1, 2.5, 1e-3, 1e12, 1e-300]
NOT_FOR_ALL = {"predict_marginals", "predict_set", "predict_spans"}


def prepare() -> None:
    """Find out which kinds of input each classifier takes."""
    for public in classifiers():
        kinds_for(public)


def fit_and_ask(rng: Random, number: int) -> str:
    """Fit any classifier to any input, and ask it about this or another."""
    public = rng.choice(classifiers())
    estimator = random_estimator(rng, public)
    made = sample(rng, rng.choice(kinds_for(public)) if rng.random() < 0.6 else None)
    y = labels(rng, made)
    show(repr(estimator), f"\n{made.kind}, X = {made.X!r}\ny = {y!r}")
    if made.is_table and rng.random() < 0.7 and "sample_unit" in estimator.get_params():
        estimator.set_params(sample_unit="token")
    estimator.fit(made.X, y, **_weighted(rng, estimator, made))
    if rng.random() < 0.3:
        made, y = _go_on(rng, estimator, made, y)
    if rng.random() < 0.15:
        made = sample(rng, None if rng.random() < 0.3 else made.kind)
        show(f"other X = {made.X!r}")
    _ask(rng, estimator, made, y)
    return f"{type(estimator).__name__}: fitted and asked"


def _weighted(rng: Random, estimator: Any, made: Sample) -> dict[str, Any]:
    weight = weights(rng, made)
    show("weights", weight)
    return {} if weight is None else {"sample_weight": weight}


def _ask(rng: Random, estimator: Any, made: Sample, y: Any) -> None:
    if not hasattr(estimator, "predict_proba"):
        check_answers(rng, estimator, made.X)
        check_answer(rng, estimator, made.X, "predict_marginals")
        return
    options: dict[str, Any] = {}
    if rng.random() < 0.2:
        options["allowed"] = allowed_labels(rng, made.X, list(estimator.classes_))
        show("allowed", options)
    if rng.random() < 0.2:
        options["subject_to"] = _subject_to(rng, made, list(estimator.classes_))
        show("subject_to", options["subject_to"])
    check_answers(rng, estimator, made.X, **options)
    for method in rng.sample(sorted(METHODS.keys() - NOT_FOR_ALL), 2):
        check_answer(rng, estimator, made.X, method)
    if rng.random() < 0.3:
        score = estimator.score(made.X, y)
        if not 0 <= score <= 1:
            raise Wrong(f"score of {type(estimator).__name__} is no accuracy", score)
    if "O" in list(estimator.classes_):
        check_answer(rng, estimator, made.X, "predict_spans")


def _go_on(rng: Random, estimator: Any, made: Sample, y: Any) -> tuple[Sample, Any]:
    """Train on more input of the same kind, forget some and learn it again, or fit again."""
    way = rng.randrange(4)
    if way == 3:  # the model before must not matter
        kinds, y = examples()
        kind = rng.choice(["numbers", "sparse", "dicts", "words"])
        show("fit again to", kind)
        estimator.fit(kinds[kind], y)
        return Sample("list", kinds[kind], list(map(len, y))), y
    if way == 2 and hasattr(estimator, "forget") and isinstance(made.X, list) and len(made.X) > 1:
        show("forget the first sequence")
        estimator.forget(made.X[:1], y[:1])
        estimator.partial_fit(made.X[:1], y[:1])
    elif way < 2:
        more = sample(rng, made.kind)
        others = y if more.lengths == made.lengths else labels(rng, more)
        if hasattr(estimator, "partial_fit"):
            show(f"partial_fit, X = {more.X!r}\ny = {others!r}")
            estimator.partial_fit(more.X, others)
    return made, y


def _subject_to(rng: Random, made: Sample, classes: list) -> list[GlobalConstraint]:
    """A few constraints that most often fit an input and its labels."""
    return [_constraint(rng, made, classes) for _ in range(rng.choice([0, 1, 1, 2, 4]))]


def _constraint(rng: Random, made: Sample, classes: list) -> GlobalConstraint:
    labels = rng.choices(classes, k=rng.choice([1, 1, 2]))
    if rng.random() < 0.05:
        labels = rng.choice([*ATOMS, "nonsense", []])
    per = "sample" if rng.random() < 0.5 else _per_token(rng, made, NAMES_OF_TOKENS)
    kind = rng.choice([AtMost, AtMost, AtLeast, Exactly, Implies, SameLabel, Linear])
    if kind is Implies:
        return Implies(labels, rng.choice(classes), per)
    if kind is SameLabel:
        return SameLabel(per, rng.choice([None, str, dict.fromkeys(classes[:2], 1), "IOB2"]))
    if kind is Linear:
        numbers = (
            NUMBERS_OF_TOKENS
            if rng.random() < 0.9
            else [*NUMBERS_OF_TOKENS, float("inf"), "a", None]
        )
        values = rng.choice([rng.choice(numbers), _per_token(rng, made, numbers)])
        return Linear({rng.choice(classes): values}, upper=rng.choice(numbers), per=per)
    return kind(labels, rng.choice([0, 1, 1, 2, 5, -1, 1.5]), per)


def _per_token(rng: Random, made: Sample, values: list) -> Any:
    """One of the values for each token, most often in the layout of X."""
    if rng.random() < 0.05:
        return rng.choice(["parent", None, [], [["x"]], 3, {"a": 1}, [[[]]]])
    drawn = [rng.choices(values, k=n) for n in made.lengths]
    return drawn[0] if made.is_table else drawn


_fitted: list[tuple[Any, list, list]] = []


def fit_all() -> None:
    """Fit every classifier to every kind of input, for the campaign of replaced arrays."""
    kinds, y = examples(4)
    for public in classifiers():
        given = (kinds[kind] for kind in kinds_for(public))
        _fitted.extend((make(public).fit(X, y), X, y) for X in given)


def replace_and_ask(rng: Random, number: int) -> str:
    """Replace an array of a fitted classifier, and ask, train on, store or make a tagger."""
    fitted, X, y = rng.choice(_fitted)
    estimator = copy.deepcopy(fitted)
    places = list(_arrays(estimator, type(estimator).__name__, set()))
    for where, owner, name, array in rng.sample(places, min(len(places), rng.choice([1, 1, 2]))):
        changed = mutated_array(rng, array)
        show(where, f"= {array!r}, and now {changed!r}")
        if isinstance(owner, dict):
            owner[name] = changed
        else:
            object.__setattr__(owner, name, changed)
    _ask_somehow(rng, estimator, X, y)
    return f"{type(estimator).__name__}: asked"


def _arrays(it: Any, where: str, seen: set) -> Iterator[tuple[str, Any, Any, np.ndarray]]:
    """Every array in an object: where it is, its owner, and its name there."""
    if id(it) in seen or isinstance(it, type) or callable(getattr(it, "__wrapped__", None)):
        return
    seen.add(id(it))
    if isinstance(it, list | tuple):
        for k, part in enumerate(it):
            yield from _arrays(part, f"{where}[{k}]", seen)
        return
    items = it if isinstance(it, dict) else getattr(it, "__dict__", {})
    for name, value in items.items():
        if isinstance(value, np.ndarray):
            yield f"{where}.{name}", it, name, value
        elif not isinstance(value, str | bytes | int | float):
            yield from _arrays(value, f"{where}.{name}", seen)


def _ask_somehow(rng: Random, estimator: Any, X: list, y: list) -> None:
    """Ask the estimator, its tagger or its copy, or train it before."""
    way = rng.randrange(5)
    if way == 2:
        if hasattr(estimator, "tagger"):
            labels = estimator.tagger().many(X)
            if list(map(len, labels)) != list(map(len, X)):
                raise Wrong("a tagger gives other lengths than X", labels)
        return
    if way == 3:
        estimator = pickle.loads(pickle.dumps(estimator))
    if way == 4:
        for name in ("partial_fit", "forget"):
            if hasattr(estimator, name):
                getattr(estimator, name)(X[:1], y[:1])
        estimator.get_params()
    check_answers(rng, estimator, X)


OPTIONS: dict[str, Any] = {"allowed": (), "allowed_if_raised": (ValueError, TypeError)}
CAMPAIGNS = [
    Campaign("classifiers", fit_and_ask, prepare=prepare, **OPTIONS),
    Campaign("replaced", replace_and_ask, prepare=fit_all, batch=20),
]
