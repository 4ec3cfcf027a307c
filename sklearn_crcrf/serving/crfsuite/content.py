"""Taggers of models of CRFsuite."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ...utils.unpacking import Budget
from ...utils.warning import warn_caller
from ..content import Content, table_arrays
from ..linear import CSR, linear_content
from ..small import strings_of
from .binary_model import CRFsuiteModel, ModelParts


def crfsuite_content(parts: ModelParts, separator: str | None, budget: Budget) -> Content:
    """Return the content of a tagger, whose labels are in the order of the model.

    Parameters
    ----------
    parts : ModelParts
    separator : {":", "="} or None
        As in :func:`separator_of`.
    budget : Budget
        The memory that the arrays may take.

    Raises
    ------
    ValueError
        If the model is damaged, the separator is another one, or there are too many labels for the
        budget.
    """
    labels, n = parts.labels(), parts.n_labels
    budget.take(8 * n**2)
    attributes = parts.attributes()
    names = table_arrays("names", attributes.arrays())
    separator = separator_of(separator, attributes.containing, attributes.__getitem__)
    del attributes
    (weight, (row, column)), (score, places) = parts.weights()
    indptr = np.searchsorted(row, np.arange(parts.n_attributes + 1)).astype(np.int64)
    states = indptr, column.astype(np.int32), weight
    transition = np.zeros((n, n))
    transition[places] = score
    shared = transition, np.zeros(n), np.zeros(n)
    content = linear_content(names, None, states, shared, labels, separator=separator, lists=True)
    return content._replace(budget=budget)


def model_of(content: Content) -> CRFsuiteModel:
    """Return the model, with the weights that are not zero, of the content of its tagger."""
    indptr, column, weight = (content.arrays[f"coef.{part}"] for part in CSR)
    row = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    transition = content.arrays["transition"]
    previous, current = np.nonzero(transition)
    names = strings_of(content._replace(budget=Budget(None)), "names")
    labels = content.setting("labels", list)
    return CRFsuiteModel(
        labels, names, (weight, (row, column)), (transition[previous, current], (previous, current))
    )


def separator_of(
    given: str | None, containing: Callable[[str], np.ndarray], name: Callable[[Any], str]
) -> str:
    """Find the separator of keys and values; keys may contain colons, as in ``-1:word=dog``.

    Parameters
    ----------
    given : {":", "="} or None
        None for "=" if most attributes contain it, else ":".
    containing : callable
        Says which attributes contain a character, bool of shape (n_attributes,).
    name : callable
        Takes the number of an attribute.

    Raises
    ------
    ValueError
        If it is another one.
    """
    if given not in (None, ":", "="):
        raise ValueError(f"separator must be ':', '=' or None, got {given!r}")
    if given is not None:
        return given
    with_equals = containing("=")
    others = containing(":") & ~with_equals
    if with_equals.sum() <= others.sum():
        return ":"
    if others.any():
        examples = [repr(name(which.argmax())) for which in (with_equals, others)]
        warn_caller(
            f"most attributes are like {examples[0]}, but others like {examples[1]}: keys and "
            "values of feature dicts are joined by '='; give separator=':' for a model that "
            "python-crfsuite has trained on feature dicts"
        )
    return "="
