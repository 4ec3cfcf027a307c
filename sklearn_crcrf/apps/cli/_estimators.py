"""Estimators and their parameters by name."""

import argparse
import ast
import inspect
from collections.abc import Callable
from typing import Any

from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import make_pipeline

import sklearn_crcrf

from ... import EmpiricalCRF, TemplateFeatures
from ...criteria import CRITERIA
from ...utils.unpacking import read_text
from ._text import ITEMS, naming

NAMES = ("--estimator", "--set", "--template", "--syntax")


def _estimators() -> dict[str, Callable[..., BaseEstimator]]:
    """Find all classifiers that take words and no other estimators, and presets of them."""
    found: dict[str, Callable[..., BaseEstimator]] = {}
    for name in sklearn_crcrf.__all__:
        estimator = getattr(sklearn_crcrf, name)
        if hasattr(estimator, "predict"):
            parameters = inspect.signature(estimator).parameters.values()
            is_needed = any(p.default is p.empty for p in parameters)
            if not is_needed and estimator().__sklearn_tags__().input_tags.dict:
                found[name] = estimator
    return {
        **found,
        "EmpiricalCRF.ecrn": EmpiricalCRF.ecrn,
        "EmpiricalCRF.maxent": EmpiricalCRF.maxent,
    }


ESTIMATORS = _estimators()


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose the estimator."""
    group = parser.add_argument_group("estimator")
    group.add_argument(
        "--estimator",
        metavar="NAME",
        help=f"{', '.join(ESTIMATORS)}; default: EmpiricalCRF, CRF with a template, "
        "or CRFsuiteCRF with --format crfsuite",
    )
    group.add_argument(
        "--set",
        metavar="NAME=VALUE",
        nargs="+",
        action="extend",
        help="parameters, such as sigma=2 criterion=mce; values are as in Python, or strings",
    )
    group.add_argument(
        "-t", "--template", metavar="TEMPLATE", help="file of attributes, of CRF++ or Wapiti"
    )
    group.add_argument(
        "--syntax",
        choices=["crf++", "wapiti", "wapiti-bytes"],
        help="language of the template; default: crf++",
    )


def given_options(options: argparse.Namespace) -> list[str]:
    """Return the names of the options that were given."""
    return [name for name in NAMES if getattr(options, name[2:]) is not None]


def make_estimator(options: argparse.Namespace) -> BaseEstimator:
    """Make the estimator that the options describe.

    Raises
    ------
    ValueError
        If a name is unknown; the message lists the choices.
    """
    if options.syntax and not options.template:
        raise ValueError("--syntax needs --template")
    if options.columns == ITEMS and options.template:
        raise ValueError("--template needs columns, not --format crfsuite")
    usual = "CRFsuiteCRF" if options.columns == ITEMS else "EmpiricalCRF"
    name = options.estimator or ("CRF" if options.template else usual)
    by_lower_case = {known.lower(): known for known in ESTIMATORS}
    if name.lower() not in by_lower_case:
        raise ValueError(f"there is no estimator {name!r}; there are {', '.join(ESTIMATORS)}")
    name = by_lower_case[name.lower()]
    estimator = ESTIMATORS[name]()
    given = dict(_assignment(text) for text in options.set or ())
    if not options.template:
        return _with(estimator, given)
    features = _features(options.template, options.syntax or "crf++", options.encoding)
    edges = features.edge_columns
    if edges and "edge_columns" not in estimator.get_params():
        raise ValueError(
            f"{name} has no transitions that depend on attributes, but the template describes "
            f"{', '.join(edges)}; --estimator CRF has"
        )
    if edges:
        given.setdefault("edge_columns", edges)
    return make_pipeline(features, _with(estimator, given))


def _assignment(text: str) -> tuple[str, Any]:
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise ValueError(f"--set takes NAME=VALUE, got {text!r}")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, {"inf": float("inf")}.get(value, value)


def _with(estimator: BaseEstimator, given: dict[str, Any]) -> BaseEstimator:
    """Return the estimator with these parameters; ``criterion__...`` are of its criterion."""
    nested = {name: value for name, value in given.items() if "__" in name}
    estimator.set_params(**{name: given[name] for name in given if name not in nested})
    criterion = CRITERIA.get(str(getattr(estimator, "criterion", None)))
    if nested and criterion is not None:
        estimator.set_params(criterion=clone(criterion))
    return estimator.set_params(**nested)


def _features(path: str, syntax: str, encoding: str) -> TemplateFeatures:
    with naming(path):
        features = TemplateFeatures(read_text(path, encoding), syntax=syntax)
        features.edge_columns  # noqa: B018, it reads the template
    return features
