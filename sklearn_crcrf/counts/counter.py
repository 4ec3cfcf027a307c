"""What turns labelled sequences into counts."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..data.graphs import GraphArray
from ..data.ragged import SequenceArray, joined_ranges
from ..data.symbols import warn_of_empty_tokens
from ..labels.encoding import LabelIds
from ..labels.partial import known_labels
from ..labels.soft import SoftLabels
from ..structures import Structure
from ..utils.soundness import Fact, Requirement, below
from .counting import ColumnWindow, count_folds_of
from .counts import Counts, Table, Template
from .links import EDGE_TYPE
from .observations import ATTRIBUTES, Encoder, Observations, Plan, Tokens
from .tabulator import Tabulator
from .triangles import TRIANGLES, count_triangles

Spelling = tuple[Sequence[str], dict[str, Sequence[str]]]
"""Spelling features of the words, and symbols of a feature that are numbered first."""


def planned(
    X: SequenceArray,
    weights: np.ndarray,
    structure: Structure,
    tabulator: Tabulator,
    inputs: dict[str, Any],
) -> tuple[Plan, Tokens]:
    """Plan how to count all data as the first, and read that."""
    warn_of_empty_tokens(X)
    table, attributes = tabulator.fit_transform(X, weights)
    tokens = Tokens(table, attributes, edge_types(X, structure), structure)
    n_attributes = attributes.shape[1] if sp.issparse(attributes) else None
    kind, has_types = kind_of_links(structure), tokens.edge_types is not None
    return Plan(tabulator, tuple(table.names), n_attributes, kind, has_types, inputs), tokens


class Counter(NamedTuple):
    """Turns labelled sequences into ids, which are then counted.

    Parameters
    ----------
    plan : Plan
    encoder : Encoder
    label_ids : LabelIds
    """

    plan: Plan
    encoder: Encoder
    label_ids: LabelIds

    def read(self, X: SequenceArray, structure: Structure) -> Tokens:
        """Read more data."""
        return Tokens(*self.plan.tabulator.transform(X), edge_types(X, structure), structure)

    def learn(
        self, tokens: Tokens, y: SequenceArray | SoftLabels, weights: np.ndarray
    ) -> "LabelledObservations":
        """Encode labelled tokens, and give ids to new symbols and labels."""
        labels: np.ndarray | SoftLabels
        if isinstance(y, SoftLabels):
            ids = self.label_ids.learn(SequenceArray.from_sequences([y.classes]), "labels")
            labels = y.renumbered(ids, len(self.label_ids))
        else:
            y, weights = known_labels(y, weights)
            labels = self.label_ids.learn(y)
        return LabelledObservations(self.encoder.learn(tokens), labels, weights)

    def encode(self, X: SequenceArray, structure: Structure) -> Observations:
        """Encode tokens without labels."""
        return self.encoder.encode(self.read(X, structure))

    def requirements(self, n_columns: Any) -> Iterator[Requirement]:
        """Yield the requirements; ``n_columns`` is the number of columns of X, if X has columns."""
        yield Fact("label_ids", isinstance(self.label_ids, LabelIds), "must be LabelIds")
        yield from below("label_ids", self.label_ids.requirements())
        plan, encoder = self.plan, self.encoder
        yield Fact("_counter", isinstance(plan, Plan), "must have a Plan")
        yield Fact("tabulator_", isinstance(plan.tabulator, Tabulator), "must be a Tabulator")
        yield from below("tabulator_", plan.tabulator.requirements())
        yield Fact("encoder_", isinstance(encoder, Encoder), "must be an Encoder")
        yield from below("encoder_", encoder.requirements(n_columns))
        has_types = encoder.edge_types is not None
        known = encoder.names, encoder.n_attributes, encoder.links, has_types
        yield Fact("encoder_", plan[1:5] == known, "must be of the plan")


def kind_of_links(structure: Structure) -> str:
    """How tokens of such structures are linked, one of ``KINDS_OF_LINKS``."""
    if structure.always_sequential:
        return "next"
    return "children" if structure.is_directed else "any"


def edge_types(X: SequenceArray, structure: Structure) -> list[str] | None:
    """Return the type of each link of a structure.

    Parameters
    ----------
    X : SequenceArray
    structure : Structure
        The structure of X.

    Returns
    -------
    list of str, or None
        In the order of ``structure.links()``; None if X has no types.

    Raises
    ------
    ValueError
        If the edges have attributes instead of types.
    """
    if not isinstance(X, GraphArray) or X.edge_data is None:
        return None
    if X.edge_data.ndim != 1:
        raise ValueError(
            "X: edge_data has attributes of edges, but only a type of each edge can be counted; "
            "make types of them, as an array of shape (n_edges,)"
        )
    # The same pairs of tokens, each only once, in two orders.
    of_edges = np.lexsort(X.token_edges.T)
    of_links = np.lexsort(structure.links())
    types = np.empty(len(of_edges), dtype=object)
    types[of_links] = X.edge_data[of_edges]
    return [str(kind) for kind in types.tolist()]


class LabelledObservations(NamedTuple):
    """Encoded sequences and their labels.

    Parameters
    ----------
    observations : Observations
    labels : ndarray of shape (n_tokens,), int32, or SoftLabels
        Ids of labels, or the probability of each id.
    weights : ndarray of shape (n_tokens,)
    """

    observations: Observations
    labels: Any
    weights: np.ndarray

    @property
    def offsets(self) -> np.ndarray:
        """Where each unit begins among all tokens, int64 of shape (n_units + 1,)."""
        return self.observations.structure.offsets

    def take(self, units: np.ndarray) -> "LabelledObservations":
        """Take some of the units, by their numbers, in rising order."""
        tokens = joined_ranges(self.offsets[units], np.diff(self.offsets)[units])
        taken = self.observations.take(units), self.labels[tokens], self.weights[tokens]
        return LabelledObservations(*taken)


def count_corpus(corpus: LabelledObservations, templates: Sequence[Template]) -> Counts:
    """Count encoded sequences; see :func:`~sklearn_crcrf.counts.count_tokens`."""
    weights = corpus.weights
    if len(weights) and (weights == weights[0]).all():
        weights = weights[:1]
    of_walks = [template for template in templates if template != TRIANGLES]
    window = window_of(corpus, of_walks)
    counts = {template: window.count(template, weights) for template in of_walks}
    return Counts({**counts, **_count_others(corpus, templates, corpus.weights)})


def count_folds_of_corpus(
    corpus: LabelledObservations, templates: Sequence[Template], fold_of_sequence: np.ndarray
) -> list[Counts]:
    """Count the folds of encoded sequences; see :func:`~sklearn_crcrf.counts.count_folds`."""
    of_walks, weights = [t for t in templates if t != TRIANGLES], corpus.weights
    fold_of_token = np.repeat(fold_of_sequence, np.diff(corpus.offsets))
    folds = count_folds_of(window_of(corpus, of_walks), of_walks, fold_of_sequence, weights)
    return [
        Counts({**counts, **_count_others(corpus, templates, weights * (fold_of_token == fold))})
        for fold, counts in enumerate(folds)
    ]


def window_of(corpus: LabelledObservations, templates: Sequence[Template]) -> ColumnWindow:
    """Collect the columns that templates name; columns of spelling are made only once."""
    observations, labels, _ = corpus
    named = {column for template in templates for column, _ in template.symbols} - {EDGE_TYPE}
    columns = {name: observations.columns[name] for name in named}
    return ColumnWindow(columns, labels, corpus.offsets, observations.links())


def _count_others(
    corpus: LabelledObservations, templates: Sequence[Template], weights: np.ndarray
) -> dict[Template, Table]:
    """Count what is not on walks along links, given weights of tokens."""
    observations, labels, _ = corpus
    tables = {}
    if observations.attributes is not None:
        if isinstance(labels, SoftLabels):
            gold = labels.tokens.multiply(weights[:, None])
        else:
            shape = len(labels), int(labels.max(initial=-1)) + 1
            gold = sp.csr_array((weights, labels, np.arange(shape[0] + 1)), shape=shape)
        counts = (observations.attributes.T @ gold).tocsr()
        counts.eliminate_zeros()
        counts.sort_indices()
        events = np.array(sp.coo_array(counts).coords, dtype=np.int32).T
        tables[ATTRIBUTES] = Table(events, counts.data)
    if TRIANGLES in templates:
        structure, types = observations.structure, observations.edge_types
        tables[TRIANGLES] = count_triangles(structure, types, labels, weights)
    return tables
