"""Every classifier: trained on random and hostile input, asked, trained on, and trained again."""

from collections.abc import Callable
from random import Random
from typing import Any

from _answers import METHODS, check_answer, check_answers
from _campaign import Campaign, Wrong, show
from _constraints import subject_to
from _models import classifiers, examples, kinds_for
from _parameters import random_estimator
from _samples import Sample, allowed_labels, labels, sample, weights

__all__ = ["CAMPAIGN"]


NOT_FOR_ALL = {"predict_marginals", "predict_spans"}


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
        made, y = rng.choice(CONTINUATIONS)(rng, estimator, made, y)
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
        options["subject_to"] = subject_to(rng, made, list(estimator.classes_))
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


def _train_on(rng: Random, estimator: Any, made: Sample, y: Any) -> tuple[Sample, Any]:
    """More input of the same kind."""
    more = sample(rng, made.kind)
    others = y if more.lengths == made.lengths else labels(rng, more)
    if hasattr(estimator, "partial_fit"):
        show(f"partial_fit, X = {more.X!r}\ny = {others!r}")
        estimator.partial_fit(more.X, others)
    return made, y


def _forget(rng: Random, estimator: Any, made: Sample, y: Any) -> tuple[Sample, Any]:
    """Forget some of the input, and learn it again."""
    if hasattr(estimator, "forget") and isinstance(made.X, list) and len(made.X) > 1:
        show("forget the first sequence")
        estimator.forget(made.X[:1], y[:1])
        estimator.partial_fit(made.X[:1], y[:1])
    return made, y


def _fit_again(rng: Random, estimator: Any, made: Sample, y: Any) -> tuple[Sample, Any]:
    """Fit again; the model before must not matter."""
    kinds, y = examples()
    kind = rng.choice(["numbers", "sparse", "dicts", "words"])
    X = kinds[kind]
    show("fit again to", kind)
    estimator.fit(X, y)
    return Sample("list", X, [len(labels) for labels in y]), y


CONTINUATIONS: list[Callable[[Random, Any, Sample, Any], tuple[Sample, Any]]] = [
    _train_on,
    _train_on,
    _forget,
    _fit_again,
]
CAMPAIGN = Campaign(
    "classifiers",
    fit_and_ask,
    prepare=prepare,
    allowed=(),
    allowed_if_raised=(ValueError, TypeError),
)
