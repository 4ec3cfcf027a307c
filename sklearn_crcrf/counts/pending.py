"""What was learned and forgotten since a model was estimated."""

from copy import copy
from threading import Lock
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..data.graphs import GraphArray
from ..data.ragged import SequenceArray
from .parts import PartialCounts, merge

PENDING = "_pending_"
"""The attribute of an estimator whose last counts were not estimated from yet."""


class Change(NamedTuple):
    """Checked sequences that were learned, or forgotten.

    Parameters
    ----------
    X, y : SequenceArray
    weights : ndarray of shape (n_tokens,)
    sign : float
        1 if they were learned, -1 if they were forgotten.
    """

    X: SequenceArray
    y: SequenceArray
    weights: np.ndarray
    sign: float


class Log(NamedTuple):
    """All changes since an estimate: the last one, and the log before it."""

    before: "Log | None"
    change: Change
    n_tokens: int

    def since_estimate(self) -> list["Log"]:
        """List the logs of all changes so far, in order."""
        found: list[Log] = []
        log: Log | None = self
        while log is not None:
            found.append(log)
            log = log.before
        return found[::-1]


class LiveRows(Protocol):
    """Rows of counts that follow the changes of a model, for the estimates that few tokens need."""

    def follow(self, log: Log) -> bool:
        """Apply the last change of a log; False if they have not followed the log before it.

        Raises
        ------
        NotByRowsError
            If the change needs another estimate of everything.
        ValueError
            If what is forgotten was never counted.
        """

    def estimator(self, log: Log) -> Any:
        """Return an estimator that predicts with these rows; None if they are elsewhere."""


class NotByRowsError(Exception):
    """A change that rows cannot follow, such as a new label."""


class Pending:
    """Counts that no estimates were made from yet; copies of an estimator share them.

    Parameters
    ----------
    fitted : estimator
        Fitted to some of the counts, with the parameters to estimate with.
    counts : list of PartialCounts
        The counts of all data, in order; empty if they are those of ``fitted``.
    log : Log, optional
        What small changes came after these counts.
    rows : LiveRows, optional
        They may follow another log meanwhile, of a copy.
    room : int, default=0
        How many tokens may be learned and forgotten, or asked for, before everything is estimated.
    """

    def __init__(
        self,
        fitted: Any,
        counts: list[PartialCounts],
        log: Log | None = None,
        rows: LiveRows | None = None,
        room: int = 0,
    ):
        self._fitted, self._counts, self._log, self._rows = fitted, counts, log, rows
        self._lock, self._n_asked, self._room = Lock(), 0, room

    @property
    def fitted(self) -> Any:
        """The estimator that changes can be applied to; None if it lacks some of the counts."""
        return None if self._counts else self._fitted

    @property
    def has_rows(self) -> bool:
        """Whether rows have followed all changes."""
        return self._rows is not None

    def content(self) -> tuple[Any, list[PartialCounts]]:
        """Return the last estimates, and the counts of all data unless they are ``counts_``."""
        with self._lock:
            self._count()
            return self._fitted, self._counts

    def estimate(self) -> Any:
        """Return an estimator that is fitted to all counts; only the first call computes it."""
        with self._lock:
            self._count()
            if self._counts:
                fitted = copy(self._fitted)
                fitted._take(merge(*self._counts))
                self._fitted, self._counts = fitted, []
            return self._fitted

    def changed(self, change: Change) -> "Pending | None":
        """Return the same with a small change; None if rows cannot follow it.

        Raises
        ------
        ValueError
            If what is forgotten was never counted.
        """
        with self._lock:
            fitted, before, rows = self._fitted, self._log, self._rows
            if self._counts:
                return None
        n_tokens = len(change.weights) + (0 if before is None else before.n_tokens)
        if n_tokens > self._room:
            return None
        log = Log(before, change, n_tokens)
        try:
            if rows is None or not rows.follow(log):
                rows = _replayed(fitted, before)
                rows.follow(log)
        except NotByRowsError:
            return None
        return Pending(fitted, [], log, rows, self._room)

    def by_rows(self, n_tokens: int) -> Any:
        """Return an estimator that predicts some tokens by rows; None if they are too many.

        Tokens are added up: once they cost as much as to estimate everything, that is done.
        """
        with self._lock:
            self._n_asked += n_tokens
            if self._log is None or self._rows is None or self._n_asked > self._room:
                return None
            found = self._rows.estimator(self._log)
            if found is None:  # they follow a copy of this model
                self._rows = _replayed(self._fitted, self._log)
                found = self._rows.estimator(self._log)
            return found

    def _count(self) -> None:
        """Count what was learned and forgotten, in bulk."""
        if self._log is None:
            return
        fitted, changes = self._fitted, [log.change for log in self._log.since_estimate()]
        _, (counts, *_) = fitted._so_far()
        for sign in (1.0, -1.0):
            for X, y, weights in _joined([change for change in changes if change.sign == sign]):
                more = fitted._more(X, y, SequenceArray(weights, X.offsets))
                counts = merge(counts, more) if sign > 0 else counts.without(more)
        self._counts, self._log, self._rows = [counts], None, None


def _replayed(fitted: Any, log: Log | None) -> LiveRows:
    """Return rows of a fitted estimator, which have followed a log."""
    rows = fitted._live_rows()
    for each in [] if log is None else log.since_estimate():
        rows.follow(each)
    return rows


def _joined(changes: list[Change]) -> list[tuple[SequenceArray, SequenceArray, np.ndarray]]:
    """Join the sequences of changes, unless they are graphs."""
    if len(changes) < 2 or any(isinstance(change.X, GraphArray) for change in changes):
        return [change[:3] for change in changes]
    X, y, weights, _ = zip(*changes, strict=True)
    joined: Any = np.concatenate(X), np.concatenate(y), np.concatenate(weights)
    return [joined]
