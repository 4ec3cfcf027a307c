"""Rates of three linked labels, beyond the rates of their pairs."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...base.contributions import Contributions, entries_at
from ...counts import Table
from ...counts.counts import aggregate
from ...counts.rows import KeyIndex, Rows, Storable, association
from ...counts.triangles import PER_TRIANGLE, arranged, link_codes
from ...structures import Structure, TriangleGraph
from ...structures.graph.chordal import ChordalUnits
from ...utils.soundness import Fact, Requirement, below, sparse

# What the rates of pairs say of three labels counts as much as this number of triangles of a kind.
STRENGTH = 10.0


class TriangleRates(Storable):
    """How far three linked labels occur more often than their pairs make them.

    The probability of a labelling of a chordal graph is the product of the probabilities of its
    cliques, divided by the probabilities of its separators ([ECRN], theorem 2). With the rates

        CR(i; j) = p(i, j) / (p(i) p(j)),    CR(i; j; k) = p(i, j, k) / (p(i) p(j) p(k))

    this is, if no clique has more than three tokens, the product of the probabilities of all
    tokens, the rates of all links, and for each triangle the rate

        CR(i; j; k) / (CR(i; j) CR(j; k) CR(i; k)).

    All triangles of a kind, that is with links of the same types, share their rates, so the product
    is exact where rates depend on nothing else of X.

    The prior of three labels is the product of the rates of their links and of the probabilities
    of each label in the triangles of this kind, so without counts the last rate is 1.

    Parameters
    ----------
    counts : Table
        As of :func:`~sklearn_crcrf.counts.triangles.count_triangles`.
    is_directed : bool
        Whether the direction of links means anything.
    rates : ndarray of shape (n_types + 1, n_labels, n_labels)
        The rates of the labels of links by their type, of unknown types first.
    label_prior : ndarray of shape (n_labels,)
        The prior of the probability of each label; counts as one triangle.
    strength : float
        Multiplies the strength of the prior, 10 triangles.

    Attributes
    ----------
    kinds : KeyIndex
        The codes of the links of each kind of triangles.
    coef : CSR of shape (n_kinds, n_labels ** 3), not negative
        Logarithms of the last rate, up to a constant for each kind.
    """

    def __init__(
        self,
        counts: Table,
        is_directed: bool,
        rates: np.ndarray,
        label_prior: np.ndarray,
        strength: float,
    ):
        n, self._is_directed = len(label_prior), is_directed
        event, codes, labels = arranged(counts.events[:, :3], counts.events[:, 3:], is_directed)
        weights = counts.weights / np.bincount(event, minlength=len(counts.weights))
        table = aggregate([*codes.T, *labels.T], weights[event] / PER_TRIANGLE, len(event))
        codes, labels, weights = table.events[:, :3], table.events[:, 3:], table.weights
        codes, starts, kind = np.unique(codes, axis=0, return_index=True, return_inverse=True)
        self.kinds, kind = KeyIndex(codes), kind.reshape(-1)
        by_label = np.zeros((3, len(codes), n))
        for corner, of_corner in enumerate(labels.T):
            np.add.at(by_label[corner], (kind, of_corner), weights)
        by_label = (by_label + label_prior) / (by_label.sum(axis=2, keepdims=True) + 1.0)
        ab, bc, ac = (
            np.where((code & 1 == 1)[:, None, None], rates[code // 2].mT, rates[code // 2])
            for code in codes.T
        )
        of_a, of_b, of_c = by_label
        a, b, c = labels.T
        prior = ab[kind, a, b] * bc[kind, b, c] * ac[kind, a, c]
        prior *= of_a[kind, a] * of_b[kind, b] * of_c[kind, c]
        from_a, to_b = of_a[:, :, None] * ac * of_c[:, None, :], ab * of_b[:, None, :]
        prior /= np.einsum("kab,kab->k", to_b, from_a @ bc.mT)[kind]
        columns = (a.astype(np.int64) * n + b) * n + c
        indptr = np.append(starts, len(weights))
        rows = Rows(weights, columns, indptr, (len(codes), n**3))
        self.coef = association(rows, prior, STRENGTH * strength).csr()

    def on(self, graph: Any, types: np.ndarray | None) -> TriangleGraph:
        """Return the graph with the triangles of its chordal units whose kinds were counted.

        Parameters
        ----------
        graph : Graph
            Its engine takes triangles.
        types : ndarray of shape (n_links,), optional
            Ids of the types of links, negative if unknown.
        """
        triangles = ChordalUnits.of(graph).triangles
        codes = link_codes(graph, triangles, types)
        triangle, codes, corners = arranged(codes, triangles, self._is_directed)
        first = np.searchsorted(triangle, np.arange(len(triangles)))
        kind = self.kinds.rows(list(codes[first].T))
        known = kind >= 0
        return TriangleGraph(graph, corners[first][known], kind[known])

    def contributions(
        self, structure: Structure, y: np.ndarray, classes: np.ndarray, exponent: float
    ) -> Contributions:
        """What the triangles of one unit contribute to the score of a labelling."""
        labels = y[structure.triangles].astype(np.int64)
        names = [" \u2192 ".join(map(str, classes[ids])) + " | triangle" for ids in labels]
        column = labels @ np.array([len(classes) ** 2, len(classes), 1])
        weight = entries_at(self.coef, structure.table_of_triangle, column)
        token = structure.triangles.max(axis=1)
        return Contributions.of("transition", token, names, weight, exponent)

    def requirements(self, sizes: Sequence[int], n_labels: int) -> Iterator[Requirement]:
        """Yield the requirements; ``sizes`` are the numbers of codes of links."""
        yield Fact("_is_directed", isinstance(self._is_directed, bool), "must be True or False")
        yield from below("kinds", self.kinds.requirements(sizes))
        yield from sparse("coef", self.coef, (len(self.kinds), n_labels**3), least=0.0)


def exact_units(structure: Structure, n_labels: int) -> np.ndarray:
    """Return the units whose scores are the rates of all their cliques, (n_units,) of bool.

    These are forests, and chordal graphs without cliques of four tokens, if triangles can have
    scores or there are none.
    """
    if structure.is_directed:
        return np.ones(structure.n_units, dtype=bool)
    units = ChordalUnits.of(structure)
    if structure.takes_triangles(n_labels):
        return units.is_chordal
    is_exact = np.array(units.is_chordal)
    is_exact[np.searchsorted(structure.offsets, units.triangles[:, 0], side="right") - 1] = False
    return is_exact
