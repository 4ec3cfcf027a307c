"""A model that is at any time what a fit of the annotations would give."""

from collections import Counter
from collections.abc import Sequence
from copy import copy

from sklearn.base import clone

from ...estimators.empirical import EmpiricalCRF
from .annotations import Annotation, Change

Labelled = tuple[tuple[str, ...], tuple[str, ...]]


class Learner:
    """Counts annotations, and forgets them.

    Parameters
    ----------
    start : EmpiricalCRF
        Where counting starts: a fitted model, or one that is not fitted. It does not change.
    gold : sequence of label lists, optional
        Labels of all sentences of the pool, which ``start`` has counted. The labels of a sentence
        are forgotten as long as an annotation stands for it.

    Attributes
    ----------
    model : EmpiricalCRF or None
        A model that does not change any more; None as long as nothing is counted.
    labels : list of label lists, or None
        What is counted of each sentence of the pool, if there are gold labels.
    """

    def __init__(self, start: EmpiricalCRF, gold: Sequence[Sequence[str]] | None = None):
        self._start, self._gold = start, gold
        self._starts_empty = not hasattr(start, "counts_")
        self._n_counted = 0
        self.labels = None if gold is None else [list(labels) for labels in gold]
        self.model: EmpiricalCRF | None = None if self._starts_empty else start

    def take(self, changes: Sequence[Change]) -> None:
        """Learn and forget what changed, with a copy that takes the place of the model."""
        difference: Counter[Labelled] = Counter()
        for before, after in changes:
            known = before or after
            if known is not None:
                counted = self._counted(after, known)
                difference.update(counted)
                difference.subtract(self._counted(before, known))
                if self.labels is not None:
                    ((_, labels),) = counted
                    self.labels[known.sentence] = list(labels)
        learned, forgotten = list((+difference).elements()), list((-difference).elements())
        n_counted = self._n_counted + len(learned) - len(forgotten)
        if self._starts_empty and n_counted == 0:
            self.model, self._n_counted = None, 0
            return
        model = clone(self._start) if self.model is None else copy(self.model)
        if learned:  # first, since a model cannot forget all that it has counted
            model.partial_fit(*_lists(learned))
        if forgotten:
            model.forget(*_lists(forgotten))
        self.model, self._n_counted = model, n_counted

    def _counted(self, annotation: Annotation | None, known: Annotation) -> list[Labelled]:
        """Return what is counted for the sentence of ``known`` if an annotation stands, or none."""
        if annotation is not None:
            return [(annotation.tokens, annotation.labels)]
        if self._gold is None:
            return []
        return [(known.tokens, tuple(self._gold[known.sentence]))]


def _lists(labelled: Sequence[Labelled]) -> tuple[list[list[str]], list[list[str]]]:
    X, y = zip(*labelled, strict=True)
    return [list(tokens) for tokens in X], [list(labels) for labels in y]
