"""Contributions to the score of a path: products of a weight and a factor that sum to it."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..structures import Scores, Structure


class Contributions(NamedTuple):
    """What adds up to the score of a labelling, term by term: entries in five parallel arrays.

    Parameters
    ----------
    position : int64 ndarray of shape (n_entries,)
        The token whose label the contribution is for.
    kind : object ndarray of shape (n_entries,)
        "attribute" for the label of a token, "transition" for two labels in a row and for the
        ends of the sequence, "segment" for a whole segment, and "normalisation" for minus the
        log-partition.
    name : object ndarray of shape (n_entries,)
        For example ``"token=dog"`` or ``"D → N"``.
    weight, factor : float ndarray of shape (n_entries,)
        A weight of the model, and what it is multiplied by, such as the value of an attribute.

    Examples
    --------
    >>> from sklearn_crcrf import CRF, explain
    >>> crf = CRF().fit([["the", "dog"], ["a", "cat"]], [["D", "N"], ["D", "N"]])
    >>> entries = explain(crf, ["the", "cat"]).contributions
    >>> entries.name.tolist(), entries.position.tolist()
    (['the', 'cat', 'D → N'], [0, 1, 1])
    """

    position: np.ndarray
    kind: np.ndarray
    name: np.ndarray
    weight: np.ndarray
    factor: np.ndarray

    @classmethod
    def of(
        cls,
        kind: str,
        position: Any,
        name: Sequence[str] | np.ndarray,
        weight: Any,
        factor: Any = 1.0,
    ) -> "Contributions":
        """Make entries of one kind; position, weight and factor are broadcast to the names."""
        n = len(name)
        names, kinds = np.empty(n, dtype=object), np.full(n, kind, dtype=object)
        names[:] = name
        weight, factor = (np.broadcast_to(values, n).astype(float) for values in (weight, factor))
        return cls(np.broadcast_to(position, n).astype(np.int64), kinds, names, weight, factor)

    @classmethod
    def join(cls, several: Iterable["Contributions"]) -> "Contributions":
        """Join several, sorted by position, without entries that are zero."""
        joined = cls(*map(np.concatenate, zip(cls.of("", [], [], []), *several, strict=True)))
        counting = np.flatnonzero((joined.weight != 0) & (joined.factor != 0))
        return joined.take(counting[np.argsort(joined.position[counting], kind="stable")])

    @property
    def value(self) -> np.ndarray:
        """Each contribution to the score, weight times factor, of shape (n_entries,)."""
        return self.weight * self.factor

    def take(self, entries: np.ndarray) -> "Contributions":
        """Return some of the entries, given as an array of numbers or a mask."""
        return Contributions(*(part[entries] for part in self))

    def by_token(self, n_tokens: int) -> np.ndarray:
        """Return the sum of the contributions of each token, of shape (n_tokens,)."""
        return np.bincount(self.position, self.value, n_tokens)

    def less(self, other: "Contributions") -> "Contributions":
        """Subtract the contributions to another labelling of the same tokens.

        Entries of the same position, kind, name and factor are merged; equal ones cancel.
        """
        both = Contributions.join([self, other._replace(weight=-other.weight)])
        keys = list(zip(both.position.tolist(), both.kind, both.name, both.factor, strict=True))
        place = {key: i for i, key in enumerate(dict.fromkeys(keys))}
        entry = np.array([place[key] for key in keys], dtype=np.int64)
        _, first = np.unique(entry, return_index=True)
        with np.errstate(invalid="ignore"):
            weight = np.bincount(entry, both.weight, len(place))
        weight[np.isnan(weight)] = 0.0  # -inf in both paths: no difference
        return Contributions.join([both.take(first)._replace(weight=weight)])


def attribute_contributions(
    attributes: Any,
    coef: Any,
    y: np.ndarray,
    names: Sequence[str] | np.ndarray,
    factor: float = 1.0,
) -> Contributions:
    """Contributions of ``attributes @ coef`` for the labels of a path.

    Parameters
    ----------
    attributes : CSR or ndarray of shape (n_tokens, n_attributes)
    coef : CSR or ndarray of shape (n_attributes, n_labels)
    y : ndarray of shape (n_tokens,)
        Label ids.
    names : sequence of n_attributes str
    factor : float
        Multiplies all attributes.

    Returns
    -------
    Contributions
    """
    rows = sp.coo_array(attributes)
    token, attribute = rows.coords
    weight = entries_at(coef, attribute, y[token])
    named = [names[a] for a in attribute]
    return Contributions.of("attribute", token, named, weight, factor * rows.data.astype(float))


def transition_contributions(
    transition: np.ndarray,
    begin: np.ndarray,
    end: np.ndarray,
    y: np.ndarray,
    classes: np.ndarray,
    structure: Structure,
    inner_factor: float = 1.0,
    outer_factor: float = 1.0,
) -> Contributions:
    """Contributions of transitions that all tokens share, and of begin and end scores.

    Parameters
    ----------
    transition : ndarray of shape (n_labels, n_labels), row = previous label
    begin, end : ndarray of shape (n_labels,)
    y : ndarray of shape (n_tokens,)
    classes : ndarray of shape (n_labels,)
    structure : Structure
        Structure of one unit.
    inner_factor, outer_factor : float
        Factors of the transitions, and of begin and end.

    Returns
    -------
    Contributions
    """
    first, last = structure.first_tokens(), structure.last_tokens()
    previous, current = structure.links()
    names = transition_names(y[previous], y[current], classes)
    begins = [f"start → {label}" for label in classes[y[first]]]
    ends = [f"{label} → end" for label in classes[y[last]]]
    inner = transition[y[previous], y[current]]
    return Contributions.join(
        [
            Contributions.of("transition", first, begins, begin[y[first]], outer_factor),
            Contributions.of("transition", current, names, inner, inner_factor),
            Contributions.of("transition", last, ends, end[y[last]], outer_factor),
        ]
    )


def path_contributions(
    scores: Scores, y: np.ndarray, classes: np.ndarray, structure: Structure
) -> Contributions:
    """Return the scores that a labelling uses, each as one contribution.

    Parameters
    ----------
    scores : Scores
        Scores of one unit.
    y : ndarray of shape (n_tokens,)
    classes : ndarray of shape (n_labels,)
    structure : Structure

    Returns
    -------
    Contributions
    """
    tokens, (previous, current) = np.arange(len(y)), structure.links()
    names = transition_names(y[previous], y[current], classes)
    inner = scores.of_transitions(current, y[previous], y[current])
    none = np.zeros_like(scores.transition)
    return Contributions.join(
        [
            Contributions.of(
                "attribute", tokens, ["state score"] * len(y), scores.state[tokens, y]
            ),
            Contributions.of("transition", current, names, inner),
            transition_contributions(none, scores.begin, scores.end, y, classes, structure),
        ]
    )


def entries_at(matrix: Any, row: np.ndarray, column: np.ndarray) -> np.ndarray:
    """Return single entries of a dense or sparse matrix, of shape (n,)."""
    entries = matrix[row, column]
    return np.ravel(entries.toarray() if sp.issparse(entries) else entries)


def transition_names(previous: np.ndarray, current: np.ndarray, classes: np.ndarray) -> list[str]:
    """Return a name such as ``"D → N"`` for each pair of label ids."""
    pairs = zip(classes[previous], classes[current], strict=True)
    return [f"{i} → {j}" for i, j in pairs]
