"""Predictions for training data, each by a model of the other data."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial, reduce
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sklearn.model_selection import LeaveOneGroupOut, LeaveOneOut, check_cv

from ...base.batch_values import check_shared_scores, marginals
from ...base.batches import Batch
from ...base.given_labels import GivenLabels
from ...counts import Counts
from ...counts.counter import LabelledObservations, count_corpus, count_folds_of_corpus
from ...data.layout import Layout, Lists, Sequences
from ...data.ragged import SequenceArray, joined_ranges
from ...labels.encoding import LabelIds
from ...labels.segments.schemes import scheme_of
from ...structures import Scores, Structure
from .left_out import MANY_FOLDS, has_rows, left_out_by_rows


class LogProbabilities(NamedTuple):
    """Log-probabilities of given labels, by models that have not seen the sequence.

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

    def of_given(
        self,
        corpus: LabelledCorpus,
        function: Callable[..., Any],
        structure: Structure,
        scores: Scores,
        first: int,
    ) -> Any:
        """Return a function of the given labels of a batch, such as how probable they are."""
        begin = self.structure.offsets[first]
        tokens = self.tokens(corpus)[begin : begin + structure.n_tokens]
        return function(structure, scores, first, tokens, self.estimator.classes_)

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
    groups = None if groups is None else groups_of_sequences(groups, sequences)
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


def groups_of_sequences(groups: Any, sequences: Sequences) -> np.ndarray:
    """Return the group of each sequence, which may be given for each row of a table.

    Raises
    ------
    ValueError
        If ``groups`` does not fit, or divides a sequence.
    """
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
    try:
        np.unique(groups)
    except TypeError as error:
        raise ValueError(f"groups must be numbers or strings, not both or None: {error}") from error
    return groups


def left_out(
    estimators: Sequence[Any], corpus: LabelledCorpus, fold: np.ndarray
) -> Iterator[tuple[int, LeftOut]]:
    """Yield the sequences of all folds, with each estimator fitted to the other folds.

    All folds are counted in one pass, then the counts of one fold at a time are subtracted.

    Parameters
    ----------
    estimators : sequence of EmpiricalCRF
        Which know the symbols and labels of the corpus, and differ in ``sigma``, ``mu_oov`` and
        ``order`` at most. They change from fold to fold.
    corpus : LabelledCorpus
    fold : int64 ndarray of shape (n_sequences,)
        As of :func:`folds_of`.

    Yields
    ------
    number : int
        Which estimator.
    part : LeftOut
    """
    templates = [*dict.fromkeys(chain.from_iterable(e._templates() for e in estimators))]
    chosen, n_folds = np.arange(0), int(fold.max(initial=-1)) + 1
    if n_folds >= MANY_FOLDS:
        counts = count_corpus(corpus.observations, templates)
        first, *others_like_it = estimators
        first._estimate(counts)
        if has_rows(first):
            for estimator in others_like_it:  # exponents and labels do not depend on sigma
                estimator._estimate_like(first)
            chosen = _folds_without_own_labels(corpus, fold)
            for number, *part in left_out_by_rows(
                estimators, corpus.X, corpus.observations, counts, fold, chosen
            ):
                yield number, LeftOut(*part)
    others = np.setdiff1d(np.arange(n_folds), chosen)
    if len(others) == 0:
        return
    # All folds but the others are one fold more.
    place = np.searchsorted(others, fold)
    numbered = np.where(others[np.minimum(place, len(others) - 1)] == fold, place, len(others))
    folds = count_folds_of_corpus(corpus.observations, templates, numbered)
    total = reduce(Counts.__add__, folds)
    for number, counts in enumerate(folds[: len(others)]):
        sequences, left = np.flatnonzero(numbered == number), total - counts
        X, fitted = corpus.X[sequences], dict[float, tuple[Any, Any]]()
        for i, estimator in enumerate(estimators):
            if estimator.sigma in fitted:
                like, prepared = fitted[estimator.sigma]
                estimator._estimate_like(like)
            else:
                estimator._estimate(left)
                estimator.model_.word_tagger = False  # making it would take longer than it saves
                prepared = estimator._prepare(X)
                fitted[estimator.sigma] = estimator, prepared
            yield i, LeftOut(estimator, prepared, estimator._structure(X), sequences)


def _folds_without_own_labels(corpus: LabelledCorpus, fold: np.ndarray) -> np.ndarray:
    """Return the folds without which all labels still occur."""
    _, labels, weights = corpus.observations
    n_labels, has_weight = int(labels.max()) + 1, weights > 0
    of_token = np.repeat(fold, corpus.X.lengths)[has_weight]
    pairs, n_pairs = np.unique(of_token * n_labels + labels[has_weight], return_counts=True)
    of_pair, label = np.divmod(pairs, n_labels)
    n_of_label = np.bincount(label, n_pairs, n_labels)
    return np.setdiff1d(np.unique(fold), of_pair[n_pairs == n_of_label[label]])


def are_elsewhere(ids: np.ndarray, corpus: LabelledCorpus, fold: np.ndarray) -> np.ndarray:
    """Tell which symbols of tokens are also in other folds, where tokens have weights.

    Parameters
    ----------
    ids : int ndarray of shape (n_tokens,)
        Not negative.
    corpus : LabelledCorpus
    fold : int64 ndarray of shape (n_sequences,)

    Returns
    -------
    bool ndarray of shape (n_tokens,)
    """
    has_weight = corpus.observations.weights > 0
    pairs = np.repeat(fold, corpus.X.lengths) * (ids.max(initial=0) + 1) + ids
    (_, of_ids, n_ids), (_, of_pairs, n_pairs) = (
        np.unique(values, return_inverse=True, return_counts=True) for values in (ids, pairs)
    )
    n_ids, n_pairs = np.bincount(of_ids, has_weight), np.bincount(of_pairs, has_weight)
    return n_ids[of_ids] > n_pairs[of_pairs]


class Answer(ABC):
    """What is asked of all sequences, while they are left out part by part.

    Parameters
    ----------
    corpus : LabelledCorpus
    """

    def __init__(self, corpus: LabelledCorpus):
        self._corpus = corpus
        self._start()

    @abstractmethod
    def _start(self) -> None:
        """Make space for the values of all sequences."""

    @abstractmethod
    def add(self, part: LeftOut) -> None:
        """Take in the values of some sequences."""

    @abstractmethod
    def result(self) -> Any:
        """Return the values of all sequences."""


class Labels(Answer):
    """The labels of the best paths, in the layout of X."""

    def _start(self) -> None:
        self.found = np.empty(len(self._corpus.y.ids), dtype=object)  # lists share its strings

    def add(self, part: LeftOut) -> None:
        found = np.concatenate(part.map(part.estimator._decode))
        self.found[part.tokens(self._corpus)] = part.estimator.classes_.astype(object)[found]

    def result(self) -> Any:
        layout, dtype = self._corpus.layout, self._corpus.y.classes.dtype
        return layout(self.found if isinstance(layout, Lists) else self.found.astype(dtype))


class Probabilities(Answer):
    """The probabilities of all labels of each token, in the layout of X."""

    def _start(self) -> None:
        y = self._corpus.y
        self.found = np.zeros((len(y.ids), len(y.classes)))

    def add(self, part: LeftOut) -> None:
        found = zip(*part.map(marginals), strict=True)
        log_z, probability = (np.concatenate(values) for values in found)
        impossible = part.sequences[np.isneginf(log_z)]
        if len(impossible):
            raise ValueError(f"no path of sequence {impossible[0]} is possible")
        columns = np.flatnonzero(np.isin(self._corpus.y.classes, part.estimator.classes_))
        self.found[np.ix_(part.tokens(self._corpus), columns)] = probability

    def result(self) -> Any:
        return self._corpus.layout(self.found)


class LogProba(Answer):
    """How probable the given labels are, as :class:`LogProbabilities`."""

    def _start(self) -> None:
        n = len(self._corpus.X)
        self._tokens, self._sequences = np.empty(len(self._corpus.y.ids)), np.empty(n)
        self._segments: list[list[tuple]] = [[] for _ in range(n)]
        self._have_segments = True

    def add(self, part: LeftOut) -> None:
        y = self._corpus.y
        found = part.map(partial(part.of_given, self._corpus, y.log_proba))
        self._tokens[part.tokens(self._corpus)] = np.concatenate([own.tokens for own in found])
        self._sequences[part.sequences] = np.concatenate([own.sequences for own in found])
        for number, segments in part.by_number(own.segments for own in found):
            self._segments[number] = segments
        self._have_segments &= y.have_segments(part.structure)

    def result(self) -> LogProbabilities:
        segments = self._segments if self._have_segments else None
        return LogProbabilities(self._corpus.layout(self._tokens), segments, self._sequences)


class SequenceLogProba(Answer):
    """How probable the given labels of each sequence are together."""

    def _start(self) -> None:
        self.found = np.empty(len(self._corpus.X))

    def add(self, part: LeftOut) -> None:
        of_given = self._corpus.y.sequence_log_proba
        found = part.map(partial(part.of_given, self._corpus, of_given))
        self.found[part.sequences] = np.concatenate(found)

    def result(self) -> np.ndarray:
        return self.found


class Spans(Answer):
    """The segments of the best paths, with their probabilities."""

    def _start(self) -> None:
        self._scheme = scheme_of(self._corpus.y.classes.tolist())
        self.found: list[list[tuple]] = [[] for _ in range(len(self._corpus.X))]

    def add(self, part: LeftOut) -> None:
        part.structure.require(["span_log_probability"], type(part.estimator).__name__)
        found = part.map(partial(part.estimator._spans, scheme=self._scheme))
        for number, spans in part.by_number(found):
            self.found[number] = spans

    def result(self) -> list[list[tuple]]:
        return self.found


Kind = TypeVar("Kind", bound=Answer)
METHODS: dict[str, type[Answer]] = {
    "predict": Labels,
    "predict_proba": Probabilities,
    "log_proba": LogProba,
    "spans": Spans,
}


def answers_of(
    kind: type[Kind], estimators: Sequence[Any], corpus: LabelledCorpus, fold: np.ndarray
) -> list[Kind]:
    """Return what each estimator says of all sequences, each fold left out in turn."""
    answers = [kind(corpus) for _ in estimators]
    for number, part in left_out(estimators, corpus, fold):
        answers[number].add(part)
    return answers
