"""Taggers of models of CRFsuite."""

import numpy as np

from ...utils.unpacking import Budget
from ...utils.warning import warn_caller
from ..content import Content
from ..linear import linear_content
from .binary_model import CRFsuiteModel


def crfsuite_content(model: CRFsuiteModel, separator: str | None, budget: Budget) -> Content:
    """Return the content of a tagger, whose labels are in the order of the model.

    Parameters
    ----------
    model : CRFsuiteModel
    separator : {":", "="} or None
        As in :func:`separator_of`.
    budget : Budget
        The memory that the arrays may take.

    Raises
    ------
    ValueError
        If the separator is another one, or there are too many labels for the budget.
    """
    separator, n = separator_of(model.attributes, separator), len(model.labels)
    budget.take(8 * n**2)
    weight, (row, column) = model.states
    order = np.lexsort((column, row))
    indptr = np.searchsorted(row[order], np.arange(len(model.attributes) + 1))
    states = indptr.astype(np.int64), column[order].astype(np.int32), weight[order]
    transition = np.zeros((n, n))
    weight, places = model.transitions
    transition[places] = weight
    shared = transition, np.zeros(n), np.zeros(n)
    content = linear_content(
        *(model.attributes, None, states, shared, model.labels), separator=separator, lists=True
    )
    return content._replace(budget=budget)


def separator_of(names: list[str], given: str | None) -> str:
    """Find the separator of keys and values; keys may contain colons, as in ``-1:word=dog``.

    Parameters
    ----------
    names : list of str
        All attributes.
    given : {":", "="} or None
        None for "=" if most attributes contain it, else ":".

    Raises
    ------
    ValueError
        If it is another one.
    """
    if given not in (None, ":", "="):
        raise ValueError(f"separator must be ':', '=' or None, got {given!r}")
    if given is not None:
        return given
    with_equals = [name for name in names if "=" in name]
    others = [name for name in names if ":" in name and "=" not in name]
    if len(with_equals) <= len(others):
        return ":"
    if others:
        warn_caller(
            f"most attributes are like {with_equals[0]!r}, but others like {others[0]!r}: keys and "
            "values of feature dicts are joined by '='; give separator=':' for a model that "
            "python-crfsuite has trained on feature dicts"
        )
    return "="
