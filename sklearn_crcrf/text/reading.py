"""Texts as sequences of tokens, with the places of the tokens."""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from itertools import pairwise
from typing import Any, NamedTuple, Self
from unicodedata import is_normalized, normalize

import numpy as np

from ..data.ragged import SequenceArray
from ..labels.segments.segments import Segments, segments_to_labels
from ..utils.names import check_several
from .spans import Span, align, check_apart
from .tokens import find_sentences, find_tokens


def checked_texts(texts: Any) -> list[str]:
    """Return texts as a list.

    Raises
    ------
    ValueError
        If they are not several strings, in an order.
    """
    check_several(texts, "texts")
    if hasattr(texts, "columns") or isinstance(texts, Mapping | Set):
        raise ValueError(f"texts must be a list of strings, but is a {type(texts).__name__}")
    texts = list(texts)
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise ValueError(f"texts: document {number} must be a string, but is {text!r:.80}")
    return texts


def spans_of_each(texts: Sequence[str], spans: Any) -> list:
    """Return a list of the spans of each text; ValueError if there are more, or fewer."""
    check_several(spans, "spans")
    spans = list(spans)
    if len(spans) != len(texts):
        raise ValueError(f"there are spans of {len(spans)} documents, but {len(texts)} texts")
    return spans


class TokenizedTexts(NamedTuple):
    """Texts as sequences of tokens; sequences without tokens are left out.

    Attributes
    ----------
    texts : list of str
    offsets : ndarray of int64 of shape (n_tokens, 2)
        The characters of each token in its text, for all texts one after another.
    first : ndarray of int64 of shape (n_texts + 1,)
        The first token of each text.
    bounds : ndarray of int64 of shape (n_sequences + 1,)
        The first token of each sequence.
    """

    texts: list[str]
    offsets: np.ndarray
    first: np.ndarray
    bounds: np.ndarray

    @classmethod
    def of(cls, texts: Any, tokenizer: str | Callable, sentences: str | Callable) -> Self:
        """Find the tokens and sentences of texts, as :func:`find_tokens` and `find_sentences`.

        A token that two sentences share is in the first of them.

        Raises
        ------
        ValueError
            If texts are not strings, or what a callable returns is not in its text.
        """
        texts = checked_texts(texts)
        offsets, bounds, n_tokens = [np.empty((0, 2), np.int64)], [], 0
        first = [0]
        for number, text in enumerate(texts):
            try:
                found, parts = find_tokens(text, tokenizer), find_sentences(text, sentences)
            except ValueError as error:
                raise ValueError(f"texts, document {number}: {error}") from error
            starts = np.append(0, np.searchsorted(found[:, 0], parts[:, 0]))
            bounds.append(n_tokens + np.unique(starts[starts < len(found)]))
            offsets.append(found)
            n_tokens += len(found)
            first.append(n_tokens)
        of_all = np.concatenate([*bounds, [n_tokens]]).astype(np.int64)
        return cls(texts, np.concatenate(offsets), np.array(first), of_all)

    def tokens(self) -> list[list[str]]:
        """Return the tokens of each sequence."""
        tokens: list[str] = []
        for text, (start, stop) in zip(self.texts, pairwise(self.first.tolist()), strict=True):
            tokens += [text[i:j] for i, j in self.offsets[start:stop].tolist()]
        return [tokens[i:j] for i, j in pairwise(self.bounds.tolist())]

    def composed(self) -> list[list[str]]:
        """Return the tokens in composed form (NFC), in which estimators see them."""
        if all(is_normalized("NFC", text) for text in self.texts):
            return self.tokens()
        return [[normalize("NFC", token) for token in tokens] for tokens in self.tokens()]

    def documents(self) -> np.ndarray:
        """Return the number of the text of each sequence."""
        return self._document(self.bounds[:-1])

    def _document(self, tokens: Any) -> Any:
        """Return the number of the text of some tokens."""
        return np.searchsorted(self.first, tokens, side="right") - 1

    def labelled(self, spans: Any, alignment: str, scheme: str) -> tuple[Self, SequenceArray]:
        """Write the spans of each text as labels.

        A sentence does not end within a span: its sequence goes on.

        Returns
        -------
        TokenizedTexts
        labels : SequenceArray
        """
        spans = spans_of_each(self.texts, spans)
        first, end, kind = [], [], []
        places = pairwise(self.first.tolist())
        for number, (text, (start, stop)) in enumerate(zip(self.texts, places, strict=True)):
            name = f"spans of document {number}"
            found = align(text, spans[number], self.offsets[start:stop], alignment, name)
            first.append(start + found[0])
            end.append(start + found[1])
            kind.append(found[2])
        if not first:
            return self, SequenceArray.from_lengths(np.empty(0, dtype=object), [])
        starts, ends = np.concatenate(first), np.concatenate(end)
        before = np.searchsorted(starts, self.bounds)
        latest = np.append(0, ends)[before]
        whole = self._replace(bounds=self.bounds[latest <= self.bounds])
        sequence = np.searchsorted(whole.bounds, starts, side="right") - 1
        if scheme == "IO":
            given = Segments(sequence, starts, ends, np.concatenate(kind))
            check_apart(given, self.offsets, lambda i: f"spans of document {self._document(i)}")
        origin = whole.bounds[sequence]
        segments = Segments(sequence, starts - origin, ends - origin, np.concatenate(kind))
        return whole, segments_to_labels(segments, np.diff(whole.bounds), scheme)

    def spans(self, found: Sequence[Iterable]) -> list[list[Span]]:
        """Return the spans of characters of each text from spans of the tokens of each sequence.

        Parameters
        ----------
        found : list of lists of (start, end, label, probability)
            Of each sequence, as ``predict_spans`` returns them.
        """
        spans: list[list[Span]] = [[] for _ in self.texts]
        starts, ends = self.offsets.T
        sequences = zip(self.documents().tolist(), self.bounds[:-1].tolist(), found, strict=True)
        for document, origin, segments in sequences:
            for start, end, *rest in segments:
                first, last = starts[origin + start].item(), ends[origin + end - 1].item()
                spans[document].append(Span(first, last, *rest))
        return [sorted(of_one, key=lambda span: span[:2]) for of_one in spans]
