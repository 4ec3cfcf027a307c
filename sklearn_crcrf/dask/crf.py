"""DaskCRF: weights are trained where ``fit`` is called, gradients computed where the data is."""

from typing import Any, Self

from sklearn.base import _fit_context
from sklearn.utils._param_validation import StrOptions

from ..estimators.crf import CRF
from .estimator import CLIENT, DaskEstimator, with_client
from .parts import labelled_parts
from .shards import DaskParts, DaskShards


class DaskCRF(DaskEstimator, CRF):
    """:class:`~sklearn_crcrf.CRF` whose training data stays on the workers of Dask.

    The solver runs where ``fit`` is called. In each evaluation every part of the data gets the
    weights of its own attributes, and returns its loss and gradient. They are added in the order of
    the parts, so the model has the same bits whatever the workers; loss and gradient differ by
    about 1e-15 from one fit in memory.

    Parameters
    ----------
    **params
        As of :class:`~sklearn_crcrf.CRF`. What needs all data at once is an error before any work:
        ``class_weight``, ``validation_fraction``, ``device``, the solvers "sgd", "newton-cg" and
        "gis", the ``init`` "empirical" and estimators, a callable for ``features``, and a criterion
        that is not a sum over sequences. ``n_jobs`` is the number of threads of a task.
    wire_dtype : {"float32"} or None, default=None
        The type in which weights and derivatives travel; by default the type of the weights.
        "float32" halves the bytes of float64. Sums stay float64, but each evaluation is at rounded
        weights: loss and gradient differ by about 1e-7 of their value.
    client : distributed.Client, default=None
        By default the current client, and without one Dask's local scheduler.

    Attributes
    ----------
    client_ : distributed.Client or None
        The client in use.
    classes_, coef_, transitions_, ... : as of :class:`~sklearn_crcrf.CRF`

    Examples
    --------
    >>> import dask.bag as db
    >>> from sklearn_crcrf.dask import DaskCRF
    >>> X = db.from_sequence([["the", "dog", "walks"], ["dogs", "sleep"]], npartitions=2)
    >>> y = db.from_sequence([["D", "N", "V"], ["N", "V"]], npartitions=2)
    >>> crf = DaskCRF(sigma=2.0).fit(X, y)
    >>> crf.predict(X).compute(scheduler="synchronous")
    [['D', 'N', 'V'], ['N', 'V']]
    """

    _local = CRF
    _parameter_constraints = {
        **CRF._parameter_constraints,
        "wire_dtype": [StrOptions({"float32"}), None],
        **CLIENT,
    }
    __init__ = with_client(CRF, wire_dtype=None)

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train.

        Parameters
        ----------
        X : Bag, list of Delayed, or CorpusFolder
            Sequences of token strings, of feature dicts, or of rows of numbers. Later parts may
            bring new attributes and labels, and parts may be empty. Or a
            :class:`~sklearn_crcrf.out_of_core.CorpusFolder`, or a list of them, which all workers
            must reach, and which have the labels too.
        y : Bag or list of Delayed
            Labels, partitioned as X; all must be known.
        sample_weight : Bag or list of Delayed, optional
            Weights of the sequences, partitioned as X.

        Returns
        -------
        self
            If training fails, it stays as it was; if it is interrupted, it has the weights of the
            last iteration.

        Raises
        ------
        ValueError
            If there is no token, or input is not valid; the message says in which part, and where.
            Before any work, if a parameter needs all data at once.
        ComputationError
            If the cluster cannot finish the work.
        """
        for parameter, needs_all in self._what_needs_all(("objective",)).items():
            if needs_all:
                raise ValueError(f"{parameter} needs all data at once: use CRF with data in memory")
        known = self._known_weights() if self.warm_start else None
        parts = labelled_parts(X, y, sample_weight)
        local = self._without_client()
        with self._replaced_by(self._unfitted()) as twin:
            data = DaskParts(parts, local, self.client_, **self._shape_options(known))
            twin._fit_parts(DaskShards(data, self.client_, self.wire_dtype), known)
        return self
