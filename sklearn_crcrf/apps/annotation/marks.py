"""What a person marks, and a model proposes: whole segments, or a tag of every token."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ...labels.segments.schemes import are_segments, read_labels, scheme_of
from ...labels.segments.segments import Segments, segments_to_labels, to_segments

# Of a sentence, and of a token.
N_LABELLINGS, N_LIKELIEST = 5, 6


class Marks(ABC):
    """How marks in a sentence become labels of its tokens, and back.

    Parameters
    ----------
    names : iterable of str
        What can be marked: types of segments, or tags.

    Attributes
    ----------
    names : list of str

    Examples
    --------
    >>> from sklearn_crcrf.apps.annotation import SegmentMarks
    >>> marks = SegmentMarks(["PER"])
    >>> marks.add("LOC")
    >>> marks.kind, marks.names, marks.blank(3)
    ('segments', ['PER', 'LOC'], [])
    """

    kind: str

    def __init__(self, names: Iterable[str]):
        self.names = list(dict.fromkeys(names))

    def add(self, name: str) -> None:
        """Add a type of segments, or a tag."""
        if name not in self.names:
            self.names.append(name)

    @abstractmethod
    def read(self, labels: Sequence[str]) -> list:
        """Return the marks that labels stand for."""

    @abstractmethod
    def blank(self, n_tokens: int) -> list:
        """Return the marks of a sentence of which nothing is known."""

    @abstractmethod
    def write(self, marks: Any, n_tokens: int) -> list[str]:
        """Return the labels of all tokens.

        Raises
        ------
        ValueError
            If the marks do not fit a sentence of this length, or a name is unknown.
        """


class TagMarks(Marks):
    """A tag of every token.

    Examples
    --------
    >>> from sklearn_crcrf.apps.annotation import TagMarks
    >>> TagMarks(["D", "N"]).write(["D", "N"], 2)
    ['D', 'N']
    """

    kind = "tags"

    def read(self, labels: Sequence[str]) -> list:
        """Return the labels themselves."""
        return list(labels)

    def blank(self, n_tokens: int) -> list:
        """Return the first tag everywhere."""
        return self.names[:1] * n_tokens

    def write(self, marks: Any, n_tokens: int) -> list[str]:
        """Return the tags of all tokens, checked."""
        if not isinstance(marks, list) or len(marks) != n_tokens:
            raise ValueError(f"there must be {n_tokens} tags")
        for tag in marks:
            _require(tag, self.names)
        return marks


class SegmentMarks(Marks):
    """Segments that do not overlap, as triples of start, end and type.

    Parameters
    ----------
    names : iterable of str
        Types of segments.
    scheme : {"IOB1", "IOB2", "IOBES", "BIOES", "BILOU", "BMES", "IO"}, default="IOB2"
        How labels spell segments.

    Examples
    --------
    >>> from sklearn_crcrf.apps.annotation import SegmentMarks
    >>> marks = SegmentMarks(["PER", "LOC"])
    >>> marks.write([[0, 2, "PER"]], 4)
    ['B-PER', 'I-PER', 'O', 'O']
    >>> marks.read(["B-PER", "I-PER", "O", "O"])
    [[0, 2, 'PER']]
    """

    kind = "segments"

    def __init__(self, names: Iterable[str], scheme: str = "IOB2"):
        super().__init__(names)
        self.scheme = scheme

    def read(self, labels: Sequence[str]) -> list:
        """Return the segments of labels."""
        found = to_segments([list(labels)], self.scheme)
        columns = found.start.tolist(), found.end.tolist(), found.type.tolist()
        return [*map(list, zip(*columns, strict=True))]

    def blank(self, n_tokens: int) -> list:
        """Return no segments."""
        return []

    def write(self, marks: Any, n_tokens: int) -> list[str]:
        """Return the labels of segments, checked."""
        if not isinstance(marks, list) or not all(_is_segment(mark, n_tokens) for mark in marks):
            raise ValueError(
                "a segment is a list of its start, end and type, with "
                f"0 <= start < end <= {n_tokens}"
            )
        for *_, name in marks:
            _require(name, self.names)
        start, end = np.array([mark[:2] for mark in marks], dtype=np.int64).reshape(-1, 2).T
        kind = np.array([mark[2] for mark in marks], dtype=object)
        segments = Segments(np.zeros(len(marks), dtype=np.int64), start, end, kind)
        return segments_to_labels(segments, [n_tokens], self.scheme).data.tolist()


def best_marks(marks: Marks, paths: Iterable[tuple[Sequence[str], float]]) -> list[dict[str, Any]]:
    """Find the marks that labellings stand for, the most probable first.

    Labellings that break a scheme stand for the marks of another labelling; their probabilities are
    added.

    Parameters
    ----------
    marks : Marks
    paths : iterable of (labels, probability)

    Returns
    -------
    list of dict
        With the keys "marks" and "share".
    """
    found: dict[str, dict[str, Any]] = {}
    for labels, share in paths:
        one = found.setdefault(repr(read := marks.read(labels)), {"marks": read, "share": 0.0})
        one["share"] += float(share)
    return sorted(found.values(), key=lambda one: -one["share"])


def proposals(classifier: Any, X: Sequence, marks: Marks) -> list[dict[str, Any]]:
    """Find the best labellings of sentences, and the likeliest labels of their tokens.

    Parameters
    ----------
    classifier : fitted sequence classifier
    X : sequences, none of which is empty
    marks : Marks

    Returns
    -------
    list of dict
        "labellings" are marks with their probabilities, "likeliest" pairs of a label and its
        probability for each token.
    """
    found = []
    paths = classifier.predict_k_best(X, k=2 * N_LABELLINGS)
    for best, rows in zip(paths, classifier.predict_proba(X), strict=True):
        spelled = [([*map(str, labels)], share) for labels, share in best]
        labellings = best_marks(marks, spelled)[:N_LABELLINGS]
        likeliest = _likeliest(classifier.classes_, np.asarray(rows))
        found.append({"labellings": labellings, "likeliest": likeliest})
    return found


def _likeliest(classes: np.ndarray, probability: np.ndarray) -> list[list[tuple[Any, float]]]:
    """Find the likeliest labels of each token, with their probabilities."""
    first = np.argsort(-probability, axis=1, kind="stable")[:, :N_LIKELIEST]
    shares = np.take_along_axis(probability, first, axis=1).astype(float).round(4).tolist()
    labels = classes[first].tolist()
    return [list(zip(*both, strict=True)) for both in zip(labels, shares, strict=True)]


def marks_for(labels: Iterable[str]) -> Marks:
    """Choose how labels of a model or a text are marked.

    Parameters
    ----------
    labels : iterable of str
        All labels.

    Returns
    -------
    SegmentMarks or TagMarks
        SegmentMarks if the labels are of a scheme of segments.

    Examples
    --------
    >>> from sklearn_crcrf.apps.annotation import marks_for
    >>> marks_for(["O", "B-PER", "I-PER"]).names, marks_for(["DET", "NOUN"]).names
    (['PER'], ['DET', 'NOUN'])
    """
    labels = list(labels)
    if not are_segments(labels):
        return TagMarks(labels)
    scheme = scheme_of(labels)
    return SegmentMarks(filter(None, read_labels(labels, scheme).types.tolist()), scheme)


def _is_segment(mark: Any, n_tokens: int) -> bool:
    return (
        isinstance(mark, list)
        and len(mark) == 3
        and all(isinstance(place, int) and not isinstance(place, bool) for place in mark[:2])
        and 0 <= mark[0] < mark[1] <= n_tokens
    )


def _require(name: Any, names: Sequence[str]) -> None:
    if name not in names:
        raise ValueError(f"{name!r} is not among the names {', '.join(names)}")
