"""Co-occurrence rates of linked labels, given the type of the link."""

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from ...base.contributions import Contributions, entries_at, transition_names
from ...counts import Table
from ...counts.rows import Storable, association, pair_counts, place_rows, rows_at
from ...structures import Structure

__all__ = ["TypeRates"]

# The common rates count as much as this number of links of each type.
STRENGTH = 10.0


class TypeRates(Storable):
    """How far the type of a link raises the scores of label pairs above the common rates.

    The prior of a pair is CR(i; j) p(i | type) p(j | type), with the common rate CR, so a rate of
    a type is smoothed towards the common rate. All probabilities of one rate are estimated on the
    same links ([ECRN] III-D).

    Parameters
    ----------
    pairs : Table
        Events are (type, label i, label j); label -1 is before a token without a link into it.
    n_types : int
    rate : ndarray of shape (n_labels, n_labels)
        The common rates.
    label_prior : ndarray of shape (n_labels,)
        The prior of p(label | type); counts as one link.
    strength : float
        Multiplies the strength of the prior, 10 links.

    Attributes
    ----------
    coef : CSR of shape (n_types, n_labels ** 2), not negative
        Column ``j * n_labels + i`` is for label i before label j.
    """

    def __init__(
        self,
        pairs: Table,
        n_types: int,
        rate: np.ndarray,
        label_prior: np.ndarray,
        strength: float,
    ):
        n_labels = len(label_prior)
        index, counts = pair_counts(pairs, n_labels)
        kind = counts.repeat(np.arange(len(index)))
        current, previous = np.divmod(counts.indices, n_labels)
        prior = rate[previous, current]
        for labels in (previous, current):
            by_label = np.zeros((len(index), n_labels))
            np.add.at(by_label, (kind, labels), counts.data)
            by_label = (by_label + label_prior) / (by_label.sum(axis=1, keepdims=True) + 1.0)
            prior = prior * by_label[kind, labels]
        gains = association(counts, prior, STRENGTH * strength)
        self.coef = place_rows(gains, index, n_types).csr()

    def gains(self, types: np.ndarray) -> sp.csr_array:
        """The rows of ``coef`` of these types, empty rows for types below 0."""
        return rows_at(self.coef, types)

    def contributions(
        self,
        types: np.ndarray,
        names: Sequence[str],
        y: np.ndarray,
        classes: np.ndarray,
        structure: Structure,
        exponent: float,
    ) -> Contributions:
        """What the types of the links of one unit contribute to the score of a labelling.

        Parameters
        ----------
        types : ndarray of shape (n_rows,)
            By row of transitions, below 0 for unknown types.
        names : sequence of n_types str
        y : ndarray of shape (n_tokens,)
        classes : ndarray of shape (n_labels,)
        structure : Structure
        exponent : float

        Returns
        -------
        Contributions
        """
        previous, current = structure.links()
        of_links = types[structure.rows_of_links()]
        link = np.flatnonzero(of_links >= 0)
        before, token, kind = previous[link], current[link], of_links[link]
        pair = y[token].astype(np.int64) * len(classes) + y[before]
        pairs = transition_names(y[before], y[token], classes)
        named = [f"{pair} | edge={names[k]}" for pair, k in zip(pairs, kind, strict=True)]
        weight = entries_at(self.coef, kind, pair)
        return Contributions.of("transition", token, named, weight, exponent)
