"""Spans of characters, from and to the labels of tokens."""

from collections.abc import Callable, Iterable, Sequence
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from ..labels.segments.label_sequences import label_sequences
from ..labels.segments.schemes import check_option
from ..labels.segments.segments import Segments, find_segments, segments_to_labels
from ..utils.names import check_several, shown

ALIGNMENTS = ("expand", "contract", "strict")


class Span(NamedTuple):
    """A name, or another part of a text, as plain values of Python.

    Attributes
    ----------
    start, end : int
        Numbers of its first character, and of the character after its last, so that
        ``text[start:end]`` is the part.
    label : str
        What it is, such as "PER"; without a prefix.
    probability : float, optional
        Between 0 and 1; None for a span that was given, not predicted.

    Examples
    --------
    >>> from sklearn_crcrf.text import Span
    >>> span = Span(0, 3, "PER")
    >>> "Ann sings."[span.start : span.end], span.probability
    ('Ann', None)
    """

    start: int
    end: int
    label: str
    probability: float | None = None


def spans_to_labels(
    text: str, spans: Iterable, tokens: Any, alignment: str = "expand", scheme: str = "IOB2"
) -> list[str]:
    """Write spans of characters as labels of tokens.

    Parameters
    ----------
    text : str
    spans : iterable of Span, or of (start, end, label)
        In any order.
    tokens : list of (start, end), ndarray of shape (n_tokens, 2), or list of str
        The characters of each token, in the order of the text and without overlaps; strings are
        looked up in the text one after another.
    alignment : {"expand", "contract", "strict"}, default="expand"
        What becomes of a span that begins or ends within a token or at a space, and of spans that
        share a token. "expand" takes all tokens that the span touches, and of spans that share a
        token the longest. "contract" takes the tokens that lie in the span as a whole, which may
        be none, and of spans that share a token the shortest. "strict" accepts neither.
    scheme : {"IOB1", "IOB2", "IOBES", "BIOES", "BILOU", "BMES", "IO"}, default="IOB2"
        How labels spell segments.

    Returns
    -------
    list of n_tokens str

    Raises
    ------
    ValueError
        If a span is empty, leaves the text, or cannot be aligned; if a token is not in the text;
        or if the scheme cannot spell the spans.

    Examples
    --------
    >>> from sklearn_crcrf.text import spans_to_labels
    >>> text = "x3/21/2008 Dr. John"
    >>> spans_to_labels(text, [(1, 10, "DATE"), (14, 19, "PER")], text.split())
    ['B-DATE', 'O', 'B-PER']
    >>> spans_to_labels(text, [(1, 10, "DATE"), (14, 19, "PER")], text.split(), "contract")
    ['O', 'O', 'B-PER']
    >>> spans_to_labels(text, [(1, 10, "DATE")], text.split(), "strict")
    Traceback (most recent call last):
        ...
    ValueError: spans: 'DATE' from character 1 to 10, '3/21/2008' begins within a token; ...
    """
    offsets = token_offsets(text, tokens)
    start, end, label = align(text, spans, offsets, alignment)
    segments = Segments(np.zeros(len(start), dtype=np.int64), start, end, label)
    if scheme == "IO":
        check_apart(segments, offsets, lambda i: "spans")
    return segments_to_labels(segments, [len(offsets)], scheme).data.tolist()


def labels_to_spans(text: str, labels: Sequence, tokens: Any, scheme: str = "IOB2") -> list[Span]:
    """Read spans of characters off labels of tokens.

    Parameters
    ----------
    text : str
    labels : sequence of n_tokens str
    tokens : list of (start, end), ndarray of shape (n_tokens, 2), or list of str
        As in :func:`spans_to_labels`.
    scheme : {"IOB1", "IOB2", "IOBES", "BIOES", "BILOU", "BMES", "IO"}, default="IOB2"
        How labels spell segments. Labels that break the scheme are forgiven, see
        :func:`sklearn_crcrf.labels.to_segments`.

    Returns
    -------
    list of Span
        From the first character of the first token of each segment to the last of its last token.

    Raises
    ------
    ValueError
        If a label does not fit the scheme, a token is not in the text, or there is not one label
        for each token.

    Examples
    --------
    >>> from sklearn_crcrf.text import labels_to_spans
    >>> text = "Marie  Curie sings"
    >>> labels_to_spans(text, ["B-PER", "I-PER", "O"], text.split())
    [Span(start=0, end=12, label='PER', probability=None)]
    """
    offsets = token_offsets(text, tokens)
    if len(labels) != len(offsets):
        raise ValueError(f"there are {len(labels)} labels, but {len(offsets)} tokens")
    given = label_sequences([labels], "labels")
    _, first, end, label = find_segments(given, scheme, "conlleval", "labels")
    start, stop = offsets[first, 0].tolist(), offsets[end - 1, 1].tolist()
    return [*map(Span, start, stop, label.tolist())]


def check_apart(segments: Segments, offsets: np.ndarray, name: Callable[[int], str]) -> None:
    """Raise ValueError if spans touch that the scheme IO would read as one.

    Parameters
    ----------
    segments : Segments
        Of tokens, numbered as ``offsets``.
    offsets : ndarray of int64 of shape (n_tokens, 2)
    name : callable
        Takes the first token of a span, and returns the name of the spans in error messages.
    """
    sequence, start, end, label = segments
    touches = (end[:-1] == start[1:]) & (label[:-1] == label[1:])
    for i in np.flatnonzero(touches & (sequence[:-1] == sequence[1:]))[:1]:
        one, other = (f"{offsets[start[j], 0]} to {offsets[end[j] - 1, 1]}" for j in (i, i + 1))
        raise ValueError(
            f"{name(start[i])}: the scheme IO cannot spell {label[i]!r} from character {one} and "
            f"from {other}, as no token is between them"
        )


def check_text(text: Any) -> None:
    """Raise ValueError unless a text is a string."""
    if not isinstance(text, str):
        raise ValueError(f"text must be a string, but is {shown(text)}")


def token_offsets(text: str, tokens: Any, name: str = "tokens") -> np.ndarray:
    """Find the first character of each token, and the character after its last.

    Parameters
    ----------
    text : str
    tokens : list of (start, end), ndarray of shape (n_tokens, 2), or list of str
    name : str
        Name of the tokens in error messages.

    Returns
    -------
    ndarray of int64 of shape (n_tokens, 2)

    Raises
    ------
    ValueError
        If tokens are empty, overlap, or are not in the text in this order.

    Examples
    --------
    >>> from sklearn_crcrf.text.spans import token_offsets
    >>> token_offsets("to be", ["to", "be"]).tolist()
    [[0, 2], [3, 5]]
    """
    check_text(text)
    if not isinstance(tokens, np.ndarray) or tokens.dtype.kind not in "iu":
        check_several(tokens, name)
        tokens = list(tokens)
        if tokens and isinstance(tokens[0], str):
            tokens = _looked_up(text, tokens, name)
    offsets = np.asarray(tokens if len(tokens) else np.empty((0, 2), np.int64))
    if offsets.ndim != 2 or offsets.shape[1] != 2 or offsets.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must be strings, or pairs of integers: the first character of a token and "
            f"the character after its last; got {shown(tokens)}"
        )
    offsets = offsets.astype(np.int64, copy=False)
    wrong = (offsets[:, 0] >= offsets[:, 1]) | (offsets[:, 1] > len(text))
    wrong |= offsets[:, 0] < np.append(0, offsets[:-1, 1])
    if wrong.any():
        i = int(np.argmax(wrong))
        raise ValueError(
            f"{name}: token {i}, from character {offsets[i, 0]} to {offsets[i, 1]}, is empty, "
            f"overlaps the token before it, or leaves the text of {len(text)} characters"
        )
    return offsets


def _looked_up(text: str, tokens: list, name: str) -> list[tuple[int, int]]:
    """Find each token behind the one before it."""
    found, end = [], 0
    for i, token in enumerate(tokens):
        start = text.find(token, end) if isinstance(token, str) else -1
        if start < 0:
            raise ValueError(f"{name}: token {i}, {token!r}, is not in the text from {end} on")
        end = start + len(token)
        found.append((start, end))
    return found


def checked_spans(text: str, spans: Iterable, name: str = "spans") -> list[Span]:
    """Return spans as plain values of Python, in the order of the text.

    Parameters
    ----------
    text : str
    spans : iterable of Span, or of (start, end, label)
        A probability is kept.
    name : str
        Name of the spans in error messages.

    Returns
    -------
    list of Span

    Raises
    ------
    ValueError
        If a span is empty or leaves the text, its label is not a string, or its probability not a
        number.

    Examples
    --------
    >>> from sklearn_crcrf.text.spans import checked_spans
    >>> checked_spans("Ann", [(0, 3, "PER")])
    [Span(start=0, end=3, label='PER', probability=None)]
    """
    if isinstance(spans, str):
        raise ValueError(
            f"{name} must be a list of (start, end, label), but is the string {spans!r:.80}; "
            "json.loads reads a list that is written in JSON"
        )
    check_several(spans, name)
    checked = []
    for span in spans:
        is_one = isinstance(span, Iterable) and not isinstance(span, str | dict)
        if not is_one or not 3 <= len([*span]) <= 4:
            raise ValueError(f"{name}: a span must be (start, end, label), got {shown(span)}")
        start, end, label, probability = [*span, None][:4]
        if not isinstance(start, Integral) or not isinstance(end, Integral):
            raise ValueError(f"{name}: start and end must be integers, got {start!r} and {end!r}")
        if not isinstance(label, str):
            raise ValueError(f"{name}: the label of a span must be a string, got {label!r}")
        start, end = int(start), int(end)
        if not 0 <= start < end <= len(text):
            raise ValueError(
                f"{name}: {label!r} from character {start} to {end} is empty, or leaves the text "
                f"of {len(text)} characters"
            )
        if probability is not None and not isinstance(probability, Real):
            raise ValueError(f"{name}: a probability must be a number, got {probability!r}")
        checked.append(Span(start, end, label, None if probability is None else float(probability)))
    return sorted(checked, key=lambda span: span[:2])


def align(
    text: str, spans: Iterable, offsets: np.ndarray, alignment: str, name: str = "spans"
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Find the tokens of spans, as :func:`spans_to_labels`.

    Parameters
    ----------
    text : str
    spans : iterable of Span, or of (start, end, label)
    offsets : ndarray of int64 of shape (n_tokens, 2)
        As :func:`token_offsets` returns them.
    alignment : {"expand", "contract", "strict"}
    name : str
        Name of the spans in error messages.

    Returns
    -------
    first, end : ndarray of int64 of shape (n_aligned,)
        The first token of each span, and the token after its last, in the order of the text.
    label : ndarray of object of shape (n_aligned,)

    Raises
    ------
    ValueError
        If a span is not valid or cannot be aligned.

    Examples
    --------
    >>> from sklearn_crcrf.text.spans import align, token_offsets
    >>> text = "a bc"
    >>> align(text, [(2, 3, "X")], token_offsets(text, text.split()), "expand")
    (array([1]), array([2]), array(['X'], dtype=object))
    """
    check_option("alignment", alignment, ALIGNMENTS)
    given = checked_spans(text, spans, name)
    start = np.array([span.start for span in given], dtype=np.int64)
    end = np.array([span.end for span in given], dtype=np.int64)
    if alignment == "contract":
        first = np.searchsorted(offsets[:, 0], start)
        last = np.searchsorted(offsets[:, 1], end, side="right")
    else:
        first = np.searchsorted(offsets[:, 1], start, side="right")
        last = np.searchsorted(offsets[:, 0], end)
        for i in np.flatnonzero(first >= last)[:1]:
            raise ValueError(f"{name}: {_quoted(text, given[i])} has no token")
    if alignment == "strict":
        _check_boundaries(text, given, offsets[first, 0], offsets[last - 1, 1], name)
    kept = np.flatnonzero(first < last)
    if (last[kept][:-1] > first[kept][1:]).any():
        if alignment == "strict":
            i = kept[int(np.argmax(last[kept][:-1] > first[kept][1:]))]
            raise ValueError(
                f"{name}: {_quoted(text, given[i])} and {_quoted(text, given[i + 1])} overlap; "
                "the alignment 'expand' would take the longer of them, 'contract' the shorter"
            )
        kept = _without_overlaps(first, last, end - start, kept, alignment == "expand")
    label = np.array([given[i].label for i in kept.tolist()], dtype=object)
    return first[kept], last[kept], label


def _check_boundaries(
    text: str, spans: list[Span], start: np.ndarray, end: np.ndarray, name: str
) -> None:
    """Raise ValueError for the first span that does not start and end where its tokens do."""
    for span, begins, ends in zip(spans, start.tolist(), end.tolist(), strict=True):
        if span[:2] != (begins, ends):
            how = "at a space" if begins > span.start or ends < span.end else "within a token"
            verb = "ends" if begins == span.start else "begins"
            touched = f"the tokens that it touches, {text[begins:ends]!r}"
            raise ValueError(
                f"{name}: {_quoted(text, span)} {verb} {how}; the alignment 'expand' would take "
                f"{touched}, 'contract' those that lie in it"
            )


def _without_overlaps(
    first: np.ndarray, last: np.ndarray, size: np.ndarray, kept: np.ndarray, longest: bool
) -> np.ndarray:
    """Choose spans that share no token, the longest, or the shortest, before all others."""
    taken = np.zeros(last.max(), dtype=bool)
    chosen = []
    order = np.argsort(-size[kept] if longest else size[kept], kind="stable")
    for i in kept[order].tolist():
        tokens = taken[first[i] : last[i]]
        if not tokens.any():
            tokens[:] = True
            chosen.append(i)
    return np.array(sorted(chosen), dtype=np.int64)


def _quoted(text: str, span: Span) -> str:
    """Name a span, with its characters, for an error message."""
    part = text[span.start : span.end]
    part = part if len(part) <= 40 else f"{part[:37]}..."
    return f"{span.label!r} from character {span.start} to {span.end}, {part!r}"
