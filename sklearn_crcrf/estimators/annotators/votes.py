"""Votes: the labels that several annotators gave to the same tokens."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ...base.weights import places_of
from ...data.frames import as_frame, frame_sequences
from ...data.layout import Layout, Lists, Ragged, check_one_per_token
from ...data.missing import are_missing
from ...data.ragged import SequenceArray, join_sequences, object_array, token_name
from ...labels.encoding import sort_labels
from ...labels.partial import encode_partial_labels
from ...utils.names import check_several, shown


class Votes(NamedTuple):
    """The labels that all annotators gave, as integers.

    Attributes
    ----------
    annotators : list of n_annotators names
    classes : ndarray of shape (n_labels,)
        The labels that anybody gave, in increasing order.
    ids : ndarray of shape (n_annotators, n_tokens), int32
        Places in ``classes``, -1 where an annotator abstained.
    mirror : Layout
        Puts a value of each token into the container that the labellings came in.
    """

    annotators: list
    classes: np.ndarray
    ids: np.ndarray
    mirror: Layout

    @classmethod
    def read(cls, votes: Any) -> "Votes":
        """Read votes in any layout that :class:`SequenceLabelModel` takes.

        Raises
        ------
        ValueError
            If there is no annotator or no vote, labellings differ in their lengths, or a vote is
            not a label; the message names the annotator, the sequence and the position.
        """
        check_several(votes, "votes")
        if hasattr(votes, "iloc"):
            frame = as_frame(votes)
            given = {name: frame.iloc[:, j] for j, name in enumerate(frame.columns)}
        else:
            given = dict(votes if isinstance(votes, Mapping) else enumerate(votes))
        if not given:
            raise ValueError("votes: there is no annotator")
        if hasattr(votes, "iloc"):
            mirror: Layout = frame_sequences(frame.astype(object))[1]
            labels = [mirror.labels(column, whose(name)).data for name, column in given.items()]
        else:
            labels, mirror = _aligned(given)
        named = [
            _numbered(SequenceArray(of_one, mirror.offsets), whose(name))
            for name, of_one in zip(given, labels, strict=True)
        ]
        different = dict.fromkeys(label for classes, _ in named for label in classes.tolist())
        if not different:
            raise ValueError("votes: all labels are None, so nothing can be learned")
        classes, _ = sort_labels(list(different))
        ids = [np.append(places_of(own, classes), -1)[ids] for own, ids in named]
        return cls(list(given), classes, np.array(ids, dtype=np.int32), mirror)

    def of_model(self, annotators: list, classes: np.ndarray) -> np.ndarray:
        """Return ``ids`` with the annotators and labels of a fitted model.

        Raises
        ------
        ValueError
            If an annotator or a label is not among them.
        """
        row = {name: j for j, name in enumerate(annotators)}
        column = np.append(places_of(self.classes, classes), -1)
        found = np.full((len(annotators), self.ids.shape[1]), -1, dtype=np.int32)
        for name, ids in zip(self.annotators, self.ids, strict=True):
            if name not in row:
                raise ValueError(
                    f"votes: {shown(name)} is not among the annotators of the votes that the "
                    f"model was fitted to: {annotators}"
                )
            found[row[name]] = column[ids]
            unknown = np.flatnonzero((found[row[name]] < 0) & (ids >= 0))
            if len(unknown):
                label = self.classes.tolist()[ids[unknown[0]]]
                raise ValueError(
                    f"{token_name(whose(name), self.mirror.offsets, int(unknown[0]))}: the label "
                    f"{shown(label)} is not among the classes {classes.tolist()}"
                )
        return found


def whose(annotator: Any) -> str:
    """Name the labelling of an annotator in an error message."""
    return f"votes of {shown(annotator)}"


def _aligned(given: Mapping) -> tuple[list[np.ndarray], Layout]:
    """Return the labels of all tokens by each annotator, None where one abstained."""
    for name, labelling in given.items():
        check_several(labelling, whose(name))
    labellings = [v if isinstance(v, SequenceArray) else list(v) for v in given.values()]
    names, n_sequences = [whose(name) for name in given], len(labellings[0])
    lengths, joined = np.full((len(names), n_sequences), -1), []
    for name, labelling, own in zip(names, labellings, lengths, strict=True):
        if len(labelling) != n_sequences:
            raise ValueError(
                f"{names[0]} has {n_sequences} sequences, but {name} has {len(labelling)}; a "
                "sequence that an annotator did not see is None"
            )
        seen = [labels is not None for labels in labelling]
        filled = labelling if all(seen) else [() if s is None else s for s in labelling]
        joined.append(join_sequences(filled, name))
        check_one_per_token(joined[-1], name)
        own[seen] = joined[-1].lengths[seen]
    length = lengths.max(axis=0, initial=-1)
    unseen, differ = np.flatnonzero(length < 0), np.argwhere((lengths >= 0) & (lengths != length))
    if len(unseen):
        raise ValueError(
            f"votes, sequence {unseen[0]}: no annotator saw it, so its length is unknown; leave it "
            "out, or give None for each of its tokens"
        )
    if len(differ):
        j, i = differ[0].tolist()
        raise ValueError(
            f"{names[j]}, sequence {i}: there are {lengths[j, i]} labels, but "
            f"{names[int(lengths[:, i].argmax())]} has {length[i]} there"
        )
    spread = np.full((len(names), length.sum()), None, dtype=object)
    for row, labels, own in zip(spread, joined, lengths, strict=True):
        row[np.repeat(own >= 0, length)] = object_array(labels.data.tolist())
        row[are_missing(row)] = None
    are_arrays = all(isinstance(labelling, SequenceArray) for labelling in labellings)
    return list(spread), (Ragged if are_arrays else Lists)(np.append(0, np.cumsum(length)))


def _numbered(y: SequenceArray, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels that an annotator gave, and their places of all tokens, -1 for None."""
    abstains = np.array([label is None for label in y.data.tolist()], dtype=bool)
    if abstains.all():
        return np.empty(0, dtype=object), np.full(len(y.data), -1)
    classes, ids, _ = encode_partial_labels(y, name=name)
    several = np.flatnonzero((ids < 0) & ~abstains)
    if len(several):
        token = int(several[0])
        raise ValueError(
            f"{token_name(name, y.offsets, token)}: a vote is one label or None, but is "
            f"{shown(y.data[token])}"
        )
    return classes, ids
