"""DaskSeparateCRF: both parts of the model are trained on rows that stay on the workers."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from sklearn.base import _fit_context

from ..criteria import Criterion
from ..estimators.separate import SeparateCRF
from ..estimators.separate.in_parts import read_tokens
from ..linear.objective import AddParts, elsewhere
from ..linear.parts import ModelShape, OwnCorpus, Part
from ..training import nested_fits
from .computing import compute, persist, sent, task, tree
from .estimator import CLIENT, DaskEstimator, with_client
from .parts import labelled_parts
from .shards import DaskParts, gradient_tree


class DaskSeparateCRF(DaskEstimator, SeparateCRF):
    """:class:`~sklearn_crcrf.SeparateCRF` whose training data stays on the workers of Dask.

    The nodes and the pairs are trained as :class:`DaskCRF` trains a CRF: solvers run where ``fit``
    is called, and gradients are computed where the rows are. Rates are sums of the counts of all
    parts, and the exponent is chosen on the same held-out sequences as in memory. The model has the
    same bits whatever the workers, and differs from one fit in memory by rounding.

    Parameters
    ----------
    **params
        As of :class:`~sklearn_crcrf.SeparateCRF`. Both classifiers must be a CRF, or "maxent" for
        pairs; what needs all data at once is an error before any work: other classifiers, the
        default ``estimator=None`` with ``pairs="counts"``, which is a ``LogisticRegression``, and
        the solvers "sgd", "newton-cg" and "gis". ``n_jobs`` is the number of threads of a task.
    client : distributed.Client, default=None
        By default the current client, and without one Dask's local scheduler.

    Attributes
    ----------
    client_ : distributed.Client or None
        The client in use.
    classes_, estimator_, pair_estimator_, ... : as of :class:`~sklearn_crcrf.SeparateCRF`

    Examples
    --------
    >>> import dask.bag as db
    >>> from sklearn_crcrf.dask import DaskSeparateCRF
    >>> X = [["new", "york"], ["new", "car"], ["york", "is"], ["car", "is"]] * 5
    >>> y = [["B", "I"], ["O", "O"], ["B", "O"], ["O", "O"]] * 5
    >>> X, y = (db.from_sequence(data, npartitions=2) for data in (X, y))
    >>> crf = DaskSeparateCRF(pairs="maxent").fit(X, y)
    >>> crf.predict([["new", "york"], ["new", "car"]]).tolist()
    [['B', 'I'], ['O', 'O']]
    """

    _local = SeparateCRF
    _parameter_constraints = {**SeparateCRF._parameter_constraints, **CLIENT}
    __init__ = with_client(SeparateCRF)

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train the classifiers, count the rates, and choose the exponent.

        Parameters
        ----------
        X : Bag, list of Delayed, or CorpusFolder
            Sequences of token strings, of feature dicts, or of rows of numbers, or forests, whose
            edges have neither types nor attributes. Later parts may bring new attributes and
            labels, and parts may be empty. Or a :class:`~sklearn_crcrf.out_of_core.CorpusFolder`,
            or a list of them, which all workers must reach, and which have the labels too.
        y : Bag or list of Delayed
            Labels, partitioned as X; all must be known.
        sample_weight : Bag or list of Delayed, optional
            Weights of the sequences, partitioned as X.

        Returns
        -------
        self
            If fitting fails or is interrupted, it stays as it was.

        Raises
        ------
        ValueError
            If there is no token, or input is not valid; the message says in which part, and where.
            Before any work, if a parameter needs all data at once.
        ComputationError
            If the cluster cannot finish the work.
        """
        local = self._without_client()
        row_crfs = self._row_crfs()
        parts = labelled_parts(X, y, sample_weight)
        with self._replaced_by(self._unfitted()) as twin, nested_fits():
            twin._fit_in_parts(WorkerTokens(parts, local, self.client_), row_crfs)
        return self


class WorkerTokens:
    """Tokens on workers as :class:`~sklearn_crcrf.estimators.separate.in_parts.TokensInParts`.

    Parameters
    ----------
    parts : list of (X, y, sample_weight)
        Delayed objects.
    local : SeparateCRF
        Says how the parts are read.
    client : distributed.Client or None
    """

    def __init__(self, parts: Sequence[tuple], local: SeparateCRF, client: Any):
        data = DaskParts(parts, local, client, read_tokens)
        self.shape, self.at_once, self._client = data.shape, client is not None, client
        shape = sent(self.shape)
        own = persist([task(_own, part, shape) for part in data.parts], client)
        sizes = compute([task(_size, part) for part in own], client)
        self.n_units = [n_units for n_units, _ in sizes]
        self._parts = {k: own[k] for k, (_, has_tokens) in enumerate(sizes) if has_tokens}

    def collect(
        self, function: Callable, merge: Callable, folds: Sequence[np.ndarray], common: Any
    ) -> Any:
        """Merge the results of all parts on the workers, in their order."""
        return compute(tree(merge, self._calls(function, folds, common)), self._client)

    @contextmanager
    def shards(
        self, make: Callable, folds: Sequence[np.ndarray], common: Any, dtype: np.dtype
    ) -> Iterator["_OnWorkers"]:
        """Make shards that stay on the workers until training ends."""
        yield _OnWorkers(self._calls(make, folds, common), dtype, self._client)

    def _calls(self, function: Callable, folds: Sequence[np.ndarray], common: Any) -> list[Any]:
        shared = sent(common)
        return [task(function, part, folds[k], shared) for k, part in self._parts.items()]


class _OnWorkers:
    """Shards as the parts of a Problem."""

    def __init__(self, made: list[Any], dtype: np.dtype, client: Any):
        self._made, self._dtype, self._client = made, dtype, client

    def evaluation(self, criterion: Criterion, n_threads: int) -> AddParts:
        gradients = gradient_tree(self._made, n_threads, self._dtype, self._dtype, self._client)
        return elsewhere(gradients.columns, gradients)


# What workers do:


def _own(part: Part | int, shape: ModelShape) -> OwnCorpus | int:
    return part if isinstance(part, int) else shape.own_corpus(part)


def _size(own: OwnCorpus | int) -> tuple[int, bool]:
    """Return the number of units, and whether there are tokens."""
    return (own, False) if isinstance(own, int) else (own.corpus.structure.n_units, True)
