"""Columns of the labels that were found for a token, and elsewhere in the text."""

from typing import NamedTuple

import numpy as np

from ..data.symbols import SymbolTable
from ..labels.segments.schemes import SchemeLabels, detect_scheme, read_labels
from ..labels.segments.segments import find_runs
from ._mentions import Mentions, number_phrases, proper_parts
from ._votes import Votes

__all__ = ["CONFIDENCES", "FOUND_COLUMNS", "Found", "Text", "found_table", "scheme_of"]

_OF_TOKENS = ("found", "word_in_document", "word_in_text")
_OF_PROBABILITIES = ("found_second", "found_confidence")
_OF_NAMES = ("name_in_document", "name_in_text", "longer_name")
#: All columns that can be made.
FOUND_COLUMNS = (*_OF_TOKENS, *_OF_PROBABILITIES, *_OF_NAMES)
#: The limits between the ranges of ``"found_confidence"``.
CONFIDENCES = (0.5, 0.7, 0.9, 0.97, 0.99)


class Found(NamedTuple):
    """What a model predicts for each token.

    Attributes
    ----------
    label : ndarray of int64 of shape (n_tokens,)
    second : ndarray of int64 of shape (n_tokens,)
        The second most probable label, -1 for none.
    confidence : ndarray of int64 of shape (n_tokens,)
        The number of limits in CONFIDENCES that the probability of the label reaches.
    """

    label: np.ndarray
    second: np.ndarray
    confidence: np.ndarray


class Text(NamedTuple):
    """Words of a text and the documents that they are in.

    Attributes
    ----------
    words, documents : ndarray of int64 of shape (n_tokens,)
        Numbers from 0 on.
    offsets : ndarray of int64 of shape (n_sequences + 1,)
    """

    words: np.ndarray
    documents: np.ndarray
    offsets: np.ndarray


def scheme_of(classes: np.ndarray) -> SchemeLabels | None:
    """The parts of labels of segments; None for other labels."""
    scheme = detect_scheme(classes.tolist())
    return read_labels(classes, scheme) if scheme and "O" in classes.tolist() else None


def column_names(classes: np.ndarray, has_probabilities: bool) -> list[str]:
    """The columns that :func:`found_table` makes."""
    names = [*_OF_TOKENS]
    if has_probabilities:
        names += _OF_PROBABILITIES
    if scheme_of(classes) is not None:
        names += _OF_NAMES
    return names


def found_table(
    found: Found, text: Text, classes: np.ndarray, has_probabilities: bool
) -> SymbolTable:
    """The columns of all tokens.

    Parameters
    ----------
    found : Found
    text : Text
    classes : ndarray of n_labels labels
    has_probabilities : bool
        Whether the model has probabilities.

    Returns
    -------
    SymbolTable of shape (n_tokens, n_columns)
        With the columns of :func:`column_names`.
    """
    labels, scheme = [str(label) for label in classes], scheme_of(classes)
    if scheme is None:
        kinds, kind = labels, found.label
    else:
        kinds = ["O", *scheme.types.tolist()]
        kind = scheme.kind[found.label] + 1
    in_document, in_text = _elsewhere(text.words, text.documents, kind)
    columns = [(found.label, labels), (in_document, kinds), (in_text, kinds)]
    if has_probabilities:
        ranges = [f">={limit}" for limit in (0, *CONFIDENCES)]
        columns += [(found.second, labels), (found.confidence, ranges)]
    if scheme is not None:
        columns += [(codes, kinds) for codes in _of_names(found.label, text, scheme)]
    codes = np.array([codes for codes, _ in columns], dtype=np.int32).T
    symbols = [symbols for _, symbols in columns]
    return SymbolTable(codes, symbols, column_names(classes, has_probabilities))


def _elsewhere(
    item: np.ndarray, document: np.ndarray, kind: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The most frequent kind of the other occurrences, in the document and in the text."""
    in_document = _pairs(document, item)
    return (
        Votes(in_document, kind).most_frequent_of_others(in_document, kind),
        Votes(item, kind).most_frequent_of_others(item, kind),
    )


def _of_names(label: np.ndarray, text: Text, scheme: SchemeLabels) -> np.ndarray:
    """The most frequent kinds of other and of longer names, -1 outside names, (3, n_tokens)."""
    start, end = find_runs(scheme, label, text.offsets)
    names = Mentions(start, end - start, scheme.kind[label[start]] + 1)
    parts = proper_parts(names)
    phrase = number_phrases(text.words, *map(np.append, names[:2], parts[:2]))
    own, of_parts = phrase[: len(start)], phrase[len(start) :]
    document, document_of_parts = text.documents[start], text.documents[parts.start]
    n_phrases = int(phrase.max(initial=0)) + 1
    longer = Votes(document_of_parts * n_phrases + of_parts, parts.kind)
    kinds = np.array(
        [
            *_elsewhere(own, document, names.kind),
            longer.most_frequent(document * n_phrases + own),
        ]
    )
    columns = np.full((3, len(label)), -1)
    columns[:, names.tokens()] = np.repeat(kinds, names.length, axis=1)
    return columns


def _pairs(document: np.ndarray, item: np.ndarray) -> np.ndarray:
    return document * (int(item.max(initial=0)) + 1) + item
