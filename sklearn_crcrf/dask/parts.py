"""The parts of a corpus: partitions of bags, delayed objects, or parts of corpus folders."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..data.ragged import SequenceArray
from ..out_of_core import CorpusFolder
from ..out_of_core.corpus_folder import refuse_what_needs_all
from .computing import task
from .packages import require_dask


def is_distributed(X: Any) -> bool:
    """Say whether X consists of parts that are computed by Dask."""
    dask = require_dask("dask")
    return dask.is_dask_collection(X) or (
        isinstance(X, (list, tuple)) and len(X) > 0 and all(map(dask.is_dask_collection, X))
    )


def labelled_parts(X: Any, y: Any, sample_weight: Any) -> list[tuple[Any, Any, Any]]:
    """Return the parts of training data: tokens, labels and weights.

    Parameters
    ----------
    X, y, sample_weight : as :func:`same_parts` takes them
        Or X is a CorpusFolder, or a list of them, and y and sample_weight are None; each worker
        reads parts of folders itself.

    Returns
    -------
    list of tuples of Delayed

    Raises
    ------
    TypeError
        If data is anything else.
    ValueError
        If labels have more parts than tokens, or are given for a CorpusFolder.
    """
    folders = [X] if isinstance(X, CorpusFolder) else X
    if not isinstance(folders, (list, tuple)) or not any(
        isinstance(folder, CorpusFolder) for folder in folders
    ):
        _parts_of(y, "y")
        return same_parts(X=X, y=y, sample_weight=sample_weight)
    refuse_what_needs_all(y, sample_weight, {})
    pairs = [
        task(_read_part, os.path.abspath(folder.folder), number)
        for folder in folders
        for number in range(len(folder))
    ]
    return [(pair[0], pair[1], None) for pair in pairs]


def _read_part(folder: str, number: int) -> tuple[Any, Any]:
    """Return the tokens and labels of a part of a corpus folder."""
    X, y = CorpusFolder(folder)[number]
    if y is None:
        raise ValueError(f"{folder} has no labels to train on")
    return X, y


def same_parts(**data: Any) -> list[tuple[Any, ...]]:
    """Return the parts of several data that belong together.

    Parameters
    ----------
    **data : Bag, Delayed, list of Delayed or None
        The first must not be None; the parts of None are None.

    Returns
    -------
    list of tuples of Delayed

    Raises
    ------
    TypeError
        If data is anything else.
    ValueError
        If one has more parts than another.
    """
    (first, leading), *others = data.items()
    columns = [_parts_of(leading, first)]
    for name, given in others:
        parts = [None] * len(columns[0]) if given is None else _parts_of(given, name)
        if len(parts) != len(columns[0]):
            raise ValueError(
                f"{name} has {len(parts)} parts, but {first} has {len(columns[0])}: partition both "
                "alike"
            )
        columns.append(parts)
    return list(zip(*columns, strict=True))


def _parts_of(X: Any, name: str) -> list[Any]:
    delayed = require_dask("dask.delayed").Delayed
    if isinstance(X, require_dask("dask.bag").Bag):
        # Optimised as when the user computes X: one key must not stand for two different tasks.
        return X.to_delayed()
    parts = [X] if isinstance(X, delayed) else X
    if isinstance(parts, (list, tuple)) and parts and all(isinstance(p, delayed) for p in parts):
        return list(parts)
    raise TypeError(
        f"{name} must be a dask.bag.Bag or a list of dask.delayed.Delayed, got {type(X).__name__}; "
        "for data in memory there are the classes without Dask in their names"
    )


def concrete(part: Any) -> Any:
    """Return a part, as a list if it is an iterator, which a bag may have for a partition."""
    return part if part is None or hasattr(part, "__len__") else list(part)


def has_tokens(part: Any) -> bool:
    """Say whether a part has a token."""
    if isinstance(part, SequenceArray):
        return bool(part.lengths.any())
    return any(map(len, part)) if isinstance(part, (list, tuple)) else len(part) > 0


@contextmanager
def naming_part(number: int) -> Iterator[None]:
    """Name the part in what a ValueError says."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"part {number}: {error}") from error
