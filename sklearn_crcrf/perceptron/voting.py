"""Votes of all weights that a perceptron had on its way (Freund & Schapire 1999)."""

from collections.abc import Iterator
from numbers import Integral
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..data.ragged import joined_ranges
from ..linear import Coefficients, Differences, Examples
from ..utils.soundness import Array, Fact, Requirement, below, indices, pointers

__all__ = ["Ballots", "Changes", "count_votes"]


class Changes(NamedTuple):
    """What each version of a matrix has more than the one before.

    Parameters
    ----------
    indptr : ndarray of shape (n_versions + 1,)
        Where the entries of each version begin.
    row, column, value : ndarray of shape (n_entries,)
    """

    indptr: np.ndarray
    row: np.ndarray
    column: np.ndarray
    value: np.ndarray

    @classmethod
    def of(cls, matrix: np.ndarray) -> "Changes":
        """One version."""
        row, column = np.nonzero(matrix)
        return cls(np.array([0, len(row)]), row, column, matrix[row, column])

    def requirements(self, n_versions: int, shape: tuple[int, int]) -> Iterator[Requirement]:
        """What is true of so many versions of a matrix."""
        n_entries = (len(self.value),)
        yield from pointers("indptr", self.indptr, n_versions, *n_entries)
        yield indices("row", self.row, n_entries, shape[0])
        yield indices("column", self.column, n_entries, shape[1])
        yield Array("value", self.value, n_entries)

    def followed_by(
        self, n_versions: int, version: np.ndarray, place: np.ndarray, value: np.ndarray, width: int
    ) -> "Changes":
        """These and so many more versions; places are those in a matrix of this width."""
        order = np.argsort(version, kind="stable")
        ends = np.searchsorted(version[order], np.arange(1, n_versions + 1))
        more = *np.divmod(place[order], width), value[order]
        entries = (np.concatenate(parts) for parts in zip(self[1:], more, strict=True))
        return Changes(np.append(self.indptr, self.indptr[-1] + ends), *entries)

    def entries(self, version: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The rows, columns and values of a version."""
        which = slice(*self.indptr[version : version + 2])
        return self.row[which], self.column[which], self.value[which]


class Ballots(NamedTuple):
    """All versions of the weights, each after the correction by an example.

    Parameters
    ----------
    begins : ndarray of shape (n_versions,)
        The number of examples before the one that each is made by.
    n_seen : int
        The number of all examples.
    state, pairs : Changes
        Of the matrices of Coefficients.
    """

    begins: np.ndarray
    n_seen: int
    state: Changes
    pairs: Changes

    @classmethod
    def of(cls, weights: Coefficients) -> "Ballots":
        """The version from which learning starts."""
        return cls(np.zeros(1, dtype=np.int64), 0, *map(Changes.of, weights))

    def requirements(self, state: tuple[int, int], pairs: tuple[int, int]) -> Iterator[Requirement]:
        """What is true of versions of weights of these shapes."""
        n = len(self.begins)
        yield Fact("n_seen", isinstance(self.n_seen, Integral) and self.n_seen > 0, "must be > 0")
        yield indices("begins", self.begins, (n,), self.n_seen + 1)
        rises = n > 0 and self.begins[0] == 0 and (np.diff(self.begins) >= 0).all()
        yield Fact("begins", bool(rises), "must begin with 0, and not fall")
        yield from below("state", self.state.requirements(n, state))
        yield from below("pairs", self.pairs.requirements(n, pairs))

    @property
    def votes(self) -> np.ndarray:
        """How many examples each version lasted, of shape (n_versions,)."""
        return np.diff(np.append(self.begins, self.n_seen))

    def after(
        self,
        n_seen: int,
        before: np.ndarray,
        rate: np.ndarray,
        differences: tuple[Differences, Differences],
        n_labels: int,
    ) -> "Ballots":
        """These, and a version after each of more examples that the weights were corrected by.

        Parameters
        ----------
        n_seen : int
            The number of all examples.
        before : ndarray of shape (n_sequences,)
            The number of examples before each.
        rate : ndarray of shape (n_sequences,)
            By what its differences were multiplied.
        differences : Differences of state and pairs
        n_labels : int
        """
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
        return Ballots(np.append(self.begins, before[corrected]), n_seen, *changes)

    def renumbered(self, state: np.ndarray, pairs: np.ndarray, labels: np.ndarray, n_labels: int):
        """The same versions for other attributes and labels.

        Parameters
        ----------
        state, pairs : ndarray of int
            The new numbers of the attributes.
        labels : ndarray of int
            The new numbers of the labels.
        n_labels : int
            How many labels there are now.
        """
        label, previous = np.divmod(self.pairs.column, len(labels))
        column = labels[label] * n_labels + labels[previous]
        return self._replace(
            state=self.state._replace(row=state[self.state.row], column=labels[self.state.column]),
            pairs=self.pairs._replace(row=pairs[self.pairs.row], column=column),
        )


def count_votes(ballots: Ballots, examples: Examples, allowed: np.ndarray | None) -> np.ndarray:
    """How many votes each label of each token gets.

    Every version labels all sequences: this takes as long as so many predictions, but for the
    state scores, of which only what changes is added up.

    Parameters
    ----------
    ballots : Ballots
    examples : Examples
        Their labels are of no account.
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
    tokens_of = sp.csr_array(examples.state.T, dtype=float)
    for version, n_votes in enumerate(ballots.votes.tolist()):
        np.add.at(weights.state, *_scores(tokens_of, *ballots.state.entries(version)))
        row, column, value = ballots.pairs.entries(version)
        np.add.at(weights.pairs, (row, column), value)
        if n_votes:
            found, _ = scored.find(weights, 0.0)
            votes[token, found] += n_votes
    return votes


def _scores(tokens_of: sp.csr_array, attribute, label, value) -> tuple:
    """Where changes of weights change the scores of tokens, and by how much."""
    n_tokens = np.diff(tokens_of.indptr)[attribute]
    entries = joined_ranges(tokens_of.indptr[attribute], n_tokens)
    where = tokens_of.indices[entries], np.repeat(label, n_tokens)
    return where, tokens_of.data[entries] * np.repeat(value, n_tokens)
