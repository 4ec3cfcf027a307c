"""Columns of the labels that were found for a token, and elsewhere in the text."""

from typing import NamedTuple

import numpy as np

from ..data.ragged import joined_ranges
from ..data.symbols import SymbolTable, table_of
from ..labels.segments.schemes import SchemeLabels, detect_scheme, read_labels
from ..labels.segments.segments import find_runs
from ..utils.searching import places_in

#: Parts of names of more tokens are left out.
LONGEST = 12


class Mentions(NamedTuple):
    """Names in a text.

    Attributes
    ----------
    start, length : ndarray of int64 of shape (n_mentions,)
        The first token, and the number of tokens.
    kind : ndarray of int64 of shape (n_mentions,)
        The number of the kind of name.
    """

    start: np.ndarray
    length: np.ndarray
    kind: np.ndarray

    def tokens(self) -> np.ndarray:
        """Return the tokens of all names, one name after the other."""
        return joined_ranges(self.start, self.length)


def number_phrases(words: np.ndarray, start: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Equal numbers for equal phrases.

    Parameters
    ----------
    words : ndarray of int64 of shape (n_tokens,)
        The number of the word of each token, from 0 on.
    start, length : ndarray of int64 of shape (n_phrases,)
        The first token of each phrase, and its number of tokens, at least 1.

    Returns
    -------
    ndarray of int64 of shape (n_phrases,)

    Examples
    --------
    >>> number_phrases(np.array([5, 6, 5, 6, 5]), np.array([0, 2, 3, 4]), np.array([2, 2, 2, 1]))
    array([1, 1, 2, 0])
    """
    n_words = int(words.max(initial=0)) + 1
    number = words[start]
    for k in range(1, int(length.max(initial=1))):
        longer = np.flatnonzero(length > k)
        pairs = number[longer] * n_words + words[start[longer] + k]
        number[longer] = np.unique(pairs, return_inverse=True)[1]
    spans = length * (int(number.max(initial=0)) + 1) + number
    return np.unique(spans, return_inverse=True)[1]


def proper_parts(mentions: Mentions) -> Mentions:
    """Return all runs of tokens of names that are shorter than the name, with its kind."""
    kept = (mentions.length > 1) & (mentions.length <= LONGEST)
    start, length, kind = (array[kept] for array in mentions)
    parts = []
    for k in range(1, int(length.max(initial=0))):
        longer = length > k
        n_parts = length[longer] - k + 1
        starts = joined_ranges(start[longer], n_parts)
        parts.append(Mentions(starts, np.full(len(starts), k), np.repeat(kind[longer], n_parts)))
    if not parts:
        return Mentions(start[:0], length[:0], kind[:0])
    return Mentions(*map(np.concatenate, zip(*parts, strict=True)))


class Votes:
    """Votes for items, each for one kind; of equally frequent kinds the last one wins.

    Parameters
    ----------
    item : ndarray of int64 of shape (n_votes,)
        The number of the item of each vote.
    kind : ndarray of int64 of shape (n_votes,)
        The number of the kind.
    """

    def __init__(self, item: np.ndarray, kind: np.ndarray):
        n_kinds = int(kind.max(initial=0)) + 1
        pairs, counts = np.unique(item * n_kinds + kind, return_counts=True)
        items, kinds = np.divmod(pairs, n_kinds)
        order = np.lexsort((-kinds, -counts, items))
        items, kinds, counts = items[order], kinds[order], counts[order]
        self._items, first = np.unique(items, return_index=True)
        # Each item has a second kind or, in its place, no votes for no kind.
        has_second = np.diff(np.append(first, len(items))) > 1
        second = np.where(has_second, first + 1, len(items))
        kinds, counts = np.append(kinds, -1), np.append(counts, 0)
        self._kinds = kinds[np.stack([first, second])]
        self._counts = counts[np.stack([first, second])]

    def most_frequent(self, item: np.ndarray) -> np.ndarray:
        """Return the most frequent kind of each item, -1 for an item without votes."""
        return np.append(self._kinds[0], -1)[places_in(self._items, item)]

    def most_frequent_of_others(self, item: np.ndarray, own: np.ndarray) -> np.ndarray:
        """Find the most frequent kind without one vote for ``own``, -1 if there is no other.

        Every item must have a vote for this kind.
        """
        place = np.searchsorted(self._items, item)
        first, second = self._kinds[:, place]
        n_first, n_second = self._counts[:, place]
        n_first = n_first - (first == own)
        overtaken = (n_second > n_first) | ((n_second == n_first) & (second > first))
        return np.where(overtaken, second, np.where(n_first > 0, first, -1))


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
    """Return the parts of labels of segments; None for other labels."""
    scheme = detect_scheme(classes.tolist())
    return read_labels(classes, scheme) if scheme and "O" in classes.tolist() else None


def column_names(classes: np.ndarray, has_probabilities: bool) -> list[str]:
    """Return the columns that :func:`found_table` makes."""
    names = [*_OF_TOKENS]
    if has_probabilities:
        names += _OF_PROBABILITIES
    if scheme_of(classes) is not None:
        names += _OF_NAMES
    return names


def found_table(
    found: Found, text: Text, classes: np.ndarray, has_probabilities: bool
) -> SymbolTable:
    """Return the columns of all tokens.

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
        columns += [(codes, kinds) for codes in _kinds_of_names(found.label, text, scheme)]
    return table_of(columns, len(found.label), column_names(classes, has_probabilities))


def _elsewhere(item: np.ndarray, document: np.ndarray, kind: np.ndarray) -> list[np.ndarray]:
    """Find the most frequent kind of other occurrences, in the document and in the text."""
    in_document = document * (int(item.max(initial=0)) + 1) + item
    return [Votes(it, kind).most_frequent_of_others(it, kind) for it in (in_document, item)]


def _kinds_of_names(label: np.ndarray, text: Text, scheme: SchemeLabels) -> np.ndarray:
    """Get the most frequent kinds of other and of longer names, -1 outside names, (3, n_tokens)."""
    start, end = find_runs(scheme, label, text.offsets)
    names = Mentions(start, end - start, scheme.kind[label[start]] + 1)
    parts = proper_parts(names)
    phrase = number_phrases(text.words, *map(np.append, names[:2], parts[:2]))
    document, n_phrases = text.documents[start], int(phrase.max(initial=0)) + 1
    own, part = phrase[: len(start)], phrase[len(start) :]
    longer = Votes(text.documents[parts.start] * n_phrases + part, parts.kind)
    longer_kind = longer.most_frequent(document * n_phrases + own)
    kinds = np.array([*_elsewhere(own, document, names.kind), longer_kind])
    columns = np.full((3, len(label)), -1)
    columns[:, names.tokens()] = np.repeat(kinds, names.length, axis=1)
    return columns
