"""How similar spans of a text are to phrases of a list."""

from collections.abc import Callable
from functools import partial
from numbers import Real
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ...data.ragged import joined_ranges
from .span_symbols import SpanSymbols

__all__ = ["SIMILARITIES", "Function", "Text", "by_function"]

Function = Callable[[tuple[str, ...], tuple[str, ...]], float]


class Text(NamedTuple):
    """Tokens, as ids of the vocabulary of a list and as numbers of different ``symbols``."""

    ids: np.ndarray
    words: np.ndarray
    symbols: list[str]
    following: np.ndarray


class _Shared:
    """Similarities that depend on the tokens that a span and a phrase share.

    Parameters
    ----------
    phrases : SpanSymbols
    max_phrases : int
    """

    def __init__(self, phrases: SpanSymbols, max_phrases: int):
        self.runs, n_symbols = phrases.names(), len(phrases.vocabulary)
        lengths = np.fromiter(map(len, self.runs), np.int64, len(self.runs))
        tokens = phrases.vocabulary.lookup([token for run in self.runs for token in run])
        contains = sp.csr_array(
            (np.ones(len(tokens)), tokens, np.append(0, np.cumsum(lengths))),
            shape=(len(self.runs), n_symbols),
        )
        contains.sum_duplicates()
        contains.data[:] = 1.0
        self.n_phrases = np.bincount(contains.indices, minlength=n_symbols)
        self.weight = self._weights(len(self.runs))
        self.contains = sp.csr_array(contains * np.sqrt(self.weight))
        self.size = np.asarray(contains @ self.weight).ravel()
        rare = (self.n_phrases <= max_phrases).astype(float)
        self.rare = sp.csr_array(sp.diags_array(rare) @ contains.T)

    def _weights(self, n_phrases: int) -> np.ndarray:
        return np.ones(len(self.n_phrases))

    def nearest(self, text: Text, start: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
        """The spans of n tokens that share rare tokens with phrases, and their similarity."""
        places = joined_ranges(start, np.full(len(start), n))
        tokens = text.ids[places]
        known = tokens >= 0
        span = np.repeat(np.arange(len(start)), n)[known]
        unknown = _n_different(np.where(known, -1, text.words[places]).reshape(-1, n))
        spans = sp.csr_array(
            (np.ones(len(span)), (span, tokens[known])), shape=(len(start), len(self.weight))
        )
        spans.data[:] = 1.0
        pairs = sp.coo_array(spans @ self.rare)
        pairs.eliminate_zeros()
        row, phrase = pairs.coords
        if len(row) == 0:
            return np.empty(0, dtype=np.int64), np.empty(0)
        value = self._values(text, start[row], n, (spans, unknown), row, phrase)
        order = np.lexsort((-value, row))
        best = order[np.append(True, np.diff(row[order]) > 0)]
        return start[row[best]], value[best]

    def _values(
        self,
        text: Text,
        start: np.ndarray,
        n: int,
        known: tuple[sp.csr_array, np.ndarray],
        row: np.ndarray,
        phrase: np.ndarray,
    ) -> np.ndarray:
        """The similarities of pairs of a span and a phrase.

        ``known`` has the known tokens of the spans, and their numbers of unknown tokens.
        """
        spans, unknown = known
        weighted = sp.csr_array(spans * np.sqrt(self.weight))
        both = weighted[row].multiply(self.contains[phrase]).sum(axis=1)
        of_known = np.asarray(spans @ self.weight).ravel()[row]
        both = np.asarray(both).ravel()
        return self._similarity(both, of_known, unknown[row], self.size[phrase])

    def _similarity(
        self, both: np.ndarray, of_span: np.ndarray, unknown: np.ndarray, of_phrase: np.ndarray
    ) -> np.ndarray:
        """From weights of what is shared, in the span and in the phrase; and unknown tokens."""
        return both / (of_span + unknown + of_phrase - both)


class _Cosine(_Shared):
    """The cosine of tokens weighted by the inverse frequency of phrases."""

    def _weights(self, n_phrases: int) -> np.ndarray:
        self._of_unknown = (np.log(1.0 + n_phrases)) ** 2
        return np.log((1.0 + n_phrases) / self.n_phrases.clip(1)) ** 2

    def _similarity(
        self, both: np.ndarray, of_span: np.ndarray, unknown: np.ndarray, of_phrase: np.ndarray
    ) -> np.ndarray:
        return both / np.sqrt((of_span + self._of_unknown * unknown) * of_phrase)


class _Called(_Shared):
    """A similarity that is a function of two tuples of tokens."""

    def __init__(self, phrases: SpanSymbols, max_phrases: int, function: Function):
        super().__init__(phrases, max_phrases)
        self._function = function

    def _values(
        self,
        text: Text,
        start: np.ndarray,
        n: int,
        known: tuple[sp.csr_array, np.ndarray],
        row: np.ndarray,
        phrase: np.ndarray,
    ) -> np.ndarray:
        values = np.empty(len(row))
        for i, (first, number) in enumerate(zip(start.tolist(), phrase.tolist(), strict=True)):
            span = tuple(text.symbols[word] for word in text.words[first : first + n].tolist())
            value = self._function(span, self.runs[number])
            if not (isinstance(value, Real) and 0 <= value <= 1):
                raise ValueError(
                    f"similarity returned {value!r} for {span}, not a number in [0, 1]"
                )
            values[i] = value
        return values


def _n_different(words: np.ndarray) -> np.ndarray:
    """How many different numbers from 0 on are in each row."""
    ordered = np.sort(words, axis=1)
    first = np.ones(words.shape, dtype=bool)
    first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    return (first & (ordered >= 0)).sum(axis=1)


SIMILARITIES: dict[str, Callable[[SpanSymbols, int], _Shared]] = {
    "jaccard": _Shared,
    "tfidf": _Cosine,
}
"""Similarities of spans and phrases, by name."""


def by_function(function: Function) -> Callable[[SpanSymbols, int], _Shared]:
    """Similarities that a function of two tuples of tokens returns."""
    return partial(_Called, function=function)
