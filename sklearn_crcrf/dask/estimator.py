"""What all estimators on Dask have in common: the client, prediction by parts, and scores."""

from collections.abc import Callable
from copy import copy
from inspect import Parameter, signature
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils._param_validation import HasMethods

from ..counts import Counts, Table
from ..utils.replaced_parts import check_fitted
from .computing import current_client, sent, task
from .metrics import token_accuracy
from .packages import require_dask
from .parts import concrete, is_distributed, same_parts

CLIENT: dict[str, list] = {"client": [HasMethods(["compute", "gather", "persist"]), None]}
"""The constraint of the parameter that all estimators on Dask add."""


def with_client(local: type, **added: Any) -> Callable[..., None]:
    """Return a constructor with the parameters of a class, others, and ``client``.

    Parameters
    ----------
    local : type
    **added
        Other parameters, and their default values.

    Returns
    -------
    callable

    Examples
    --------
    >>> from sklearn_crcrf import HMM
    >>> from sklearn_crcrf.dask.estimator import with_client
    >>> "client" in signature(with_client(HMM)).parameters
    True
    """

    added["client"] = None

    def __init__(self: Any, *args: Any, **params: Any) -> None:
        for name, default in added.items():
            setattr(self, name, params.pop(name, default))
        local.__init__(self, *args, **params)  # type: ignore[misc]

    given = signature(local.__init__)  # type: ignore[misc]
    own = [Parameter(name, Parameter.KEYWORD_ONLY, default=it) for name, it in added.items()]
    parameters = [*given.parameters.values(), *own]
    __init__.__signature__ = given.replace(parameters=parameters)  # type: ignore[attr-defined]
    return __init__


class DaskEstimator:
    """Mixin of estimators whose data are bags or other parts that Dask computes.

    A subclass sets ``_local``, the class of the same estimator for data in memory, from which it
    also inherits.
    """

    _local: Any
    client: Any
    get_params: Callable[..., dict[str, Any]]
    _replaced_by: Callable[..., Any]

    @property
    def client_(self) -> Any:
        """The client in use; None if there is none, so that Dask's local scheduler computes."""
        return current_client(self.client)

    def to_local(self) -> Any:
        """Return the same model as an estimator for data in memory, which needs no Dask.

        Returns
        -------
        estimator
            Fitted if this one is; it shares the arrays of the model.
        """
        getattr(self, "classes_", None)  # computes estimates that were postponed
        params = self.get_params(deep=False)
        fitted = {name: value for name, value in vars(self).items() if name not in params}
        local = self._without_client()
        vars(local).update(fitted)
        return local

    def _without_client(self) -> Any:
        """Return the estimator for data in memory with the same parameters, not fitted."""
        names = self._local._get_param_names()
        params = self.get_params(deep=False)
        return self._local(**{name: params[name] for name in names})

    def __sklearn_clone__(self) -> Any:
        make: Any = type(self)
        params = clone(self._without_client()).get_params(deep=False)
        added = self.get_params(deep=False).keys() - params.keys()
        twin = make(**params, **{name: getattr(self, name) for name in added})
        requests = vars(self).get("_metadata_request")
        if requests is not None:
            vars(twin)["_metadata_request"] = copy(requests)
        return twin

    def __getstate__(self) -> dict[str, Any]:
        # A client is a connection of this process.
        state: Any = super().__getstate__()
        return {**state, "client": None}

    def predict(self, X: Any, allowed: Any = None, subject_to: Any = None) -> Any:
        """Return the labels of the best path of each sequence.

        Parameters
        ----------
        X : Bag, list of Delayed, or data in memory
            The sequences to label.
        allowed : Bag, list of Delayed, or data in memory, optional
            Partitioned as X. Known labels: for each token its label, a set of labels that it may
            have, or None if any is possible.
        subject_to : list of constraints, optional
            Constraints on the labels of whole sequences.

        Returns
        -------
        Bag or list of Delayed
            The labels of each part, computed when they are used; for data in memory, the labels.
        """
        if not is_distributed(X):
            return super().predict(X, allowed, subject_to)  # type: ignore[misc]
        return self._by_parts(_predict, X, {"allowed": allowed}, subject_to)

    def predict_proba(self, X: Any, subject_to: None = None) -> Any:
        """Return marginal probabilities of the labels of each token.

        Parameters
        ----------
        X : Bag, list of Delayed, or data in memory
            The sequences.
        subject_to : None
            Only None: there are no probabilities under constraints.

        Returns
        -------
        Bag or list of Delayed
            An array for each sequence, computed when it is used; for data in memory, the
            probabilities.
        """
        if not is_distributed(X) or subject_to is not None:
            return super().predict_proba(X, subject_to)  # type: ignore[misc]
        return self._by_parts(_predict_proba, X, {})

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of the labels of all tokens of all parts.

        Parameters
        ----------
        X, y : Bag, list of Delayed, or data in memory
            The sequences and their labels, partitioned alike.
        sample_weight : Bag, list of Delayed, or data in memory, optional
            One weight for each sequence, partitioned as X.

        Returns
        -------
        float
            In [0, 1].

        Raises
        ------
        ValueError
            If input is not valid.
        """
        if not is_distributed(X):
            return super().score(X, y, sample_weight)  # type: ignore[misc]
        options = {"sample_weight": sample_weight, "client": self.client}
        accuracy = token_accuracy(y, self.predict(X), zero_division=np.nan, **options)
        if np.isnan(accuracy):
            raise ValueError("there is nothing to score: X has no tokens with a positive weight")
        return accuracy

    def _by_parts(self, function: Callable, X: Any, others: dict[str, Any], *args: Any) -> Any:
        """Call a function of model and part for all parts; each worker gets the model once."""
        check_fitted(self)
        model = sent(_without_counts(self.to_local()))
        parts = same_parts(X=X, **others)
        if isinstance(X, require_dask("dask.bag").Bag):
            return X.map_partitions(function, model, *others.values(), *args)
        return [task(function, part, model, *rest, *args) for part, *rest in parts]


def _without_counts(model: Any) -> Any:
    """Return a model without the counts, which prediction does not use."""
    counts = getattr(model, "counts_", {})
    if counts:
        tables = {template: Table(t.events[:0], t.weights[:0]) for template, t in counts.items()}
        model.counts_ = Counts(tables)
    return model


def _predict(X: Any, model: Any, allowed: Any, subject_to: Any) -> Any:
    labels = model.predict(concrete(X), concrete(allowed), subject_to)
    is_nested = isinstance(labels, np.ndarray) and labels.dtype == np.dtype(object)
    return labels.tolist() if is_nested else labels


def _predict_proba(X: Any, model: Any) -> Any:
    return model.predict_proba(concrete(X))
