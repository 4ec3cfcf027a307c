"""Base of the classifiers that are trained by counting."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from copy import copy
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from sklearn.base import _fit_context, clone

from ..base.batches import Batch
from ..base.classifier import BaseSequenceClassifier
from ..base.docstrings import documented
from ..base.no_tokens import NoTokensError, may_bring_no_tokens
from ..base.weights import NamedWeights
from ..data.layout import Sequences
from ..data.ragged import SequenceArray, n_tokens
from ..labels.encoding import LabelIds
from ..labels.soft import GivenProbabilities, declared_labels, soft_labels
from ..out_of_core import CorpusFolder
from ..out_of_core.corpus_folder import refuse_what_needs_all
from ..structures import Scores, Structure, structure_of
from ..utils.memory import release_freed_memory
from ..utils.replaced_parts import check_fitted, check_parts, parameter_names, remember_parts
from ..utils.soundness import Fact, Requirement, below, labels
from .counter import Counter, LabelledObservations, Spelling, count_corpus, planned
from .counts import Counts, Template
from .observations import ATTRIBUTES, Encoder, Observations, Plan, Tokens
from .parts import PartialCounts, PartialSums, merge
from .pending import PENDING, Change, LiveRows, Pending
from .purging import Receipt, purged, without_uncounted
from .renumbering import renumber
from .tabulator import Tabulator

INPUTS = ("n_features_in_", "feature_names_in_")


RECEIPT = "receipt_"
"""The attribute that says what was purged; no file has it."""


@documented
class CountingClassifier(BaseSequenceClassifier):
    """Base of the classifiers that are trained by counting.

    Counts add up, so data may arrive in batches, and may be removed again. What turns data into
    counts is a :class:`Counter` that it has. A subclass names what is counted, in
    :meth:`_templates`, and computes its weights from the counts, in :meth:`_estimate`. It has the
    parameters ``binning``, ``sample_unit`` and ``n_jobs``.

    After :meth:`partial_fit` it has none of its fitted attributes, but ``_pending_``, and
    ``classes_`` after a small change: the others are computed when one of them is read.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels, in the order of the columns of probabilities.
    counts_ : Counts
    receipt_ : Receipt
    _counter : Counter
    _private_estimates : tuple of str
        The names of fitted attributes that do not end with an underscore.
    """

    _private_estimates: tuple[str, ...] = ("_counter",)
    _counter: Counter
    receipt_: Receipt

    @abstractmethod
    def _templates(self) -> list[Template]:
        """List the templates of the events that are counted."""

    @abstractmethod
    def _estimate(self, counts: Counts) -> None:
        """Compute the fitted attributes from the counts."""

    @abstractmethod
    def _named_weights(self) -> NamedWeights:
        """Name the weights of single attributes as a CRF does."""

    @property
    def tabulator_(self) -> Tabulator:
        """What turns X into columns of symbols."""
        return self._counter.plan.tabulator

    @property
    def encoder_(self) -> Encoder:
        """What numbers the symbols of all columns."""
        return self._counter.encoder

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        labels: Any = None,
        pair_marginals: Any = None,
    ) -> Self:
        """Count the labelled sequences, and estimate all weights from the counts.

        Parameters
        ----------
        X : list of sequences, SequenceArray, 2-D array, CSR or DataFrame
            Sequences of token strings, of feature dicts, or of rows of numbers; the rows of a
            2-D array are sequences of one token, and a DataFrame with the index
            (sequence, position) has a token in each row. An entry of a sparse matrix is the
            number of occurrences of an attribute, so it must not be negative. Or a
            :class:`~sklearn_crcrf.out_of_core.CorpusFolder`, which has the labels too, and of which
            one part is in memory at a time.
        y : list of label lists, SequenceArray or 1-D array
            Any hashable labels; tokens with the label None are not counted. Or probabilities of
            labels, of which expected numbers of events are counted: arrays of shape (n_tokens,
            n_labels), or a SequenceArray of such data, possibly CSR.
        sample_weight : array-like of shape (n_samples,), nested list or SequenceArray, optional
            One weight for each sequence, or for each row of a table, or for each token.
        {labels}
        {pair_marginals}

        Returns
        -------
        self
            If fitting fails or is interrupted, it stays as it was.

        Raises
        ------
        ValueError
            If there is no token, or input is not valid; the message says where.
        """
        y = soft_labels(y, labels, pair_marginals)
        if isinstance(X, CorpusFolder):
            refuse_what_needs_all(y, sample_weight, {})
            return self.fit_parts(X.labelled_parts("counting"))
        with self._replaced_by(self._unfitted()) as twin:
            twin._fit(X, y, sample_weight, None)
        return self

    @_fit_context(prefer_skip_nested_validation=False)
    def fit_parts(self, parts: Iterable[tuple]) -> Self:
        """Count the parts of a corpus one after another, and estimate once.

        The model is the same as after one :meth:`fit` to all parts, but only one of them is in
        memory at a time. The first part with tokens sets the columns and the bins of numeric
        columns. :func:`~sklearn_crcrf.counts.count` counts parts in other processes.

        Parameters
        ----------
        parts : iterable of (X, y) or (X, y, sample_weight)
            Each as in :meth:`fit`; some may have no tokens.

        Returns
        -------
        self
            If fitting fails or is interrupted, it stays as it was.

        Raises
        ------
        ValueError
            If no part has tokens, or one is not valid, or exponents are to be fitted, which needs
            all data at once.
        """
        sums = PartialSums()
        for part in parts:
            sums.add(self._counted(sums.plan, sums.encoder, *part))
        with self._replaced_by(self._unfitted()) as twin:
            counts = twin._adopt(sums.total())
            del sums  # with its vocabularies
            release_freed_memory()
            twin._estimate_in_order(counts)
        return self

    @may_bring_no_tokens
    @_fit_context(prefer_skip_nested_validation=False)
    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        sample_weight: Any = None,
        *,
        labels: Any = None,
        pair_marginals: Any = None,
    ) -> Self:
        """Count more data; the model is the same as after one fit to all data.

        The first call fixes what does not come from counts: which column holds the words (name it
        by the ``observation`` of EmpiricalCRF if the first data is small), the bins of numeric
        columns, and fitted exponents, if any. Weights are computed when they are needed next. After
        a small change, a default EmpiricalCRF predicts a few tokens from their counts alone.

        Parameters
        ----------
        X, y : as in :meth:`fit`
        classes : array-like of labels, optional
            In the first call: all labels that will ever occur, by default ``labels``. Without both,
            later calls may bring new labels.
        sample_weight, labels, pair_marginals : as in :meth:`fit`

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a label is not among the classes, ``classes`` differs from the first call, or X has
            columns that the first data did not have.
        """
        since, y = self.__dict__, soft_labels(y, labels, pair_marginals)
        is_first = {"counts_", PENDING}.isdisjoint(vars(self))
        if PENDING not in vars(self):
            self._validate_params()  # which scikit-learn leaves out after the first call
        if classes is None and not is_first and not isinstance(y, GivenProbabilities):
            X, y, sample_weight, pending = self._changed(X, y, sample_weight, 1.0)
            if pending is not None:
                self._postpone(pending, since)
                return self
        self._validate_params()
        self._check_can_change()
        if is_first:
            with self._replaced_by(self._unfitted(), since) as twin:
                twin._fit(X, y, sample_weight, classes)
            return self
        fitted, counts = self._so_far()
        if classes is not None:
            known = counts[0].label_ids
            for part in counts[1:]:
                known = known.joined(part.label_ids)[0]
            known.require(classes)
        more = fitted._more(X, y, sample_weight)
        counts[0].check_alike(more)
        counts = [*counts, more]
        while len(counts) > 2 and counts[-1].counts.n_events >= counts[-2].counts.n_events // 2:
            counts[-2:] = [merge(*counts[-2:])]  # so that there are few
        self._postpone(Pending(fitted, counts), since)
        return self

    @may_bring_no_tokens
    def forget(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        labels: Any = None,
        pair_marginals: Any = None,
        purge: bool = False,
    ) -> Self:
        """Remove counted data exactly: the model becomes as if it had never been counted.

        What the first fit fixed stays: which column holds the words, the bins of numeric columns,
        and fitted exponents, which :meth:`~sklearn_crcrf.EmpiricalCRF.refit_exponents` fits anew. A
        model file contains only strings that are still counted.

        Parameters
        ----------
        X, y, sample_weight, labels, pair_marginals
            The data to forget, as it was given to :meth:`fit` or :meth:`partial_fit`.
        purge : bool, default=False
            Whether to remove every trace: strings get ids in the order of their text, not of their
            occurrence, and keys of feature dicts that no token has any more are removed.
            ``receipt_`` then says what was removed.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If some of it was never counted, or nothing would be left.
        """
        if PENDING not in vars(self):
            check_fitted(self)
        since, y = self.__dict__, soft_labels(y, labels, pair_marginals)
        if not purge and not isinstance(y, GivenProbabilities):
            X, y, sample_weight, pending = self._changed(X, y, sample_weight, -1.0)
            if pending is not None:
                self._postpone(pending, since)
                return self
        fitted, counts = self._so_far()
        before, receipt = merge(*counts), None
        try:
            left = before.without(fitted._more(X, y, sample_weight))
        except NoTokensError:
            if not purge:
                raise
            left = before  # what was forgotten earlier may still be purged
        if purge and len(left.labels):
            left, receipt = purged(before, left, self._spelling()[1])
        with self._replaced_by(fitted, since) as twin:
            twin._take(left)
            if receipt is not None:
                twin.receipt_ = receipt
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, classes: Any) -> None:
        sequences, weights = self._check_training(X, y, sample_weight, reset=True)
        label_ids = LabelIds(declared_labels(y, classes))
        self._fit_to(self._start(sequences, weights, label_ids))

    def _fit_to(self, corpus: LabelledObservations) -> None:
        """Count encoded data, and estimate."""
        self._estimate_in_order(count_corpus(corpus, self._templates()))

    def _start(
        self, sequences: Sequences, weights: np.ndarray, label_ids: LabelIds
    ) -> LabelledObservations:
        """Make the counter, and encode all tokens."""
        tokens = self._read_first(sequences.X, weights, label_ids)
        return self._counter.learn(tokens, sequences.y, weights)

    def _read_first(self, X: SequenceArray, weights: np.ndarray, label_ids: LabelIds) -> Tokens:
        """Make the counter, and read all tokens."""
        tabulator = Tabulator(getattr(self, "observation", None), self.binning)
        inputs = {name: vars(self)[name] for name in INPUTS if name in vars(self)}
        plan, tokens = planned(X, weights, self._linked(X), tabulator, inputs)
        self._follow(plan, label_ids)
        tabulator.warn_of_choice(hasattr(self, "observation"))
        return tokens

    def _follow(self, plan: Plan, label_ids: LabelIds) -> None:
        """Begin to count by a plan."""
        self._counter = Counter(plan, Encoder(plan, *self._spelling()), label_ids)
        self.__dict__.update(plan.inputs)

    def _counted(
        self, plan: Plan | None, encoder: Encoder | None, X: Any, y: Any, sample_weight: Any = None
    ) -> PartialCounts:
        """Count a part of the training data, by a plan if there is one.

        If there is an encoder, it learns the new symbols of the part, else a new one does.
        """
        twin = self._unfitted()
        twin._check_needs_no_corpus()
        if plan is not None:
            twin._follow(plan, LabelIds())
        (X, y, _), weights = twin._check_labelled(X, y, sample_weight, reset=plan is None)
        if X.offsets[-1] == 0:
            return PartialCounts.empty()
        if plan is None:
            tokens = twin._read_first(X, weights, LabelIds())
        else:
            tokens = twin._counter.read(X, twin._linked(X))
        templates = twin._templates()
        if encoder is None:
            encoder = twin.encoder_.needed_for(templates)
        twin._counter = twin._counter._replace(encoder=encoder)
        counts = count_corpus(twin._counter.learn(tokens, y, weights), templates)
        return PartialCounts(*twin._counter, counts)

    def _more(self, X: Any, y: Any, sample_weight: Any) -> PartialCounts:
        """Count more data as the data that was counted."""
        twin = copy(self)
        twin._follow(self._counter.plan, self._counter.label_ids.declared())
        (X, y, _), weights = twin._check_training(X, y, sample_weight, reset=False)
        corpus = twin._counter.learn(twin._counter.read(X, twin._linked(X)), y, weights)
        return PartialCounts(*twin._counter, count_corpus(corpus, twin._templates()))

    def _read_again(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Sequences, LabelledObservations]:
        """Encode data that were counted; symbols and labels that were not get the next ids."""
        self._check_can_change()
        sequences, weights = self._check_training(X, y, sample_weight, reset=False)
        plan, encoder, label_ids = self._counter
        self._counter = Counter(plan, encoder.copy(), label_ids.copy())
        tokens = self._counter.read(sequences.X, self._linked(sequences.X))
        return sequences, self._counter.learn(tokens, sequences.y, weights)

    def _scores_without(
        self, X: SequenceArray, corpus: LabelledObservations, chosen: np.ndarray
    ) -> Iterator[tuple[np.ndarray, Self, Structure, Scores]]:
        """Score one unit by the models that have not seen one of the units of a corpus.

        Parameters
        ----------
        X : SequenceArray
            One unit.
        corpus : LabelledObservations
            Data that were counted, as ``_read_again`` reads them.
        chosen : int64 ndarray
            Numbers of units of the corpus, rising.

        Yields
        ------
        numbers : int64 ndarray
            The next ones that are left out, each from another model.
        estimator : estimator
            It has the classes of these models.
        structure : Structure
            X, as often as there are numbers.
        scores : Scores
        """
        templates = [template for template in self.counts_ if template != ATTRIBUTES]
        for number in chosen:
            twin = copy(self)
            twin._estimate(self.counts_ - count_corpus(corpus.take(np.array([number])), templates))
            structure = twin._structure(X)
            batch = Batch(0, structure.n_tokens, structure, 0)
            yield np.array([number]), twin, structure, twin._scores(twin._prepare(X), batch)

    def _adopt(self, part: PartialCounts) -> Counts:
        """Learn all symbols and labels of the counts of all training data; return the counts."""
        self._check_needs_no_corpus()
        if part.plan is None:
            raise ValueError("parts: there is no token to fit to")
        if len(part.counts.labels()) == 0:
            raise ValueError("parts: sample_weight is zero for all tokens")
        self._follow(part.plan, part.label_ids)
        if part.counts.keys() - {ATTRIBUTES} != set(self._templates()):
            raise ValueError("the parts were counted by an estimator with other parameters")
        self.encoder_.add_all(part.encoder)
        return part.counts

    def _take(self, part: PartialCounts) -> None:
        """Estimate from counts."""
        self._counter = Counter(part.plan, part.encoder, part.label_ids)
        self.__dict__.update(part.plan.inputs)
        self._estimate_in_order(part.counts)

    def _estimate_in_order(self, counts: Counts) -> None:
        """Estimate, with the ids of one fit to all data that are counted.

        It does not matter which label appeared late, or was forgotten again. Symbols that were
        not counted have no ids.
        """
        label_ids, rank = self._counter.label_ids.in_order(counts.labels())
        encoder, symbols = without_uncounted(counts, self.encoder_, self._spelling()[1])
        self._counter = self._counter._replace(label_ids=label_ids, encoder=encoder)
        # With the same objects as keys that the estimates have, which files write only once.
        own = {template: template for template in self._templates()}
        tables = renumber(counts, rank, symbols).items()
        self._estimate(Counts({own.get(template, template): table for template, table in tables}))

    def _changed(
        self, X: Any, y: Any, sample_weight: Any, sign: float
    ) -> tuple[Any, Any, Any, Pending | None]:
        """Learn or forget sequences by rows, if they are few; else return them, checked."""
        pending = vars(self).get(PENDING)
        if pending is None:
            check_parts(self)
            fitted = copy(self)
            fitted.__dict__.pop(RECEIPT, None)
            pending = Pending(fitted, [], room=fitted._room())
        fitted = pending.fitted
        if fitted is None or not self._has_parameters_of(fitted):
            return X, y, sample_weight, None
        fitted._check_can_change()
        sequences, weights = fitted._check_training(X, y, sample_weight, reset=False)
        X, y, _ = sequences
        sample_weight = SequenceArray(weights, X.offsets)
        if not isinstance(y, SequenceArray):
            return X, y, sample_weight, None
        return X, y, sample_weight, pending.changed(Change(X, y, weights, sign))

    def _has_parameters_of(self, other: Self) -> bool:
        """Tell whether parameters are the same objects as in another estimator."""
        mine, others = vars(self), vars(other)
        return all(mine[name] is others[name] for name in parameter_names(type(self)))

    def _room(self) -> int:
        """Return how many tokens are worth a few rows; 0 if everything must be estimated."""
        return 0

    def _live_rows(self) -> LiveRows:
        """Return rows of the counts of this estimator; only asked for where there is room."""
        raise NotImplementedError

    def _ready(self, X: Any) -> Self:
        if PENDING not in vars(self):
            return super()._ready(X)
        twin = copy(self)  # which no other thread changes
        pending = vars(twin).get(PENDING)
        if pending is None:
            return twin
        found = pending.by_rows(n_tokens_of(X))
        if found is None:
            twin._settle()
            self._settle()
        return twin if found is None else found

    def _so_far(self) -> tuple[Self, list[PartialCounts]]:
        """Copy the last estimates with these parameters, and collect the counts of all data."""
        pending = vars(self).get(PENDING)
        if pending is None:
            check_parts(self)
        fitted, counts = (self, []) if pending is None else pending.content()
        twin: Self = copy(fitted)
        for name, value in self.get_params(deep=False).items():
            setattr(twin, name, value)
        twin.__dict__.pop(RECEIPT, None)
        twin._check_can_change()
        return twin, counts or [PartialCounts(*twin._counter, twin.counts_)]

    def _check_needs_no_corpus(self) -> None:
        """Raise ValueError if the parameters ask for more than counts of parts."""

    def _check_can_change(self) -> None:
        """Raise ValueError if no data can be added to the counts, nor removed."""

    def _spelling(self) -> Spelling:
        """Name the spelling features of words to count, and symbols that are numbered first."""
        return (), {}

    def _linked(self, X: SequenceArray) -> Structure:
        """Find the structure along whose links labels are counted."""
        return structure_of(X)

    def _encode(self, X: SequenceArray) -> Observations:
        return self._counter.encode(X, self._linked(X))

    def _set_classes(self, seen: np.ndarray, more: Any = ()) -> np.ndarray:
        """Set ``classes_``: the labels with ids ``seen``, which were counted, and ``more``.

        Returns
        -------
        rank : ndarray of int32
            The position in ``classes_`` of each label id.
        """
        if len(seen) == 0:
            raise ValueError("nothing would be left: all data was forgotten")
        self.classes_, rank = self._counter.label_ids.classes(np.append(seen, more))
        return rank

    def _requirements(self) -> Iterator[Requirement]:
        yield from labels("classes_", self.classes_)
        yield Fact("_counter", isinstance(self._counter, Counter), "must be a Counter")
        yield from self._counter.requirements(getattr(self, "n_features_in_", None))
        yield Fact("counts_", isinstance(self.counts_, Counts), "must be Counts")
        known = self.encoder_, len(self._counter.label_ids), self._templates()
        yield from below("counts_", self.counts_.requirements(*known))

    if not TYPE_CHECKING:  # mypy would take it that every attribute exists

        def __getattr__(self, name: str) -> Any:
            is_public = name.endswith("_") and not name.startswith("__")
            if name != PENDING and (is_public or name in self._private_estimates):
                self._settle()
                if name in vars(self):  # even if another thread was faster
                    return vars(self)[name]
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _postpone(self, pending: Pending, since: dict[str, Any]) -> None:
        """Replace all estimates by the counts that they will be made from.

        ``since`` is ``vars(self)`` before the data was counted.
        """
        kept = {
            name: value
            for name, value in vars(self).items()
            if not name.endswith("_") and name not in self._private_estimates
        }
        if pending.has_rows:
            kept["classes_"] = pending.fitted.classes_  # which rows do not change
        self._exchange({**kept, PENDING: pending}, since)

    def _settle(self) -> None:
        """Compute the fitted attributes, if that was postponed."""
        state = self.__dict__  # another thread may replace it by a newer one, which then stays
        pending = state.get(PENDING)
        if pending is None:
            return
        parameters, fitted = self.get_params(deep=False), vars(pending.estimate())
        state.update({name: value for name, value in fitted.items() if name not in parameters})
        state.pop(PENDING, None)
        remember_parts(self)

    def __getstate__(self) -> dict[str, Any]:
        self._settle()
        state = dict(super().__getstate__())
        state.pop(RECEIPT, None)
        # In an order that does not depend on how the model came about.
        return {name: state[name] for name in sorted(state)}


Estimator = TypeVar("Estimator", bound=CountingClassifier)


def count(
    estimator: CountingClassifier,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    plan: Plan | None = None,
) -> PartialCounts:
    """Count a part of a corpus, without estimating anything.

    Parameters
    ----------
    estimator : EmpiricalCRF or HMM
        Its parameters say what is counted. It does not change, and need not be fitted.
    X, y, sample_weight : as in :meth:`~sklearn_crcrf.EmpiricalCRF.fit`
        The part may have no tokens, or no weight.
    plan : Plan, optional
        The ``plan`` of a part that was counted before. Parts with numeric columns need it, to have
        the same bins, and parts of feature dicts, if not all parts have the same keys. New keys
        are then an error.

    Returns
    -------
    PartialCounts

    Raises
    ------
    ValueError
        If input is not valid, or the parameters need all data at once.

    Examples
    --------
    >>> from sklearn_crcrf import EmpiricalCRF
    >>> from sklearn_crcrf.counts import count, finish, merge
    >>> crf = EmpiricalCRF()
    >>> a = count(crf, [["the", "dog"]], [["D", "N"]])
    >>> b = count(crf, [["dogs", "sleep"]], [["N", "V"]])
    >>> finish(crf, merge(a, b)).predict([["the", "dogs", "sleep"]]).tolist()
    [['D', 'N', 'V']]
    """
    _check_counts(estimator)
    return estimator._counted(plan, None, X, y, sample_weight)


def finish(estimator: Estimator, counts: PartialCounts) -> Estimator:
    """Return an estimator that is fitted to counts: the same, bit for bit, as one fit to all data.

    Parameters
    ----------
    estimator : EmpiricalCRF or HMM
        It does not change.
    counts : PartialCounts
        The merged counts of all parts, in order.

    Returns
    -------
    estimator
        A clone, fitted.

    Raises
    ------
    ValueError
        If nothing was counted, or the counts are of other parameters.

    Examples
    --------
    >>> from sklearn_crcrf import HMM
    >>> from sklearn_crcrf.counts import count, finish
    >>> finish(HMM(), count(HMM(), [["the", "dog"]], [["D", "N"]])).classes_.tolist()
    ['D', 'N']
    """
    _check_counts(estimator)
    fitted = clone(estimator)._unfitted()
    fitted._estimate_in_order(fitted._adopt(counts))
    return fitted


def _check_counts(estimator: Any) -> None:
    if not isinstance(estimator, CountingClassifier):
        raise ValueError(
            f"estimator must be an EmpiricalCRF or an HMM, but is a {type(estimator).__name__}"
        )
    estimator._validate_params()


def n_tokens_of(X: Any) -> int:
    """Count the tokens of data in any layout, which need not be valid."""
    if isinstance(X, SequenceArray):
        return int(X.offsets[-1])
    if isinstance(X, (list, tuple)) or (isinstance(X, np.ndarray) and X.dtype.kind == "O"):
        return sum(n_tokens(sequence) or 1 for sequence in X)
    return n_tokens(X) or 0
