"""Labelled observations, and their counts."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..structures import Structure
from .counting import ColumnWindow, count_folds_of
from .counts import Counts, Table, Template
from .observations import BAG, Observations
from .triangles import TRIANGLES, count_triangles

__all__ = ["ATTRIBUTES", "LabelledObservations", "count_corpus", "count_folds_of_corpus"]

ATTRIBUTES = Template(((BAG, 0),))
"""Stands for the attributes of a sparse X or of a bag, which are counted with labels of tokens."""


class LabelledObservations(NamedTuple):
    """Encoded sequences and their labels.

    Parameters
    ----------
    observations : Observations
    labels : ndarray of shape (n_tokens,), int32
    structure : Structure
    weights : ndarray of shape (n_tokens,)
    """

    observations: Observations
    labels: np.ndarray
    structure: Structure
    weights: np.ndarray

    @property
    def offsets(self) -> np.ndarray:
        """Where each unit begins among all tokens, int64 of shape (n_units + 1,)."""
        return self.structure.offsets

    def take(self, units: np.ndarray) -> "LabelledObservations":
        """Some of the units, chosen by a mask."""
        tokens = np.repeat(units, np.diff(self.offsets))
        links = tokens[self.structure.links()[1]]
        return LabelledObservations(
            self.observations.take(tokens, links),
            self.labels[tokens],
            self.structure.take(np.flatnonzero(units)),
            self.weights[tokens],
        )


def count_corpus(corpus: LabelledObservations, templates: Sequence[Template]) -> Counts:
    """Count encoded sequences; see :func:`~sklearn_crcrf.counts.count_tokens`."""
    weights = corpus.weights
    if len(weights) and (weights == weights[0]).all():
        weights = weights[:1]
    window = _window(corpus, templates)
    counts = {t: window.count(t, weights) for t in templates if t != TRIANGLES}
    return Counts({**counts, **_count_others(corpus, templates, corpus.weights)})


def count_folds_of_corpus(
    corpus: LabelledObservations, templates: Sequence[Template], fold_of_sequence: np.ndarray
) -> list[Counts]:
    """Count the folds of encoded sequences; see :func:`~sklearn_crcrf.counts.count_folds`."""
    of_walks, weights = [t for t in templates if t != TRIANGLES], corpus.weights
    fold_of_token = np.repeat(fold_of_sequence, np.diff(corpus.offsets))
    folds = count_folds_of(_window(corpus, of_walks), of_walks, fold_of_sequence, weights)
    return [
        Counts({**counts, **_count_others(corpus, templates, weights * (fold_of_token == fold))})
        for fold, counts in enumerate(folds)
    ]


def _window(corpus: LabelledObservations, templates: Sequence[Template]) -> ColumnWindow:
    """The columns that templates name; columns of spelling are made only once."""
    observations, labels, structure, _ = corpus
    named = {column for template in templates for column, _ in template.symbols}
    columns = {name: observations.columns[name] for name in observations.columns if name in named}
    return ColumnWindow(columns, labels, structure.offsets, observations.links(structure))


def _count_others(
    corpus: LabelledObservations, templates: Sequence[Template], weights: np.ndarray
) -> dict[Template, Table]:
    """The counts of what is not on walks along links, given weights of tokens."""
    observations, labels, structure, _ = corpus
    tables = {}
    if observations.attributes is not None:
        tables[ATTRIBUTES] = _count_attributes(corpus, weights)
    if TRIANGLES in templates:
        types = observations.edge_types
        tables[TRIANGLES] = count_triangles(structure, types, labels, weights)
    return tables


def _count_attributes(corpus: LabelledObservations, weights: np.ndarray) -> Table:
    """How much of each attribute occurred with each label."""
    labels, n_tokens = corpus.labels, len(corpus.labels)
    shape = n_tokens, int(labels.max(initial=-1)) + 1
    weights = np.ascontiguousarray(weights)
    gold = sp.csr_array((weights, labels, np.arange(n_tokens + 1)), shape=shape)
    counts = sp.coo_array((corpus.observations.attributes.T @ gold).tocsr())
    used = counts.data != 0
    events = np.stack([counts.coords[0][used], counts.coords[1][used]], axis=1)
    order = np.lexsort(events.T[::-1])
    return Table(events[order].astype(np.int32), counts.data[used][order])
