"""Rows of the counts of a model that learns and forgets sentence by sentence."""

from copy import copy
from threading import Lock
from typing import Any

import numpy as np

from ...counts.counter import LabelledObservations
from ...counts.pending import Log, NotByRowsError
from ...counts.prepared import Prepared
from ...data.ragged import SequenceArray
from ...labels.partial import known_labels
from .left_out import as_set, changed_sums, row_model, run_rates
from .row_model import RowModel

# Rows are read for fewer tokens than this share of what was counted; more cost as much as to
# estimate all rows.
SHARE = 8
LEAST_ROOM = 256
# A label occurs no more if its weight is less than this share of all.
ROUNDING = 1e-9


class CountedLiveRows:
    """The counts of a fitted model with what it learned and forgot since.

    Parameters
    ----------
    fitted : EmpiricalCRF
        Which has rows; it does not change.
    """

    def __init__(self, fitted: Any):
        self._fitted, self._lock = as_set(fitted), Lock()
        self._sums = changed_sums(fitted, fitted.counts_)
        counter = fitted._counter
        self._counter = counter._replace(encoder=counter.encoder.copy())
        self._log: Log | None = None
        self._twin: Any = None
        self._had_labels = self._sums.labels > 0

    def follow(self, log: Log) -> bool:
        """Apply the last change of a log; False if they have not followed the log before it."""
        with self._lock:
            if self._log is not log.before:
                return False
            X, y, weights, sign = log.change
            structure = self._fitted._linked(X)
            y, weights = known_labels(y, weights)
            try:
                labels = self._fitted._rank[self._counter.label_ids.lookup(y)]
            except ValueError:
                raise NotByRowsError from None
            observations = self._counter.encoder.learn(self._counter.read(X, structure))
            corpus = LabelledObservations(observations, labels, weights)
            self._log, self._twin = VOID, None  # in case of an interrupt
            self._sums.add(corpus, np.zeros(len(labels), dtype=np.int32), sign)
            if (self._had_labels & (self._sums.labels <= ROUNDING * self._sums.labels.sum())).any():
                raise NotByRowsError
            self._log = log
            return True

    def estimator(self, log: Log) -> Any:
        """Return an estimator that predicts with these rows; None if they follow another log."""
        with self._lock:
            if self._log is not log:
                return None
            if self._twin is None:
                twin = copy(self._fitted)
                twin._counter, twin.model_ = self._counter, row_model(self._fitted, self._sums)
                twin._run_rates = run_rates(self._fitted, self._sums, 0)
                twin._rows, twin._log = self, log
                self._twin = twin
            return copy(self._twin)

    def prepare(self, estimator: Any, X: SequenceArray) -> tuple[RowModel, Prepared]:
        """Return the model of an estimator, which :meth:`estimator` made, with weights for X."""
        with self._lock:
            if self._log is estimator._log:
                observations = self._counter.encode(X, estimator._linked(X))
                model = copy(estimator.model_)
                return model, model.prepare(observations)
        other = CountedLiveRows(self._fitted)  # another thread has gone on
        for log in estimator._log.since_estimate():
            other.follow(log)
        return other.prepare(other.estimator(estimator._log), X)


VOID: Any = object()
"""The log of rows that have followed a change by half."""
