"""How similar spans of a text are to phrases of a list."""

from collections.abc import Callable
from numbers import Real
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ...data.phrases import Phrases
from ...data.ragged import joined_ranges

SIMILARITIES = ("jaccard", "tfidf")

Function = Callable[[tuple[str, ...], tuple[str, ...]], float]


class Text(NamedTuple):
    """Tokens, as ids of the vocabulary of a list and as numbers of different ``symbols``."""

    ids: np.ndarray
    words: np.ndarray
    symbols: list[str]
    following: np.ndarray


class Similarity:
    """How similar spans are to the phrases of a list.

    Parameters
    ----------
    phrases : Phrases
    max_phrases : int
        Tokens of more phrases are not enough to compare a span with a phrase.
    measure : {"jaccard", "tfidf"} or callable
        What :class:`SegmentGazetteer` calls ``similarity``.
    """

    def __init__(self, phrases: Phrases, max_phrases: int, measure: str | Function):
        self._measure, self._runs, n_symbols = measure, phrases.names(), len(phrases.vocabulary)
        lengths = np.fromiter(map(len, self._runs), np.int64, len(self._runs))
        tokens = phrases.vocabulary.lookup([token for run in self._runs for token in run])
        contains = sp.csr_array(
            (np.ones(len(tokens)), tokens, np.append(0, np.cumsum(lengths))),
            shape=(len(self._runs), n_symbols),
        )
        contains.sum_duplicates()
        contains.data[:] = 1.0
        n_phrases = np.bincount(contains.indices, minlength=n_symbols)
        self._weight, self._of_unknown = np.ones(n_symbols), 1.0
        if measure == "tfidf":  # the inverse frequency of phrases
            n = 1.0 + len(self._runs)
            self._weight, self._of_unknown = np.log(n / n_phrases.clip(1)) ** 2, np.log(n) ** 2
        self._contains = sp.csr_array(contains * np.sqrt(self._weight))
        self._size = np.asarray(contains @ self._weight).ravel()
        rare = (n_phrases <= max_phrases).astype(float)
        self._rare = sp.csr_array(sp.diags_array(rare) @ contains.T)

    def nearest(self, text: Text, start: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the spans of n tokens that share rare tokens with phrases; their similarity."""
        places = joined_ranges(start, np.full(len(start), n))
        tokens = text.ids[places]
        known = tokens >= 0
        span = np.repeat(np.arange(len(start)), n)[known]
        spans = sp.csr_array(
            (np.ones(len(span)), (span, tokens[known])), shape=(len(start), len(self._weight))
        )
        spans.data[:] = 1.0
        pairs = sp.coo_array(spans @ self._rare)
        pairs.eliminate_zeros()
        row, phrase = pairs.coords
        if len(row) == 0:
            return np.empty(0, dtype=np.int64), np.empty(0)
        if callable(self._measure):
            value = self._measured(self._measure, text, start[row], n, phrase)
        else:
            unknown = np.where(known, -1, text.words[places]).reshape(-1, n)
            size = np.asarray(spans @ self._weight).ravel()
            size += self._of_unknown * _n_different(unknown)
            weighted = sp.csr_array(spans * np.sqrt(self._weight))
            both = np.asarray(weighted[row].multiply(self._contains[phrase]).sum(axis=1)).ravel()
            size, of_phrase = size[row], self._size[phrase]
            is_cosine = self._measure == "tfidf"
            value = both / (np.sqrt(size * of_phrase) if is_cosine else size + of_phrase - both)
        order = np.lexsort((-value, row))
        best = order[np.append(True, np.diff(row[order]) > 0)]
        return start[row[best]], value[best]

    def _measured(
        self, measure: Function, text: Text, start: np.ndarray, n: int, phrase: np.ndarray
    ) -> np.ndarray:
        """Return what a function says of pairs of a span and a phrase."""
        values = np.empty(len(start))
        for i, (first, number) in enumerate(zip(start.tolist(), phrase.tolist(), strict=True)):
            span = tuple(text.symbols[word] for word in text.words[first : first + n].tolist())
            value = measure(span, self._runs[number])
            if not (isinstance(value, Real) and 0 <= value <= 1):
                raise ValueError(
                    f"similarity returned {value!r} for {span}, not a number in [0, 1]"
                )
            values[i] = value
        return values


def _n_different(words: np.ndarray) -> np.ndarray:
    """Return how many different numbers from 0 on are in each row."""
    ordered = np.sort(words, axis=1)
    first = np.ones(words.shape, dtype=bool)
    first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    return (first & (ordered >= 0)).sum(axis=1)
