"""Votes of all weights that a perceptron had during training (Freund & Schapire 1999)."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ...data.ragged import joined_ranges
from ...linear.examples import Coefficients, Differences, Examples, find
from ...utils.soundness import Array, Fact, Requirement, below, indices, pointers


@dataclass(frozen=True, eq=False)
class Corrections:
    """The corrections of an epoch.

    Parameters
    ----------
    examples : Examples
    found : ndarray of shape (n_tokens,)
        The labels that were predicted before the corrections.
    before : ndarray of shape (n_sequences,)
        Number of examples seen before each sequence.
    rate : ndarray of shape (n_sequences,)
        The size of the correction of each sequence.
    n_seen : int
        Number of examples seen after the epoch.
    """

    examples: Examples
    found: np.ndarray
    before: np.ndarray
    rate: np.ndarray
    n_seen: int

    @cached_property
    def differences(self) -> tuple[Differences, Differences]:
        """The features of the gold paths minus the features of the paths found."""
        return self.examples.differences(self.found)


class Changes(NamedTuple):
    """The versions of a matrix, each stored as its difference from the previous version.

    Parameters
    ----------
    indptr : ndarray of shape (n_versions + 1,)
        The first entry of each version.
    row, column, value : ndarray of shape (n_entries,)
    """

    indptr: np.ndarray
    row: np.ndarray
    column: np.ndarray
    value: np.ndarray

    @classmethod
    def of(cls, matrix: np.ndarray) -> "Changes":
        """Return a single version: the matrix itself."""
        row, column = np.nonzero(matrix)
        return cls(np.array([0, len(row)]), row, column, matrix[row, column])

    def requirements(self, n_versions: int, shape: tuple[int, int]) -> Iterator[Requirement]:
        """Requirements of ``n_versions`` versions of a matrix of this shape."""
        n_entries = (len(self.value),)
        yield from pointers("indptr", self.indptr, n_versions, *n_entries)
        yield indices("row", self.row, n_entries, shape[0])
        yield indices("column", self.column, n_entries, shape[1])
        yield Array("value", self.value, n_entries)

    def followed_by(
        self, n_versions: int, version: np.ndarray, place: np.ndarray, value: np.ndarray, width: int
    ) -> "Changes":
        """These and ``n_versions`` more; ``place`` is ``row * width + column`` of an entry."""
        order = np.argsort(version, kind="stable")
        ends = np.searchsorted(version[order], np.arange(1, n_versions + 1))
        more = *np.divmod(place[order], width), value[order]
        entries = (np.concatenate(parts) for parts in zip(self[1:], more, strict=True))
        return Changes(np.append(self.indptr, self.indptr[-1] + ends), *entries)

    def entries(self, version: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the rows, columns and values of a version."""
        which = slice(*self.indptr[version : version + 2])
        return self.row[which], self.column[which], self.value[which]


class WeightHistory(NamedTuple):
    """All versions of the weights, one after each correction.

    Parameters
    ----------
    begins : ndarray of shape (n_versions,)
        Number of examples before the one that made each version.
    n_seen : int
        Number of all examples.
    state, pairs : Changes
        Versions of the two matrices of Coefficients.
    """

    begins: np.ndarray
    n_seen: int
    state: Changes
    pairs: Changes

    @classmethod
    def of(cls, weights: Coefficients) -> "WeightHistory":
        """Return a history with one version, the initial weights."""
        return cls(np.zeros(1, dtype=np.int64), 0, *map(Changes.of, weights))

    def requirements(self, state: tuple[int, int], pairs: tuple[int, int]) -> Iterator[Requirement]:
        """Requirements of a history of weights of these shapes."""
        n = len(self.begins)
        yield Fact("n_seen", isinstance(self.n_seen, Integral) and self.n_seen > 0, "must be > 0")
        yield indices("begins", self.begins, (n,), self.n_seen + 1)
        rises = n > 0 and self.begins[0] == 0 and (np.diff(self.begins) >= 0).all()
        yield Fact("begins", bool(rises), "must begin with 0 and not decrease")
        yield from below("state", self.state.requirements(n, state))
        yield from below("pairs", self.pairs.requirements(n, pairs))

    @property
    def votes(self) -> np.ndarray:
        """Number of examples until the next version, of shape (n_versions,)."""
        return np.diff(np.append(self.begins, self.n_seen))

    def after(self, corrections: Corrections) -> "WeightHistory":
        """This history with one more version for each correction of an epoch."""
        before, rate, differences = corrections.before, corrections.rate, corrections.differences
        n_labels = corrections.examples.n_labels
        corrected = np.unique(np.concatenate([part.sequence for part in differences]))
        corrected = corrected[np.argsort(before[corrected])]
        version = np.empty(len(before), dtype=np.int64)
        version[corrected] = np.arange(len(corrected))
        changes = (
            old.followed_by(
                len(corrected),
                version[new.sequence],
                new.place,
                rate[new.sequence] * new.value,
                width,
            )
            for old, new, width in zip(self[2:], differences, (n_labels, n_labels**2), strict=True)
        )
        begins = np.append(self.begins, before[corrected])
        return WeightHistory(begins, corrections.n_seen, *changes)

    def renumbered(self, state: np.ndarray, pairs: np.ndarray, labels: np.ndarray, n_labels: int):
        """Return the same history for other attributes and labels.

        Parameters
        ----------
        state, pairs : ndarray of int
            The new numbers of the attributes.
        labels : ndarray of int
            The new numbers of the labels.
        n_labels : int
            The new number of labels.
        """
        label, previous = np.divmod(self.pairs.column, len(labels))
        column = labels[label] * n_labels + labels[previous]
        return self._replace(
            state=self.state._replace(row=state[self.state.row], column=labels[self.state.column]),
            pairs=self.pairs._replace(row=pairs[self.pairs.row], column=column),
        )


def count_votes(
    history: WeightHistory, examples: Examples, allowed: np.ndarray | None
) -> np.ndarray:
    """Return the number of votes for each label of each token.

    Every version labels all sequences, so this takes as long as one prediction per version. Only
    state scores are cheaper: just their changes are added.

    Parameters
    ----------
    history : WeightHistory
    examples : Examples
        Labels are not used.
    allowed : bool ndarray of shape (n_tokens, n_labels), optional
        Which labels a token may have.

    Returns
    -------
    int64 ndarray of shape (n_tokens, n_labels)
    """
    n_tokens, n_labels = len(examples.y), examples.n_labels
    votes, token = np.zeros((n_tokens, n_labels), dtype=np.int64), np.arange(n_tokens)
    # Every token is an attribute, whose weights are the scores of its labels.
    scored = examples.with_state(sp.eye_array(n_tokens, format="csr"))
    weights = scored.zeros()
    if allowed is not None:
        weights.state[~allowed] = -np.inf
    by_attribute = sp.csr_array(examples.state.T, dtype=float)
    for version, n_votes in enumerate(history.votes.tolist()):
        np.add.at(weights.state, *_scores(by_attribute, *history.state.entries(version)))
        row, column, value = history.pairs.entries(version)
        np.add.at(weights.pairs, (row, column), value)
        if n_votes:
            found, _ = find(scored, weights, 0.0)
            votes[token, found] += n_votes
    return votes


def _scores(by_attribute: sp.csr_array, attribute, label, value) -> tuple:
    """Return the (token, label) pairs whose scores change with some weights, and their changes."""
    n_tokens = np.diff(by_attribute.indptr)[attribute]
    entries = joined_ranges(by_attribute.indptr[attribute], n_tokens)
    where = by_attribute.indices[entries], np.repeat(label, n_tokens)
    return where, by_attribute.data[entries] * np.repeat(value, n_tokens)
