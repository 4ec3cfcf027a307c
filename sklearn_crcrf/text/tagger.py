"""SpanTagger: the spans of one text, for services."""

from collections.abc import Callable
from typing import Any

from ..labels.segments.segments import to_segments
from .reading import TokenizedTexts
from .redaction import REPLACE, redacted
from .spans import Span


class SpanTagger:
    """Finds the spans of one text at a time, for services: ``tagger(text)``.

    :meth:`sklearn_crcrf.TextTagger.tagger` makes one. It never changes, and any number of threads
    may call it at once.

    Parameters
    ----------
    tagger : Tagger or None
        Labels the tokens.
    spans_of : callable or None
        In its place: takes a list of sequences of tokens, and returns their spans, as
        ``predict_spans`` of a classifier does.
    tokenizer, sentences, scheme : as in :class:`~sklearn_crcrf.TextTagger`

    Examples
    --------
    >>> from sklearn_crcrf import EmpiricalCRF, TextTagger
    >>> texts, spans = ["Ann sings.", "Bob sleeps."], [[(0, 3, "PER")], [(0, 3, "PER")]]
    >>> tagger = TextTagger(EmpiricalCRF()).fit(texts, spans).tagger()
    >>> tagger("Bob sings.")
    [Span(start=0, end=3, label='PER', probability=None)]
    >>> tagger.redact("Bob sings.")
    '[PER] sings.'
    """

    __slots__ = ("_scheme", "_sentences", "_spans_of", "_tagger", "_tokenizer")

    def __init__(
        self,
        tagger: Any,
        spans_of: Callable | None,
        tokenizer: str | Callable,
        sentences: str | Callable,
        scheme: str,
    ):
        self._tagger, self._spans_of, self._scheme = tagger, spans_of, scheme
        self._tokenizer, self._sentences = tokenizer, sentences

    def __call__(self, text: str) -> list[Span]:
        """Return the spans of a text.

        Parameters
        ----------
        text : str

        Returns
        -------
        list of Span
            In the order of the text.
        """
        return self.find(TokenizedTexts.of([text], self._tokenizer, self._sentences))

    def find(self, read: TokenizedTexts) -> list[Span]:
        """Return the spans of a text that was cut into tokens before.

        Parameters
        ----------
        read : TokenizedTexts
            The tokens of one text.

        Returns
        -------
        list of Span
        """
        X = read.composed()
        if not X:
            return []
        if self._spans_of is not None:
            return read.spans(self._spans_of(X))[0]
        sequence, start, end, kind = to_segments(self._tagger.many(X), self._scheme)
        origin = read.bounds[sequence]
        first, last = read.offsets[origin + start, 0], read.offsets[origin + end - 1, 1]
        return [*map(Span, first.tolist(), last.tolist(), kind.tolist())]

    def redact(self, text: str, replace: str | Callable[[str, Span], str] = REPLACE) -> str:
        """Replace the spans of a text.

        Parameters
        ----------
        text : str
        replace : str or callable, default="[{label}]"
            As in :meth:`sklearn_crcrf.TextTagger.redact`.

        Returns
        -------
        str
        """
        return redacted(text, self(text), replace)
