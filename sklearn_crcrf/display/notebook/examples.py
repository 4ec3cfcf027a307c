"""The training sequences without which a decision would change most."""

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...base.batch_values import log_partition
from ...base.batches import Batch
from ...base.unwrap import unwrap
from ...counts.classifier import CountingClassifier
from ...counts.counter import count_corpus
from ...counts.observations import ATTRIBUTES
from ...counts.prepared import Prepared
from ...data.ragged import SequenceArray
from ...data.sequences import as_sequences
from ...structures import Scores, Structure
from ._markup import Markup, NotebookDisplay, element
from .single import token_texts
from .tagged import TaggedSequence


class Decision(NamedTuple):
    """A labelling of one sequence, perhaps rather than another one.

    Parameters
    ----------
    estimator : fitted sequence classifier, or a pipeline or search that ends in one
    X : SequenceArray
        The sequence, after the steps before the classifier.
    labels : list of labels
    against : list of labels or None
    """

    estimator: Any
    X: SequenceArray
    labels: list
    against: list | None

    def values(self, classifier: Any, structure: Structure, scores: Scores) -> np.ndarray:
        """Compute the log-odds of the decision, or its log-probability, for each unit.

        Parameters
        ----------
        classifier : sequence classifier
            It may lack some of the labels: they have the probability 0.
        structure : Structure
            Each unit is this sequence.
        scores : Scores
        """
        own = self._scores(self.labels, classifier, structure, scores)
        if self.against is None:
            return own - log_partition(structure, scores, 0)
        other = self._scores(self.against, classifier, structure, scores)
        return np.where(np.isneginf(own), own, own - other)

    def compared(self, classes: np.ndarray) -> np.ndarray:
        """Tell which labels are compared at which tokens, bool of shape (n_tokens, n_labels).

        These are both labels of each token that is decided on, and of the tokens beside it; or all
        labels of all tokens, if there is no other labelling.
        """
        shape = len(self.labels), len(classes)
        if self.against is None:
            return np.ones(shape, dtype=bool)
        both = np.stack([numbered(labels, classes) for labels in (self.labels, self.against)])
        differ = np.pad(both[0] != both[1], 1)
        tokens = np.flatnonzero(differ[:-2] | differ[1:-1] | differ[2:])
        compared = np.zeros(shape, dtype=bool)
        compared[tokens, both[:, tokens]] = True
        return compared

    def _scores(
        self, labels: list, classifier: Any, structure: Structure, scores: Scores
    ) -> np.ndarray:
        y = numbered(labels, classifier.classes_)
        if (y < 0).any():
            return np.full(structure.n_units, -np.inf)
        return structure.score(scores, np.tile(y.astype(np.int32), structure.n_units))[0]


@dataclass(eq=False, repr=False)
class TrainingExamples(NotebookDisplay):
    """Training sequences without which a decision would change most.

    ``explain(...).by_examples`` makes it. The effect of a sequence is the log-odds, or the
    log-probability, of the decision minus what it would be by a fit without the sequence.

    Parameters
    ----------
    value : float
        The log-odds of the decision, or its log-probability.
    has_other : bool
        Whether ``value`` is the log-odds of two labellings.
    sequences : int64 ndarray of shape (n_examples,)
        Their numbers in the training data, the largest effects first.
    effects : ndarray of shape (n_examples,)
        Positive where a sequence speaks for the decision; infinite where a label occurs nowhere
        else.
    tokens : list of n_examples lists of str
        The tokens of each sequence.
    labels : list of n_examples lists of labels
        Their labels in the training data.
    classes : ndarray of shape (n_labels,)
        All labels of the model.

    Examples
    --------
    >>> from sklearn_crcrf import EmpiricalCRF, explain
    >>> X = [["the", "dog", "walks"], ["a", "cat", "sleeps"], ["dogs", "sleep"]]
    >>> y = [["D", "N", "V"], ["D", "N", "V"], ["N", "V"]]
    >>> examples = explain(EmpiricalCRF().fit(X, y), ["the", "cat"]).by_examples(X, y, k=2)
    >>> examples.sequences, examples.effects.round(3)
    (array([1, 0]), array([0.49 , 0.407]))
    """

    value: float
    has_other: bool
    sequences: np.ndarray
    effects: np.ndarray
    tokens: list[list[str]]
    labels: list[list]
    classes: np.ndarray

    @classmethod
    def of(
        cls,
        decision: Decision,
        X: Any,
        y: Any,
        k: int,
        sample_weight: Any,
        n_candidates: int | None,
    ) -> "TrainingExamples":
        """Find the sequences, as ``explain(...).by_examples`` does."""
        classifier, inner = unwrap(decision.estimator, X)
        if not isinstance(classifier, CountingClassifier):
            raise ValueError(
                "by_examples needs a model that is trained by counting, as EmpiricalCRF and HMM, "
                f"but the classifier is a {type(classifier).__name__}: no sequence can be "
                "subtracted from its weights"
            )
        reader, fitted = copy(classifier), copy(classifier)
        sequences, corpus = reader._read_again(inner, y, sample_weight)
        templates = [template for template in fitted.counts_ if template != ATTRIBUTES]
        _ = fitted.counts_ - count_corpus(corpus, templates)  # an error if some were not counted
        one, every = fitted._prepare(decision.X), fitted._prepare(sequences.X)
        classes, labels = fitted.classes_, sequences.y.data.tolist()
        of_tokens = numbered(labels, classes)
        compared = decision.compared(classes)
        shared = shared_evidence(one, compared, every, of_tokens, corpus.offsets)
        candidates = np.sort(np.argsort(-shared, kind="stable")[:n_candidates])
        value, effects = _value(fitted, decision, one), np.zeros(len(shared))
        for numbers, without, structure, scores in reader._scores_without(
            decision.X, corpus, candidates
        ):
            effects[numbers] = value - decision.values(without, structure, scores)
        best = candidates[np.argsort(-np.abs(effects[candidates]), kind="stable")[:k]]
        outer = as_sequences(X).X
        texts = token_texts(outer, getattr(classifier, "observation_", None))
        bounds = [corpus.offsets[i : i + 2].tolist() for i in best]
        tokens = [texts[begin:end] for begin, end in bounds]
        own = [labels[begin:end] for begin, end in bounds]
        has_other = decision.against is not None
        return cls(value, has_other, best, effects[best], tokens, own, classes)

    def to_frame(self) -> Any:
        """Return the examples as a pandas DataFrame.

        Returns
        -------
        DataFrame
            With the columns sequence, effect, tokens and labels.
        """
        import pandas as pd

        columns = {"sequence": self.sequences, "effect": self.effects}
        return pd.DataFrame({**columns, "tokens": self.tokens, "labels": self.labels})

    def __str__(self) -> str:
        lines = [self._summary()]
        for number, effect, shown in self._all():
            lines.append(f"{effect:+.3f} sequence {number}")
            lines += [f"  {line}" for line in str(shown).splitlines()]
        return "\n".join(lines)

    def _summary(self) -> str:
        name = "log-odds" if self.has_other else "log-probability"
        return f"{name} {self.value:+.3f}, to which training sequences add most:"

    def _all(self) -> Iterator[tuple[int, float, TaggedSequence]]:
        numbers, effects = self.sequences.tolist(), self.effects.tolist()
        for number, effect, tokens, labels in zip(
            numbers, effects, self.tokens, self.labels, strict=True
        ):
            scheme = None if None in labels else "auto"
            shown = TaggedSequence(tokens, labels, classes=self.classes, scheme=scheme)
            yield number, effect, shown

    def _body(self) -> list[Markup]:
        largest = np.abs(self.effects[np.isfinite(self.effects)]).max(initial=0.0) or 1.0
        rows = []
        for number, effect, shown in self._all():
            share = min(abs(effect) / largest, 1.0)
            minus = "minus" if effect < 0 else None
            bar = element("i", style=f"width:{100 * share:.1f}%", class_=minus)
            head = element("th", f"Sequence {number}"), element("td", class_="quiet")
            total = element("td", f"{effect:+.3f}", class_="number")
            rows.append(element("tr", *head, total, element("td", bar, class_="bar")))
            rows.append(element("tr", element("td", shown._main(), colspan=4)))
        return [element("p", self._summary()), element("table", *rows)]


def numbered(labels: list, classes: np.ndarray) -> np.ndarray:
    """Return the places of labels among the classes, -1 of others."""
    place = {label: i for i, label in enumerate(classes.tolist())}
    return np.array([place.get(label, -1) for label in labels], dtype=np.int64)


def shared_evidence(
    one: Prepared, compared: np.ndarray, every: Prepared, labels: np.ndarray, offsets: np.ndarray
) -> np.ndarray:
    """Sum what sequences have in common with one, each divided by how many tokens have it.

    What they may have in common is an attribute of a token together with one of the labels that are
    compared at the token: without one of n such tokens a weight changes by about 1 / n.

    Parameters
    ----------
    one : Prepared
        One sequence.
    compared : bool ndarray of shape (n_tokens, n_labels)
    every : Prepared
        All sequences.
    labels : int64 ndarray of shape (n_all_tokens,)
        Their labels, -1 where there is none.
    offsets : ndarray of shape (n_sequences + 1,)
        Where they begin among all tokens.

    Returns
    -------
    ndarray of shape (n_sequences,)
    """
    shared, n_labels = np.zeros(len(labels)), compared.shape[1]
    pairs = [(one.rows, every.rows)]
    if one.attributes is not None:
        pairs.append((_padded(one.attributes), _padded(every.attributes)))
    for own, rows in pairs:
        known = np.unique(own[own >= 0])
        place = np.full(max(own.max(initial=0), rows.max(initial=0)) + 2, -1)  # the last is of -1
        place[known] = np.arange(len(known))
        token, slot = np.nonzero((place[rows] >= 0) & (labels >= 0)[:, None])
        event = place[rows[token, slot]] * n_labels + labels[token]
        is_wanted = np.zeros((len(known), n_labels), dtype=bool)
        for of_slot in own.T:
            has = of_slot >= 0
            np.logical_or.at(is_wanted, place[of_slot[has]], compared[has])
        times = np.bincount(event, minlength=is_wanted.size)
        shared += np.bincount(token, (is_wanted.ravel() / np.maximum(times, 1))[event], len(shared))
    sequence = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return np.bincount(sequence, shared, len(offsets) - 1)


def _padded(attributes: Any) -> np.ndarray:
    """List the attributes of each token, -1 after the last one."""
    lengths = np.diff(attributes.indptr)
    rows = np.full((len(lengths), lengths.max(initial=0)), -1)
    rows[np.arange(rows.shape[1]) < lengths[:, None]] = attributes.indices
    return rows


def _value(classifier: Any, decision: Decision, prepared: Prepared) -> float:
    """Compute the log-odds, or the log-probability, of a decision by all data."""
    structure = classifier._structure(decision.X)
    scores = classifier._scores(prepared, Batch(0, structure.n_tokens, structure, 0))
    return float(decision.values(classifier, structure, scores)[0])
