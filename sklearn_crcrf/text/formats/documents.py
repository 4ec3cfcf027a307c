"""Documents and their spans, and what files say of them."""

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ...utils.warning import warn_caller
from ..spans import Span, checked_spans

OFFSETS = ("characters", "utf-16", "bytes")
_BLANKS = re.compile(r"(?:\s|\\[nrt])+")


class Documents(NamedTuple):
    """Texts, and the spans in each.

    Attributes
    ----------
    texts : list of str
        The text of each document.
    spans : list of lists of Span
        The spans of each text, in its order.
    groups : list of str, or None
        The document, or file, that each text is from; None if the file names none.

    Examples
    --------
    >>> from sklearn_crcrf.text import Documents, Span
    >>> Documents(["Ann sings."], [[Span(0, 3, "PER")]]).groups is None
    True
    """

    texts: list[str]
    spans: list[list[Span]]
    groups: list[str] | None = None


class Found(NamedTuple):
    """A span as a file describes it: its offsets in some unit, and perhaps the text it covers."""

    start: Any
    end: Any
    label: Any
    probability: float | None = None
    covered: str | None = None


class Document(NamedTuple):
    """A document as a file describes it.

    Parameters
    ----------
    text : str
    found : list of Found
    group : str or None
    where : str
        Its place in the file, for messages.
    """

    text: str
    found: list[Found]
    group: str | None
    where: str


class Losses:
    """What a file or a format does not hold, and the places where; told in one warning each."""

    def __init__(self, name: str):
        self.name, self._places = name, dict[str, list[str]]()

    def add(self, what: str, where: str) -> None:
        """Note a loss."""
        self._places.setdefault(what, []).append(where)

    def warn(self) -> None:
        """Warn of all losses."""
        for what, places in self._places.items():
            more = f" and {len(places) - 1:,} more" if len(places) > 1 else ""
            warn_caller(f"{self.name}: {what}: {places[0]}{more}")


def documents_of(
    found: Iterable[Document], name: str, offsets: str | None, usual: str = "characters"
) -> Documents:
    """Check what a file says, and count all offsets in characters.

    Parameters
    ----------
    found : iterable of Document
    name : str
        Name of the file, for messages.
    offsets : {"characters", "utf-16", "bytes"}, optional
        What the offsets count. By default ``usual``; or the other of characters and UTF-16 if
        only that agrees with the text that spans are said to cover.
    usual : str
        What the tool counts.

    Raises
    ------
    ValueError
        If a span is not valid; the message names the file, the document and the characters.
    """
    texts, spans, groups, losses = [], [], [], Losses(name)
    for document in found:
        try:
            spans.append(_spans(document, offsets, usual, losses))
        except ValueError as error:
            raise ValueError(f"{name}, {document.where}: {error}") from error
        texts.append(document.text)
        groups.append(document.group)
    losses.warn()
    if not any(group is not None for group in groups):
        return Documents(texts, spans)
    # A text without a document is a document of its own.
    named = [f"text {i}" if group is None else group for i, group in enumerate(groups)]
    return Documents(texts, spans, named)


def _spans(document: Document, offsets: str | None, usual: str, losses: Losses) -> list[Span]:
    text, found = document.text, document.found
    are_same = text.isascii() or not any(ord(c) > 0xFFFF for c in text)
    if offsets is None:
        units = [usual] if are_same else [usual, *({"characters", "utf-16"} - {usual})]
    else:
        units = [offsets]
    problem: ValueError | None = None
    for unit in units:
        try:
            moved = _moved(text, found, unit)
            break
        except ValueError as error:
            problem = problem or error
    else:
        raise problem or AssertionError
    if (unit, offsets) == ("utf-16", None) and not are_same and not all(it.covered for it in found):
        losses.add(
            "offsets are read as UTF-16, in which emoji count as two; the offsets "
            "'characters' would count them as one",
            document.where,
        )
    return checked_spans(text, [one[:4] for one in moved])


def _moved(text: str, found: list[Found], unit: str) -> list[Found]:
    """Return spans whose offsets count characters, or raise ValueError if that cannot be."""
    places = None if unit == "characters" else units_of(text, unit)
    moved = [_in_characters(one, places) for one in found]
    for one in moved:
        if not _agrees(text, one):
            raise ValueError(
                f"{one.label!r} from character {one.start} to {one.end} should cover "
                f"{str(one.covered)[:50]!r}, but there is {text[one.start : one.end][:50]!r}"
            )
    return moved


def _agrees(text: str, one: Found) -> bool:
    """Say whether a span covers what it should, apart from white space."""
    if one.covered is None or not (isinstance(one.start, int) and isinstance(one.end, int)):
        return True
    covered = text[max(one.start, 0) : max(one.end, 0)]
    if covered == one.covered:
        return True
    a, b = (_BLANKS.sub(" ", it).strip() for it in (covered, one.covered))
    return a == b


def units_of(text: str, unit: str) -> np.ndarray:
    """Return the offset of each character in a unit, and of the end of the text.

    Parameters
    ----------
    text : str
    unit : {"characters", "utf-16", "bytes"}
        "bytes" are of UTF-8.

    Returns
    -------
    ndarray of int64 of shape (n_characters + 1,)

    Examples
    --------
    >>> from sklearn_crcrf.text.formats.documents import units_of
    >>> units_of("a\U0001f600b", "utf-16").tolist(), units_of("\xe9b", "bytes").tolist()
    ([0, 1, 3, 4], [0, 2, 3])
    """
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    above = {"characters": (), "utf-16": (0xFFFF,), "bytes": (0x7F, 0x7FF, 0xFFFF)}[unit]
    widths = 1 + sum((codes > code).astype(np.int64) for code in above)
    return np.append(0, np.cumsum(np.broadcast_to(widths, codes.shape)))


def _in_characters(one: Found, places: np.ndarray | None) -> Found:
    """Return a span whose offsets count characters."""
    if places is None or not (isinstance(one.start, int) and isinstance(one.end, int)):
        return one
    moved = []
    for place in (one.start, one.end):
        i = int(np.searchsorted(places, place))
        if not 0 <= place <= places[-1] or places[i] != place:
            raise ValueError(
                f"{one.label!r} from {one.start} to {one.end}: {place} is not between two "
                "characters of the text"
            )
        moved.append(i)
    return one._replace(start=moved[0], end=moved[1])
