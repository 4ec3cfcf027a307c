"""Taggers whose scores are linear in the attributes of tokens."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from .._kernels.text import tagging
from .._kernels.text.tokens import AttributeReader
from .columns import attributes_of, reader_of
from .content import Content, string_arrays

CSR = "indptr", "columns", "data"


def linear_content(
    names: Sequence[str] | dict[str, np.ndarray],
    row: np.ndarray | None,
    weights: Sequence[np.ndarray],
    shared: Sequence[np.ndarray],
    labels: list,
    *,
    separator: str = "=",
    lists: bool = False,
    decoding: str = "viterbi",
    columns: Mapping[str, list] | None = None,
) -> Content:
    """Return the content of a tagger.

    Parameters
    ----------
    names : sequence of n_attributes str, or the arrays of their table
    row : int32 ndarray of shape (n_attributes,) or None
        The row of weights of each attribute, -1 for none; None if attribute k has row k.
    weights : sequence of ndarray
        The dense weights, (n_rows, n_labels), or the indptr, columns and data of a CSR matrix; of
        single or of double precision. They are not copied.
    shared : sequence of ndarray
        Scores of transitions, (n_labels, n_labels), and of begin and end, (n_labels,).
    labels : list of n_labels labels
    separator : str
        Stands between a key of a feature dict and a string.
    lists : bool
        Whether a token may be a list of attributes, each of which counts as often as it occurs.
    decoding : {"viterbi", "marginal"}
    columns : mapping, optional
        The settings "input" and "steps" of a tagger whose tokens are columns of symbols, see
        :func:`~sklearn_crcrf.serving.columns.reader_of`.

    Returns
    -------
    Content
    """
    settings = {"kind": "linear", "labels": labels, "separator": separator, "lists": lists}
    settings |= {"decoding": decoding, **(columns or {})}
    arrays = names if isinstance(names, dict) else string_arrays("names", names)
    if row is not None:
        arrays["row"] = np.array(row, dtype=np.int32)
    parts = ["coef"] if len(weights) == 1 else [f"coef.{part}" for part in CSR]
    contiguous = map(np.ascontiguousarray, weights)
    arrays |= dict(zip(parts, contiguous, strict=True))
    for name, part in zip(("transition", "begin", "end"), shared, strict=True):
        arrays[name] = np.array(part, dtype=float, order="C")
    return Content(settings, arrays)


def linear_tagger(content: Content, labels: list, chain: Any) -> tuple[Any, Callable | None]:
    """Return the compiled tagger, and what reads its input; content from a file is checked."""
    strings, n_names = content.strings("names")
    n = len(labels)
    row = None
    if "coef" in content.arrays:
        weights: tuple[np.ndarray, ...] = (content.array("coef", "fd", None, n),)
        n_rows = len(weights[0])
    else:
        weights = content.csr("coef", n)
        n_rows = len(weights[0]) - 1
    if "row" in content.arrays:
        row = content.indices("row", "i", n_names, least=-1, stop=n_rows)
    elif n_names > n_rows:
        raise ValueError(f"{n_names} attributes cannot have {n_rows} rows of weights")
    separator = content.setting("separator", str)
    is_single = weights[-1].dtype == np.float32
    lists, read = content.setting("lists", bool), None
    if "input" in content.settings:
        lists, read = True, reader_of(content, partial(attributes_of, separator=separator))
    reader = AttributeReader(strings, separator, lists, is_single)
    return tagging.LinearTagger(chain, reader, row, weights, labels), read
