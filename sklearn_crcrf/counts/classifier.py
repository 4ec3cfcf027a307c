"""Base of the classifiers that are trained by counting."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import _fit_context

from ..base.classifier import BaseSequenceClassifier
from ..base.weights import NamedWeights
from ..data.layout import Sequences
from ..data.ragged import SequenceArray
from ..data.symbols import SymbolTable, warn_of_empty_tokens
from ..labels.encoding import LabelIds
from ..labels.partial import known_labels
from ..out_of_core import CorpusFolder
from ..out_of_core.corpus_folder import refuse_what_needs_all
from ..structures import Structure, structure_of
from ..utils.memory import release_freed_memory
from ..utils.replaced_parts import check_fitted, check_parts
from ..utils.soundness import Fact, Requirement, below, labels
from .counts import Counts, Template
from .labelled import ATTRIBUTES, LabelledObservations, count_corpus
from .links import edge_types, kind_of_links
from .observations import Encoder, Observations
from .parts import PartialCounts, PartialSums, Plan, merge
from .pending import PENDING, Pending, PostponesEstimates, has_counts, with_part
from .renumbering import relabel
from .soundness import counts_requirements, encoder_requirements
from .tabulator import Tabulator

__all__ = ["CountingClassifier"]

INPUTS = ("n_features_in_", "feature_names_in_")


class Tokens(NamedTuple):
    """Tokens that were read, but have no ids yet.

    Parameters
    ----------
    table : SymbolTable
    attributes : CSR of shape (n_tokens, n_attributes), Bag or None
        The rows of a sparse X, or attributes that are no columns.
    structure : Structure
    edge_types : list of str or None
    """

    table: SymbolTable
    attributes: Any
    structure: Structure
    edge_types: list[str] | None


class CountingClassifier(PostponesEstimates, BaseSequenceClassifier):
    """Base of the classifiers that are trained by counting.

    Counts add up, so data may arrive in batches, and may be removed again. A subclass names what
    is counted, in :meth:`_templates`, and computes its weights from the counts, in
    :meth:`_estimate`. It has the parameters ``binning``, ``sample_unit`` and ``n_jobs``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The labels, in the order of the columns of probabilities.
    counts_ : Counts
    """

    @abstractmethod
    def _templates(self) -> list[Template]:
        """The templates of the events that are counted."""

    @abstractmethod
    def _estimate(self, counts: Counts) -> None:
        """Compute the fitted attributes from the counts."""

    @abstractmethod
    def _named_weights(self) -> NamedWeights:
        """The weights of single attributes, under the names that a CRF uses."""

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Count the labelled sequences, and estimate all weights from the counts.

        Parameters
        ----------
        X : list of sequences, SequenceArray, 2-D array, CSR or DataFrame
            Sequences of token strings, of feature dicts, or of rows of numbers; the rows of a
            2-D array are sequences of one token, and a DataFrame with the index
            (sequence, position) has a token in each row. An entry of a sparse matrix is the
            number of occurrences of an attribute, so it must not be negative. Or a
            :class:`~sklearn_crcrf.out_of_core.CorpusFolder`, which has the labels too: its parts
            are in memory one after another.
        y : list of label lists, SequenceArray or 1-D array
            Any hashable labels. Tokens with the label None are not counted.
        sample_weight : array-like of shape (n_samples,), nested list or SequenceArray, optional
            One weight for each sequence, or for each row of a table, or for each token.

        Returns
        -------
        self
            If fitting fails or is interrupted, it stays as it was.

        Raises
        ------
        ValueError
            If there is no token, or input is not valid; the message says where.
        """
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
        total = self._total_of(parts)
        with self._replaced_by(self._unfitted()) as twin:
            counts = twin._adopt(total)
            del total  # its vocabularies
            release_freed_memory()  # of parts and their sums
            twin._estimate_in_order(counts)
        return self

    def _total_of(self, parts: Iterable[tuple]) -> PartialCounts:
        sums = PartialSums()
        for part in parts:
            sums.add(self._counted(sums.plan, sums.encoder, *part))
        return sums.total()

    @_fit_context(prefer_skip_nested_validation=False)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Count more data; the model is the same as after one fit to all data.

        The weights are computed when they are needed next: when something is predicted, or an
        attribute is read, or the model is stored. So calls in a row cost little more than
        counting. Only the first call finds what does not come from counts: the bins of numeric
        columns, and fitted exponents, if any.

        Parameters
        ----------
        X, y, sample_weight : as in :meth:`fit`
        classes : array-like of labels, optional
            For the first call: all labels that will ever occur. Without it, later calls may
            bring new labels.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a label is not among the classes, ``classes`` differs from the first call, or X has
            columns that the first data did not have.
        """
        since = self.__dict__
        self._validate_params()  # which scikit-learn leaves out after the first call
        self._check_can_change()
        if not has_counts(self):
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
        self._postpone(Pending(fitted, with_part(counts, more)), since)
        return self

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Remove counted data exactly: the model becomes as if it had never been counted.

        Only what the first fit fixed stays: the bins of numeric columns, and fitted exponents,
        if any.

        Parameters
        ----------
        X, y, sample_weight : as given to :meth:`fit` or :meth:`partial_fit`

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If some of it was never counted, or nothing would be left.
        """
        check_fitted(self)
        since = self.__dict__
        fitted, counts = self._so_far()
        left = merge(*counts).without(fitted._more(X, y, sample_weight))
        with self._replaced_by(fitted, since) as twin:
            twin._take(left)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, classes: Any) -> None:
        sequences, weights = self._check_training(X, y, sample_weight, reset=True)
        self._fit_to(self._start(sequences, weights, LabelIds(classes)))

    def _fit_to(self, corpus: LabelledObservations) -> None:
        """Count encoded data, and estimate."""
        self._estimate_in_order(self._count(corpus))

    def _start(
        self, sequences: Sequences, weights: np.ndarray, label_ids: LabelIds
    ) -> LabelledObservations:
        """Make the encoders, and encode all tokens."""
        tokens = self._set_up(sequences.X, weights)
        self._label_ids = label_ids
        return self._encode_labelled(tokens, sequences.y, weights)

    def _known(self, y: SequenceArray, weights: np.ndarray) -> tuple[SequenceArray, np.ndarray]:
        """Labels, and weights of tokens, which are zero for unknown labels."""
        return known_labels(y, weights)

    def _learn(self, sequences: Sequences, weights: np.ndarray) -> LabelledObservations:
        """Encode more data, and give ids to new symbols and labels."""
        return self._encode_labelled(self._read(sequences.X), sequences.y, weights)

    def _set_up(self, X: SequenceArray, weights: np.ndarray) -> Tokens:
        """Make the tabulator, and an encoder that has seen nothing."""
        warn_of_empty_tokens(X)
        self.tabulator_ = self._new_tabulator()
        table, attributes = self.tabulator_.fit_transform(X, weights)
        structure = self._linked(X)
        tokens = Tokens(table, attributes, structure, edge_types(X, structure))
        n_attributes = attributes.shape[1] if sp.issparse(attributes) else None
        kind, has_types = kind_of_links(structure), tokens.edge_types is not None
        self.encoder_ = self._new_encoder(table.names, n_attributes, kind, has_types)
        self.tabulator_.warn_of_choice(hasattr(self, "observation"))
        return tokens

    def _read(self, X: SequenceArray) -> Tokens:
        table, attributes = self.tabulator_.transform(X)
        structure = self._linked(X)
        return Tokens(table, attributes, structure, edge_types(X, structure))

    def _encode_labelled(
        self, tokens: Tokens, y: SequenceArray, weights: np.ndarray
    ) -> LabelledObservations:
        y, weights = self._known(y, weights)
        observations = self.encoder_.learn(tokens.table, tokens.attributes, tokens.edge_types)
        labels = self._label_ids.learn(y)
        return LabelledObservations(observations, labels, tokens.structure, weights)

    def _plan(self) -> Plan:
        """How data is counted."""
        encoder = self.encoder_
        inputs = {name: vars(self)[name] for name in INPUTS if name in vars(self)}
        has_types = encoder.edge_types is not None
        given = encoder.names, encoder.n_attributes, encoder.links, has_types
        return Plan(self.tabulator_, *given, inputs)

    def _follow(self, plan: Plan, label_ids: LabelIds) -> None:
        """Begin to count by a plan."""
        self.tabulator_ = plan.tabulator
        self.encoder_ = self._new_encoder(plan.names, plan.n_attributes, plan.links, plan.has_types)
        self._label_ids = label_ids
        for name, value in plan.inputs.items():
            setattr(self, name, value)

    def _counted(
        self,
        plan: Plan | None,
        encoder: Encoder | None,
        X: Any,
        y: Any,
        sample_weight: Any = None,
    ) -> PartialCounts:
        """Count a part of the training data, by a plan if there is one.

        If there is an encoder, it learns the new symbols of the part, else a new one does.
        """
        twin = self._unfitted()
        twin._check_needs_no_corpus()
        if plan is not None:
            twin._follow(plan, LabelIds())
        sequences, weights = twin._check_labelled(X, y, sample_weight, reset=plan is None)
        if sequences.X.offsets[-1] == 0:
            return PartialCounts.empty()
        tokens = twin._set_up(sequences.X, weights) if plan is None else twin._read(sequences.X)
        templates = twin._templates()
        twin.encoder_ = twin.encoder_.needed_for(templates) if encoder is None else encoder
        twin._label_ids = LabelIds()
        return twin._part(
            count_corpus(twin._encode_labelled(tokens, sequences.y, weights), templates)
        )

    def _finish(self, part: PartialCounts) -> None:
        """Fit to the counts of all training data."""
        self._estimate_in_order(self._adopt(part))

    def _adopt(self, part: PartialCounts) -> Counts:
        """Learn all symbols and labels of the counts of all training data; return the counts."""
        self._check_needs_no_corpus()
        if part.plan is None:
            raise ValueError("parts: there is no token to fit to")
        if len(part.counts.labels()) == 0:
            raise ValueError("parts: sample_weight is zero for all tokens")
        self._follow(part.plan, LabelIds())
        if part.counts.keys() - {ATTRIBUTES} != set(self._templates()):
            raise ValueError("the parts were counted by an estimator with other parameters")
        self.encoder_.learn_symbols(part.encoder)
        self._label_ids = part.label_ids
        return part.counts

    def _check_needs_no_corpus(self) -> None:
        """Raise ValueError if the parameters ask for more than counts of parts."""

    def _check_can_change(self) -> None:
        """Raise ValueError if no data can be added to the counts, nor removed."""

    def _check_same_features(self) -> None:
        """Raise ValueError if other parameters than before say what is counted."""

    def _so_far(self) -> tuple[Self, list[PartialCounts]]:
        """A copy with these parameters of the last estimates, and the counts of all data."""
        pending = vars(self).get(PENDING)
        if pending is None:
            check_parts(self)
        fitted, counts = (self, []) if pending is None else pending.content()
        twin = copy(fitted)
        for name, value in self.get_params(deep=False).items():
            setattr(twin, name, value)
        twin._check_can_change()
        twin._check_same_features()
        return twin, counts or [twin._part(twin.counts_)]

    def _more(self, X: Any, y: Any, sample_weight: Any) -> PartialCounts:
        """Count more data as the data that was counted."""
        twin = copy(self)
        twin._follow(self._plan(), self._label_ids.declared())
        sequences, weights = twin._check_training(X, y, sample_weight, reset=False)
        return twin._part(twin._count(twin._learn(sequences, weights)))

    def _part(self, counts: Counts) -> PartialCounts:
        return PartialCounts(self._plan(), self.encoder_, self._label_ids, counts)

    def _take(self, part: PartialCounts) -> None:
        """Estimate from counts."""
        self._follow(part.plan, part.label_ids)
        self.encoder_ = part.encoder
        self._estimate_in_order(part.counts)

    def _estimate_in_order(self, counts: Counts) -> None:
        """Estimate, with the ids of one fit to all data that are counted.

        It does not matter which label appeared late, or was forgotten again.
        """
        self._label_ids, rank = self._label_ids.in_order(counts.labels())
        self._estimate(relabel(counts, rank))

    def _count(self, corpus: LabelledObservations) -> Counts:
        return count_corpus(corpus, self._templates())

    def _new_tabulator(self) -> Tabulator:
        return Tabulator(None, self.binning)

    def _new_encoder(
        self, names: Sequence[str], n_attributes: int | None, links: str, has_types: bool
    ) -> Encoder:
        return Encoder(names, (), {}, n_attributes, links, has_types, self.tabulator_.has_bag)

    def _linked(self, X: SequenceArray) -> Structure:
        """The structure along whose links labels are counted."""
        return structure_of(X)

    def _set_classes(self, seen: np.ndarray, more: Any = ()) -> np.ndarray:
        """Set ``classes_``: the labels with ids ``seen``, which were counted, and ``more``.

        Returns
        -------
        rank : ndarray of int32
            The position in ``classes_`` of each label id.
        """
        if len(seen) == 0:
            raise ValueError("nothing would be left: all data was forgotten")
        self.classes_, rank = self._label_ids.classes(np.append(seen, more))
        return rank

    def _requirements(self) -> Iterator[Requirement]:
        yield from labels("classes_", self.classes_)
        yield Fact("_label_ids", isinstance(self._label_ids, LabelIds), "must be LabelIds")
        yield from below("_label_ids", self._label_ids.requirements())
        yield Fact("tabulator_", isinstance(self.tabulator_, Tabulator), "must be a Tabulator")
        yield from below("tabulator_", self.tabulator_.requirements())
        yield Fact("encoder_", isinstance(self.encoder_, Encoder), "must be an Encoder")
        width = getattr(self, "n_features_in_", None)
        yield from below("encoder_", encoder_requirements(self.encoder_, width))
        known = len(self._label_ids), self._templates()
        yield from below("counts_", counts_requirements(self.counts_, self.encoder_, *known))

    def _encode(self, X: SequenceArray) -> Observations:
        types = edge_types(X, self._linked(X))
        return self.encoder_.encode(*self.tabulator_.transform(X), types)
