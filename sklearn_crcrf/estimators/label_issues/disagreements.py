"""Where given labels and the likeliest ones disagree, and how probable the given ones are."""

from typing import NamedTuple

import numpy as np

from ...data.ragged import SequenceArray
from ...labels.partial import completed, encode_partial_labels
from ...labels.segments.schemes import read_labels
from .issues import LabelIssues

# Stands for the probability of labels that would not change.
NO_CHANGE = -1.0


class Meaning(NamedTuple):
    """The segments that labels spell, or single tokens, of which each label is a kind.

    Attributes
    ----------
    names : ndarray of shape (n_kinds,) or (n_kinds + 1,)
        The kinds, and "O" for tokens outside of segments, if there can be any.
    kind : ndarray of shape (n_labels,)
        -1 outside.
    continues : ndarray of shape (n_labels, n_labels), bool
        Whether a label continues the segment of the label before it.
    """

    names: np.ndarray
    kind: np.ndarray
    continues: np.ndarray

    @classmethod
    def of(cls, classes: np.ndarray, scheme: str | None) -> "Meaning":
        every = np.arange(len(classes))
        if scheme is None:
            return cls(classes, every, np.zeros((len(classes),) * 2, dtype=bool))
        parsed = read_labels(classes, scheme, "y")
        continues = parsed.continues(every[:, None], every)
        return cls(np.append(parsed.types, "O"), parsed.kind, continues)


class Runs(NamedTuple):
    """The segments of a labelling of all tokens, or its single tokens.

    Attributes
    ----------
    start, end, kind : ndarray of shape (n_runs,)
        The first token, the token after the last one, and the kind.
    of_token : ndarray of shape (n_tokens,)
        The run of each token, -1 outside.
    """

    start: np.ndarray
    end: np.ndarray
    kind: np.ndarray
    of_token: np.ndarray

    @classmethod
    def of(cls, kind: np.ndarray, joins: np.ndarray) -> "Runs":
        """Divide a labelling, from its kinds and whether each token joins the one before it."""
        inside = kind >= 0
        begins, ends = inside & ~joins, inside & ~np.append(joins[1:], False)
        start = np.flatnonzero(begins)
        of_token = np.where(inside, np.cumsum(begins) - 1, -1)
        return cls(start, np.flatnonzero(ends) + 1, kind[start], of_token)

    def most_shared(self, other: "Runs") -> np.ndarray:
        """Return the run of another labelling that shares most tokens with each run, or -1."""
        both = (self.of_token >= 0) & (other.of_token >= 0)
        pairs = np.column_stack([self.of_token[both], other.of_token[both]])
        pairs, n_shared = np.unique(pairs, axis=0, return_counts=True)
        found = np.full(len(self.start), -1)
        order = np.lexsort((-pairs[:, 1], n_shared))  # the last assignment to a place stands
        found[pairs[order, 0]] = pairs[order, 1]
        return found


def disagreements(
    y: SequenceArray, proba: np.ndarray, classes: np.ndarray, scheme: str | None
) -> LabelIssues:
    """Find the labels, or segments, of y that are not the likeliest ones.

    An issue is a segment of y that the likeliest labels do not spell, beside the one of theirs that
    shares most tokens with it; or a segment of theirs that shares no token with one of y. A token
    is as probable as all labels of its type in y together; to continue a segment or to begin
    another one of its type only counts where y has two segments of a type side by side. The tokens
    of a segment are right or wrong together, so an issue is as probable as the most probable one of
    its tokens that would change, or, if none would, of those that it would gain.

    Parameters
    ----------
    y : SequenceArray of labels
    proba : ndarray of shape (n_tokens, n_labels)
        Probabilities of labels, by a model that has not seen the sequence.
    classes : ndarray of shape (n_labels,)
        All labels in y, and perhaps others, in order.
    scheme : str or None
        How labels spell segments; None for labels of single tokens.

    Returns
    -------
    LabelIssues
        The least probable first.
    """
    names, kind, continues = Meaning.of(classes, scheme)
    shares = np.zeros((len(proba), len(names)))
    for label, column in enumerate(kind.tolist()):
        shares[:, column] += proba[:, label]  # the last column is that of -1
    likeliest = shares.argmax(axis=1)
    likeliest[likeliest > kind.max(initial=-1)] = -1
    best = np.where(kind == likeliest[:, None], proba, -1.0).argmax(axis=1)
    completed_y, _ = completed(y, y.with_data(classes[best]))
    given = encode_partial_labels(completed_y, classes)[1]

    follows = np.ones(len(given), dtype=bool)
    follows[y.offsets[:-1][y.lengths > 0]] = False
    joins = follows & continues[np.roll(given, 1), given]
    agrees = likeliest == kind[given]
    stays = joins & agrees & np.roll(agrees, 1)
    joins_best = stays | (follows & continues[np.roll(best, 1), best])
    own, other = Runs.of(kind[given], joins), Runs.of(likeliest, joins_best)

    probability = shares[np.arange(len(given)), kind[given]]
    touches = follows & ~joins & (kind[given] >= 0) & (kind[given] == np.roll(kind[given], 1))
    second = np.flatnonzero(touches)
    begins = (kind == kind[given[second], None]) & ~continues[given[second - 1]]
    probability[second] = (proba[second] * begins).sum(axis=1)
    _, ids, allowed = encode_partial_labels(y, classes)
    if allowed is not None:
        probability[ids < 0] = (proba * allowed)[ids < 0].sum(axis=1)
    changes = ~agrees | (touches & joins_best)
    probability = np.where(changes, np.clip(probability, 0.0, 1.0), NO_CHANGE)
    return _issues(own, other, probability, y.offsets, names)


def _issues(
    own: Runs, other: Runs, probability: np.ndarray, offsets: np.ndarray, names: np.ndarray
) -> LabelIssues:
    """List the runs of ``own`` that ``other`` has not, and the runs of ``other`` beside all."""
    given, found = np.array(own[:3]), np.array(other[:3])
    partner = own.most_shared(other)
    suggested = np.array([own.start, own.end, np.full(len(partner), -1)])
    suggested[:, partner >= 0] = found[:, partner[partner >= 0]]
    differs = (given != suggested).any(axis=0)
    beside = np.setdiff1d(np.arange(found.shape[1]), other.of_token[own.of_token >= 0])
    missing = found[:, beside]
    nothing = np.array([*missing[:2], np.full(len(beside), -1)])
    start, end, kind = np.append(given[:, differs], nothing, axis=1)
    other_start, other_end, other_kind = np.append(suggested[:, differs], missing, axis=1)

    own_greatest = _greatest(probability, start, end)
    greatest = _greatest(probability, np.minimum(start, other_start), np.maximum(end, other_end))
    greatest = np.where(own_greatest == NO_CHANGE, greatest, own_greatest)
    order = np.lexsort((start, greatest))
    sequence = np.searchsorted(offsets, start, side="right") - 1
    first = offsets[sequence]
    places, other_places = (start - first, end - first), (other_start - first, other_end - first)
    columns = (sequence, *places, names[kind], names[other_kind], greatest, *other_places)
    return LabelIssues(*(column[order] for column in columns))


def _greatest(values: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return the greatest value from each start to each end."""
    bounds = np.column_stack([start, end]).ravel()
    return np.maximum.reduceat(np.append(values, NO_CHANGE), bounds)[::2]
