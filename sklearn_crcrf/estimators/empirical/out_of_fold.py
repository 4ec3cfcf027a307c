"""Predictions for training data, each by a model of the other data."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial, reduce
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import LeaveOneGroupOut, LeaveOneOut, check_cv

from ...base.batch_values import check_shared_scores, marginals
from ...base.batches import Batch
from ...base.given_labels import GivenLabels, GivenLogProba
from ...counts import Counts
from ...counts.counter import LabelledObservations, count_folds_of_corpus
from ...data.layout import Layout, Sequences
from ...data.ragged import SequenceArray, joined_ranges
from ...labels.encoding import LabelIds
from ...labels.segments.schemes import scheme_of
from ...structures import Scores, Structure


class LogProbabilities(NamedTuple):
    """How probable a given labelling is.

    Attributes
    ----------
    tokens : values of tokens, in the layout of X
        The log-probability of the label of each token; NaN for an unknown label.
    segments : list of lists of (start, end, type, log-probability), or None
        The segments of each sequence; ``end`` is the position after the last token. The
        probability is that these tokens have their labels and that the segment neither starts
        earlier nor ends later. Unknown labels belong to no segment. None if labels do not spell
        segments, or if X has other links than sequences.
    sequences : ndarray of shape (n_sequences,)
        The log-probability of all known labels of each sequence together; 0 if there are none.

    Examples
    --------
    >>> from sklearn_crcrf import EmpiricalCRF
    >>> X, y = [["Ann", "left"], ["Bo", "left"]] * 2, [["B-PER", "O"], ["B-PER", "O"]] * 2
    >>> given = EmpiricalCRF().predict_out_of_fold(X, y, cv=2, method="log_proba")
    >>> start, end, kind, log_probability = given.segments[0][0]
    >>> start, end, kind, -0.3 < log_probability < 0
    (0, 1, 'PER', True)
    """

    tokens: Any
    segments: list[list[tuple]] | None
    sequences: np.ndarray


class LabelledCorpus(NamedTuple):
    """Training data, encoded.

    Parameters
    ----------
    X : SequenceArray
    observations : LabelledObservations
    y : GivenLabels
    layout : Layout
        Of the container that X came in.
    """

    X: SequenceArray
    observations: LabelledObservations
    y: GivenLabels
    layout: Layout


class LeftOut(NamedTuple):
    """Sequences to label, and an estimator whose scores do not depend on their labels.

    Parameters
    ----------
    estimator : EmpiricalCRF
        Its classes may lack labels that only these sequences have.
    prepared : what its ``_scores`` takes
    structure : Structure
        Of these sequences.
    sequences : int ndarray
        Their numbers.
    """

    estimator: Any
    prepared: Any
    structure: Structure
    sequences: np.ndarray

    def map(self, function: Callable[[Structure, Scores, int], Any]) -> list:
        """Apply a function to the scores of every batch, in order.

        It takes the structure and scores of a batch, and the place of its first sequence.
        """

        def run(batch: Batch) -> Any:
            scores = self.estimator._scores(self.prepared, batch)
            check_shared_scores(scores)
            return function(batch.structure, scores, batch.first)

        return self.estimator._in_batches(self.structure, run)

    def log_proba(
        self, corpus: LabelledCorpus, structure: Structure, scores: Scores, first: int
    ) -> GivenLogProba:
        """Return how probable the given labels of a batch are."""
        begin = self.structure.offsets[first]
        tokens = self.tokens(corpus)[begin : begin + structure.n_tokens]
        return corpus.y.log_proba(structure, scores, first, tokens, self.estimator.classes_)

    def tokens(self, corpus: LabelledCorpus) -> np.ndarray:
        """Return the numbers of the tokens of the sequences."""
        begins, lengths = corpus.X.offsets[self.sequences], corpus.X.lengths[self.sequences]
        return joined_ranges(begins, lengths)

    def by_number(self, of_batches: Iterable[list]) -> Iterator[tuple[int, Any]]:
        """Yield the number of each sequence, with its value from lists of batches."""
        return zip(self.sequences.tolist(), chain.from_iterable(of_batches), strict=True)


def read_corpus(estimator: Any, sequences: Sequences, weights: np.ndarray) -> LabelledCorpus:
    """Encode training data; the estimator then knows all its symbols and labels."""
    observations = estimator._start(sequences, weights, LabelIds())
    classes = estimator._counter.label_ids.classes(observations.labels)[0]
    given = GivenLabels(sequences.y, classes)
    return LabelledCorpus(sequences.X, observations, given, sequences.mirror)


def folds_of(cv: Any, sequences: Sequences, groups: Any = None) -> np.ndarray:
    """Return the fold in which each sequence is tested.

    Parameters
    ----------
    cv : int, splitter or iterable of splits
    sequences : Sequences
    groups : array-like, optional
        The group of each sequence, or of each row of a table.

    Returns
    -------
    int64 ndarray of shape (n_sequences,)
        From 0 on.

    Raises
    ------
    ValueError
        If a sequence is not in exactly one test set, or ``groups`` does not fit.
    """
    n = len(sequences.X)
    groups = None if groups is None else _groups_of_sequences(groups, sequences)
    # The splits of these list the training sequences of each fold, which takes long for many folds.
    if type(cv) is LeaveOneOut and n > 1:
        return np.arange(n)
    if type(cv) is LeaveOneGroupOut and groups is not None and len(np.unique(groups)) > 1:
        return np.unique(groups, return_inverse=True)[1]
    tests = [test for _, test in check_cv(cv).split(np.empty(n), groups=groups)]
    if not np.array_equal(np.sort(np.concatenate(tests)), np.arange(n)):
        raise ValueError("cv must put every sequence into exactly one test set")
    fold = np.empty(n, dtype=np.int64)
    for number, test in enumerate(tests):
        fold[test] = number
    return fold


def _groups_of_sequences(groups: Any, sequences: Sequences) -> np.ndarray:
    offsets = sequences.X.offsets
    if sequences.mirror.is_table:
        of_rows = sequences.mirror.flat(groups, "groups")
        groups = of_rows.data[offsets[:-1]]
        torn = np.flatnonzero(of_rows.data != np.repeat(groups, of_rows.lengths))
        if len(torn):
            sequence = int(np.searchsorted(offsets, torn[0], side="right")) - 1
            raise ValueError(f"groups: the rows of sequence {sequence} are in several groups")
        return groups
    groups = np.asarray(groups)
    if groups.shape != (len(sequences.X),):
        raise ValueError(
            f"groups must hold the group of each of {len(sequences.X)} sequences, but has shape "
            f"{groups.shape}"
        )
    return groups


def left_out(estimator: Any, corpus: LabelledCorpus, fold: np.ndarray) -> Iterator[LeftOut]:
    """Yield the sequences of all folds, each with an estimator fitted to the other folds.

    All folds are counted in one pass, then the counts of one fold at a time are subtracted.

    Parameters
    ----------
    estimator : EmpiricalCRF
        Which has read the corpus. It changes from fold to fold.
    corpus : LabelledCorpus
    fold : int64 ndarray of shape (n_sequences,)
        As of :func:`folds_of`.
    """
    folds = count_folds_of_corpus(corpus.observations, estimator._templates(), fold)
    total = reduce(Counts.__add__, folds)
    for number, counts in enumerate(folds):
        estimator._estimate(total - counts)
        estimator.model_.word_tagger = False  # it would take longer to make than it saves here
        sequences = np.flatnonzero(fold == number)
        X = corpus.X[sequences]
        yield LeftOut(estimator, estimator._prepare(X), estimator._structure(X), sequences)


def best_labels(corpus: LabelledCorpus, parts: Iterable[LeftOut]) -> Any:
    """Return the labels of the best paths, in the layout of X."""
    classes = corpus.y.classes
    predicted = np.empty(len(corpus.y.ids), dtype=classes.dtype)
    for part in parts:
        found = np.concatenate(part.map(part.estimator._decode))
        predicted[part.tokens(corpus)] = part.estimator.classes_[found]
    return corpus.layout(predicted)


def probabilities(corpus: LabelledCorpus, parts: Iterable[LeftOut]) -> Any:
    """Return the probabilities of all labels of each token, in the layout of X."""
    classes = corpus.y.classes
    predicted = np.zeros((len(corpus.y.ids), len(classes)))
    for part in parts:
        found = zip(*part.map(marginals), strict=True)
        log_z, probability = (np.concatenate(values) for values in found)
        impossible = part.sequences[np.isneginf(log_z)]
        if len(impossible):
            raise ValueError(f"no path of sequence {impossible[0]} is possible")
        columns = np.flatnonzero(np.isin(classes, part.estimator.classes_))
        predicted[np.ix_(part.tokens(corpus), columns)] = probability
    return corpus.layout(predicted)


def log_probabilities(corpus: LabelledCorpus, parts: Iterable[LeftOut]) -> LogProbabilities:
    """Return how probable the given labels are."""
    tokens, sequences = np.empty(len(corpus.y.ids)), np.empty(len(corpus.X))
    segments: list[list[tuple]] = [[] for _ in range(len(corpus.X))]
    have_segments = True
    for part in parts:
        found = part.map(partial(part.log_proba, corpus))
        tokens[part.tokens(corpus)] = np.concatenate([batch.tokens for batch in found])
        sequences[part.sequences] = np.concatenate([batch.sequences for batch in found])
        for number, of_sequence in part.by_number(batch.segments for batch in found):
            segments[number] = of_sequence
        have_segments &= corpus.y.have_segments(part.structure)
    return LogProbabilities(corpus.layout(tokens), segments if have_segments else None, sequences)


def spans(corpus: LabelledCorpus, parts: Iterable[LeftOut]) -> list[list[tuple]]:
    """Return the segments of the best paths, with their probabilities."""
    scheme = scheme_of(corpus.y.classes.tolist())
    predicted: list[list[tuple]] = [[] for _ in range(len(corpus.X))]
    for part in parts:
        part.structure.require(["span_log_probability"], type(part.estimator).__name__)
        found = part.map(partial(part.estimator._spans, scheme=scheme))
        for number, of_sequence in part.by_number(found):
            predicted[number] = of_sequence
    return predicted


METHODS: dict[str, Callable[[LabelledCorpus, Iterable[LeftOut]], Any]] = {
    "predict": best_labels,
    "predict_proba": probabilities,
    "log_proba": log_probabilities,
    "spans": spans,
}
