"""Count which symbols and labels occur together."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..data.ragged import SequenceArray, locate
from .counts import Counts, Template
from .links import Links
from .tables import split
from .window import ColumnWindow

__all__ = ["count_folds", "count_tokens"]

_LARGEST_ID = np.iinfo(np.int32).max


def count_tokens(
    columns: Mapping[str, np.ndarray],
    labels: np.ndarray,
    offsets: np.ndarray,
    templates: Iterable[Template],
    weights: np.ndarray | None = None,
    links: Links | None = None,
) -> Counts:
    """Count the co-occurrences of symbols and labels in a run of sequences.

    Parameters
    ----------
    columns : mapping from column name to int ndarray of shape (n_tokens,)
        Ids of the symbols, from 0 to 2 ** 31 - 1.
    labels : int ndarray of shape (n_tokens,)
        Ids of the labels, from 0 to 2 ** 31 - 1.
    offsets : array-like of shape (n_sequences + 1,)
        Where the sequences begin and end.
    templates : iterable of Template
    weights : array-like of shape (n_tokens,) or (1,), optional
        Weight of each token, or one weight for all; not negative, by default one. A token of
        weight zero is not counted. An event with the labels of several tokens has the smallest of
        their weights.
    links : Links, optional
        The links between tokens; by default from each token to the next one of its sequence. A
        template is counted for every walk along links: for a token with several links out of it,
        an event with the offsets 0 and 1 occurs several times.

    Returns
    -------
    Counts

    Raises
    ------
    ValueError
        If a template names a column that is missing, the shapes do not agree, or an id or a
        weight is out of range; the message names the sequence and the position in it.

    Examples
    --------
    >>> pair = Template((("word", -1), ("word", 0)), labels=(-1, 0))
    >>> words, labels = np.array([5, 6]), np.array([0, 1])
    >>> count_tokens({"word": words}, labels, [0, 2], [pair])[pair].events.tolist()
    [[-1, 5, -1, 0], [5, 6, 0, 1]]
    """
    templates = list(templates)
    window, weights = _check_input(columns, labels, offsets, templates, weights, links)
    return Counts({template: window.count(template, weights) for template in templates})


def count_folds(
    columns: Mapping[str, np.ndarray],
    labels: np.ndarray,
    offsets: np.ndarray,
    templates: Iterable[Template],
    fold_of_sequence: np.ndarray,
    weights: np.ndarray | None = None,
    links: Links | None = None,
) -> list[Counts]:
    """Count the co-occurrences in every fold of a corpus, in one pass over it.

    The counts of all folds sum to the counts of the corpus. A model that is tested on one fold is
    trained on this sum minus the counts of that fold.

    Parameters
    ----------
    columns, labels, offsets, templates, weights, links
        As in :func:`count_tokens`.
    fold_of_sequence : int array-like of shape (n_sequences,)
        Fold of each sequence, not negative.

    Returns
    -------
    list of Counts
        One for every fold up to the largest fold number; a fold without sequences has empty tables.

    Raises
    ------
    ValueError
        As in :func:`count_tokens`, or if ``fold_of_sequence`` has not one fold for each sequence.

    Examples
    --------
    >>> word = Template((("word", 0),))
    >>> words, labels = np.array([5, 6, 5]), np.array([0, 1, 0])
    >>> folds = count_folds({"word": words}, labels, [0, 2, 3], [word], [0, 1])
    >>> [fold[word].events.tolist() for fold in folds]
    [[[5, 0], [6, 1]], [[5, 0]]]
    """
    templates = list(templates)
    window, weights = _check_input(columns, labels, offsets, templates, weights, links)
    numbers = np.arange(len(window.offsets))
    fold = _check_ids("fold_of_sequence", fold_of_sequence, numbers)
    return count_folds_of(window, templates, fold, weights)


def count_folds_of(
    window: ColumnWindow, templates: Sequence[Template], fold: np.ndarray, weights: np.ndarray
) -> list[Counts]:
    """The same for checked columns and weights, and the fold of each sequence."""
    n_folds = int(fold.max(initial=-1)) + 1
    fold = np.repeat(fold, np.diff(window.offsets))
    # The fold is the first id of every event, so the events of one fold are consecutive.
    tables = {t: split(window.count(t, weights, [fold]), n_folds) for t in templates}
    return [Counts({t: tables[t][k] for t in templates}) for k in range(n_folds)]


def _check_input(
    columns, labels, offsets, templates, weights, links
) -> tuple[ColumnWindow, np.ndarray]:
    offsets = SequenceArray(np.asarray(labels), offsets).offsets
    named = {column for template in templates for column, _ in template.symbols}
    of_links = {} if links is None else links.symbols
    if missing := named - columns.keys() - of_links.keys():
        raise ValueError(f"columns has no {min(missing, key=str)!r}, which a template names")
    ids = {
        name: _check_ids(f"columns[{name!r}]", columns[name], offsets)
        for name in named - of_links.keys()
    }
    window = ColumnWindow(ids, _check_ids("labels", labels, offsets), offsets, links)
    return window, _check_weights(weights, offsets)


def _check_ids(name: str, ids: Any, offsets: np.ndarray) -> np.ndarray:
    ids = np.asarray(ids)
    if ids.shape != (offsets[-1],) or (ids.dtype.kind not in "iu" and ids.size):
        raise ValueError(
            f"{name} must hold {offsets[-1]} integers, got shape {ids.shape} and type {ids.dtype}"
        )
    if ids.min(initial=0) < 0 or ids.max(initial=0) > _LARGEST_ID:
        token = int(np.argmax((ids < 0) | (ids > _LARGEST_ID)))
        raise _invalid(name, offsets, token, f"{ids[token]} is not from 0 to {_LARGEST_ID}")
    return np.ascontiguousarray(ids, dtype=np.int32)


def _check_weights(weights: Any, offsets: np.ndarray) -> np.ndarray:
    if weights is None:
        return np.ones(1)
    weights = np.ascontiguousarray(weights, dtype=np.float64)
    if weights.shape not in ((offsets[-1],), (1,)):
        raise ValueError(f"weights must have shape ({offsets[-1]},), got {weights.shape}")
    proper = (weights >= 0) & (weights < np.inf)
    if not proper.all():
        token = int(np.argmin(proper))
        raise _invalid("weights", offsets, token, f"{weights[token]} is negative or not finite")
    return weights


def _invalid(name: str, offsets: np.ndarray, token: int, problem: str) -> ValueError:
    sequence, position = locate(offsets, token)
    return ValueError(f"{name}, sequence {sequence}, position {position}: {problem}")
