"""Base of the classifiers that are trained by counting."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from typing import Any, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils.validation import check_is_fitted

from ..base.classifier import BaseSequenceClassifier
from ..data.ragged import SequenceArray
from ..labels.encoding import LabelIds
from ..labels.partial import known_labels
from ..linear import NamedWeights
from ..structures import Structure, structure_of
from ..utils.soundness import Fact, Requirement, below, labels
from .counts import Counts, Template
from .edge_types import edge_types, kind_of_links
from .observations import Encoder, LabelledObservations, Observations, count_corpus, relabel
from .soundness import counts_requirements, encoder_requirements
from .tabulator import Tabulator

__all__ = ["CountingClassifier"]


class CountingClassifier(BaseSequenceClassifier):
    """Base of the classifiers that are trained by counting.

    Counts add up, so data may arrive in batches, and may be removed again. A subclass names what
    is counted, in :meth:`_templates`, and computes its weights from the counts, in
    :meth:`_estimate`. It has the parameters ``binning``, ``sample_unit`` and ``n_jobs``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
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
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Count, and estimate.

        Parameters
        ----------
        X : list of sequences, SequenceArray, 2-D array, CSR or DataFrame
            Sequences of token strings, of feature dicts, or of rows of numbers; the rows of a
            2-D array are sequences of one token, and a DataFrame with the index
            (sequence, position) has a token in each row. An entry of a sparse matrix is the
            number of occurrences of an attribute, so it must not be negative.
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
        with self._replaced_by(self._unfitted()) as twin:
            twin._fit(X, y, sample_weight, None)
        return self

    @_fit_context(prefer_skip_nested_validation=False)
    def fit_parts(self, parts: Iterable[tuple[Any, Any]]) -> Self:
        """Count the parts of a corpus one after another, and estimate once.

        The model is the same as after one :meth:`fit` to all parts, but only one of them is in
        memory at a time. As in :meth:`partial_fit`, the first part sets the bins of numeric columns
        and the columns.

        Parameters
        ----------
        parts : iterable of (X, y)
            Each as in :meth:`fit`.

        Returns
        -------
        self
            If fitting fails or is interrupted, it stays as it was.

        Raises
        ------
        ValueError
            If there is no part, or one is not valid, or exponents are to be fitted, which needs all
            data at once.
        """
        if getattr(self, "exponents", None) == "fit":
            raise ValueError(
                'exponents="fit" needs all data at once; call fit_exponents afterwards'
            )
        with self._replaced_by(self._unfitted()) as twin:
            twin._fit_parts(parts)
        return self

    @_fit_context(prefer_skip_nested_validation=False)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Count more data, and estimate again; the model is the same as after one fit to all data.

        Only the first call finds what does not come from counts: the bins of numeric columns, and
        fitted exponents, if any.

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
        self._validate_params()  # which scikit-learn leaves out after the first call
        if not hasattr(self, "counts_"):
            with self._replaced_by(self._unfitted()) as twin:
                twin._fit(X, y, sample_weight, classes)
            return self
        if classes is not None:
            self._label_ids.require(classes)
        with self._replaced_by(copy(self)) as twin:
            twin._update(X, y, sample_weight, Counts.__add__)
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
        check_is_fitted(self)
        with self._replaced_by(copy(self)) as twin:
            twin._update(X, y, sample_weight, Counts.__sub__)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, classes: Any) -> None:
        self._estimate(self._count(self._start(X, y, sample_weight, classes)))

    def _start(self, X: Any, y: Any, sample_weight: Any, classes: Any) -> LabelledObservations:
        """Make the encoders, and encode all tokens."""
        sequences, weights = self._check_training(X, y, sample_weight, reset=True)
        self.tabulator_ = self._new_tabulator()
        table, attributes = self.tabulator_.fit_transform(sequences.X, weights)
        n_attributes = None if attributes is None else attributes.shape[1]
        structure = self._linked(sequences.X)
        types = edge_types(sequences.X, structure)
        kind = kind_of_links(structure)
        self.encoder_ = self._new_encoder(table.names, n_attributes, kind, types is not None)
        self._label_ids = LabelIds(classes)
        observations = self.encoder_.learn(table, attributes, types)
        y, weights = self._known(sequences.y, weights)
        labels = self._label_ids.learn(y)
        return LabelledObservations(observations, labels, structure, weights)

    def _known(self, y: SequenceArray, weights: np.ndarray) -> tuple[SequenceArray, np.ndarray]:
        """Labels, and weights of tokens, which are zero for unknown labels."""
        return known_labels(y, weights)

    def _new_tabulator(self) -> Tabulator:
        return Tabulator(None, self.binning)

    def _new_encoder(
        self, names: Sequence[str], n_attributes: int | None, links: str, has_types: bool
    ) -> Encoder:
        return Encoder(names, (), {}, n_attributes, links, has_types)

    def _linked(self, X: SequenceArray) -> Structure:
        """The structure along whose links labels are counted."""
        return structure_of(X)

    def _update(self, X: Any, y: Any, sample_weight: Any, combine: Callable) -> None:
        """Combine the counts with the counts of more data."""
        self.encoder_, self._label_ids = self.encoder_.copy(), self._label_ids.copy()
        more = self._count(self._learn(X, y, sample_weight))
        self._estimate_in_order(combine(self.counts_, more))

    def _fit_parts(self, parts: Iterable[tuple[Any, Any]]) -> None:
        """Count all parts, and estimate."""
        # Sums of neighbouring parts, each larger than the next, so that tables merge seldom.
        sums: list[Counts] = []
        for X, y in parts:
            corpus = self._learn(X, y, None) if sums else self._start(X, y, None, None)
            sums.append(self._count(corpus))
            while len(sums) > 1 and sums[-1].n_events >= sums[-2].n_events // 2:
                last = sums.pop()
                sums.append(sums.pop() + last)
        if not sums:
            raise ValueError("parts: there is no part to fit to")
        while len(sums) > 1:
            last = sums.pop()
            sums.append(sums.pop() + last)
        self._estimate_in_order(sums.pop())

    def _learn(self, X: Any, y: Any, sample_weight: Any) -> LabelledObservations:
        """Encode more data, and give ids to new symbols and labels."""
        sequences, weights = self._check_training(X, y, sample_weight, reset=False)
        table, attributes = self.tabulator_.transform(sequences.X)
        structure = self._linked(sequences.X)
        types = edge_types(sequences.X, structure)
        observations = self.encoder_.learn(table, attributes, types)
        y, weights = self._known(sequences.y, weights)
        labels = self._label_ids.learn(y)
        return LabelledObservations(observations, labels, structure, weights)

    def _estimate_in_order(self, counts: Counts) -> None:
        """Estimate, with the ids of one fit to all data that are counted.

        It does not matter which label appeared late, or was forgotten again.
        """
        self._label_ids, rank = self._label_ids.in_order(counts.labels())
        self._estimate(relabel(counts, rank))

    def _count(self, corpus: LabelledObservations) -> Counts:
        return count_corpus(corpus, self._templates())

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
