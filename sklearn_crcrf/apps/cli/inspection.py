"""The command inspect."""

import argparse
import json
from typing import Any

import numpy as np

from ...base.unwrap import unwrap
from ...display.plotting.attributes import extremes, top_attributes
from ...labels.constraints.constraints import forbidden_scores
from ...model_files import StoredModel, load_model
from ._text import add_max_bytes, whole

TOP = 10
# Maximum number of labels in a table of transitions.
WIDEST = 12


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("-m", "--model", metavar="MODEL", required=True, help="written by train")
    parser.add_argument("--label", action="append", help="only this label; may be repeated")
    parser.add_argument(
        "--top", type=whole, default=TOP, metavar="N", help=f"number of attributes; default: {TOP}"
    )
    parser.add_argument("--json", action="store_true", help="the same as JSON")
    add_max_bytes(parser)


def run(options: argparse.Namespace) -> None:
    """Print parameters, transitions, and the top attributes of each label."""
    model = load_model(options.model, options.max_bytes)
    classifier, _ = unwrap(model.estimator)
    labels = [str(label) for label in classifier.classes_]
    shown = options.label or labels
    for label in shown:
        if label not in labels:
            raise ValueError(f"there is no label {label!r}; there are {', '.join(labels)}")
    places = [labels.index(label) for label in shown]
    transitions = _transitions(classifier)
    edges = _top_edges(classifier, places, options.top)
    attributes = {
        str(label): weights
        for label, weights in top_attributes(classifier, places, options.top).items()
    }
    if options.json:
        _print_json(model, classifier, transitions, edges, attributes)
        return
    print(classifier)
    print(f"  columns     {', '.join(c or '_' for c in model.columns or ['not known'])}")
    _print_transitions(transitions, labels, places)
    if edges:
        print("\ntransitions that depend on attributes")
        for *pair, name, weight in edges:
            print(f"{weight:+10.4f}  {' → '.join(pair)} | {name}")
    for label, weights in attributes.items():
        print(f"\n{label}")
        for name, weight in weights.items():
            print(f"{weight:+10.4f}  {name}")


def _transitions(classifier: Any) -> np.ndarray | None:
    """Transition scores, -inf for impossible transitions."""
    scores = getattr(classifier, "transitions_", None)
    if scores is None:
        return None
    constraints = getattr(classifier, "_constraints", None)
    return np.asarray(scores) + forbidden_scores(constraints, len(scores))[0]


def _top_edges(classifier: Any, places: list[int], n: int) -> list[tuple[str, str, str, float]]:
    """Find the largest and smallest weights of attributes on which transitions depend.

    Returns
    -------
    list of (previous label, label, attribute, weight)
        Largest first.
    """
    coef = getattr(classifier, "edge_coef_", None)
    if coef is None or not coef.size:
        return []
    weights, names = coef[:, places][:, :, places], classifier.edge_attribute_names_
    labels = [str(classifier.classes_[j]) for j in places]
    found = []
    for k in extremes(weights.ravel(), n):
        a, i, j = np.unravel_index(k, weights.shape)
        found.append((labels[i], labels[j], str(names[a]), float(weights[a, i, j])))
    return found


def _print_json(
    model: StoredModel,
    classifier: Any,
    transitions: np.ndarray | None,
    edges: list[tuple[str, str, str, float]],
    attributes: dict[str, dict[str, float]],
) -> None:
    labels = [str(label) for label in classifier.classes_]
    nested = {}
    if transitions is not None:
        possible = np.where(np.isinf(transitions), np.array(None), transitions).tolist()
        rows = (dict(zip(labels, row, strict=True)) for row in possible)
        nested = dict(zip(labels, rows, strict=True))
    content = {
        "estimator": type(classifier).__name__,
        "parameters": classifier.get_params(deep=False),
        "columns": model.columns,
        "observation": getattr(classifier, "observation_", None),
        "labels": labels,
        "transitions": nested,
        "edges": edges,
        "attributes": attributes,
    }
    print(json.dumps(content, ensure_ascii=False, default=str))


def _print_transitions(
    transitions: np.ndarray | None, labels: list[str], places: list[int]
) -> None:
    if transitions is None:
        return
    if len(places) > WIDEST:
        _print_top_transitions(transitions, labels)
        return
    names = [labels[j] for j in places]
    width = max(8, *map(len, names))
    print(f"\ntransitions, from the label of the row\n{'':{width}}", end="")
    print("".join(f"  {name:>{width}}" for name in names))
    for name, i in zip(names, places, strict=True):
        row = "".join(f"  {transitions[i, j]:{width}.4f}" for j in places)
        print(f"{name:{width}}{row}")


def _print_top_transitions(transitions: np.ndarray, labels: list[str]) -> None:
    """Print the largest and smallest scores, if there are too many labels for a table."""
    flat = transitions.ravel()
    order = [k for k in np.argsort(-flat, kind="stable") if np.isfinite(flat[k])]
    print("\ntransitions, the largest and the smallest")
    for k in [*order[:TOP], *order[-TOP:]]:
        i, j = divmod(int(k), len(labels))
        print(f"{flat[k]:+10.4f}  {labels[i]} → {labels[j]}")
