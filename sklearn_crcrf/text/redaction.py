"""Texts in which spans are replaced."""

from collections.abc import Callable, Iterable
from typing import Any

from .spans import Span

REPLACE = "[{label}]"


def redacted(text: str, spans: Iterable[Span], replace: str | Callable[[str, Span], str]) -> str:
    """Return a text in which spans are replaced; spans that overlap are one, of the longest.

    Parameters
    ----------
    text : str
    spans : iterable of Span
    replace : str or callable
        As in :meth:`sklearn_crcrf.TextTagger.redact`.

    Examples
    --------
    >>> from sklearn_crcrf.text import Span
    >>> from sklearn_crcrf.text.redaction import redacted
    >>> redacted("Ann sings.", [Span(0, 3, "PER")], "[{label}]")
    '[PER] sings.'
    """
    if not isinstance(replace, str) and not callable(replace):
        raise ValueError(f"replace must be a string or a function, but is {replace!r}")
    parts, end = [], 0
    for span in _joined(spans):
        parts += [text[end : span.start], _replacement(text[span.start : span.end], span, replace)]
        end = span.end
    return "".join([*parts, text[end:]])


def _joined(spans: Iterable[Span]) -> list[Span]:
    """Join spans that overlap; the longest gives its label, the likeliest its probability."""
    joined: list[Span] = []
    longest = 0
    for span in sorted(spans, key=lambda span: span[:2]):
        size = span.end - span.start
        if not joined or span.start >= joined[-1].end:
            joined.append(span)
            longest = size
            continue
        last = joined[-1]
        label = span.label if size > longest else last.label
        known = [p for p in (last.probability, span.probability) if p is not None]
        joined[-1] = Span(last.start, max(last.end, span.end), label, max(known, default=None))
        longest = max(longest, size)
    return joined


def _replacement(part: str, span: Span, replace: Any) -> str:
    if isinstance(replace, str):
        return replace.replace("{label}", span.label)
    made = replace(part, span)
    if not isinstance(made, str):
        raise ValueError(f"replace must return a string, but returned {made!r} for {span}")
    return made
