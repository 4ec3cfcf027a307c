"""Estimators that count on workers, and estimate where ``fit`` is called."""

import pickle
import zlib
from collections.abc import Sequence
from typing import Any, Self

from sklearn.base import _fit_context

from ..counts import Plan, count, finish, merge
from ..estimators.empirical import EmpiricalCRF
from ..estimators.hmm import HMM
from .computing import compute, task, tree
from .estimator import CLIENT, DaskEstimator, with_client
from .parts import concrete, labelled_parts, naming_part

# The lowest level is several times as fast as the highest, and nearly as good.
LEVEL = 1


class Packed:
    """A value that is compressed when it is pickled: on its way, and not on a worker.

    Parameters
    ----------
    value : object

    Examples
    --------
    >>> import pickle
    >>> from sklearn_crcrf import EmpiricalCRF
    >>> from sklearn_crcrf.counts import count
    >>> from sklearn_crcrf.dask.counting import Packed
    >>> part = count(EmpiricalCRF(), [["the", "dog"]] * 9, [["D", "N"]] * 9)
    >>> small = pickle.dumps(Packed(part))
    >>> len(small) < len(pickle.dumps(part)), pickle.loads(small).value.counts == part.counts
    (True, True)
    """

    def __init__(self, value: Any):
        self.value = value

    def __reduce__(self) -> tuple:
        return _unpacked, (zlib.compress(pickle.dumps(self.value, protocol=5), LEVEL),)

    def __sizeof__(self) -> int:
        return self.value.__sizeof__()


def _unpacked(data: bytes) -> Packed:
    return Packed(pickle.loads(zlib.decompress(data)))


class DaskCounting(DaskEstimator):
    """Mixin of estimators that count."""

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Count all parts where they are, and estimate from the sum of the counts.

        The model, and its ``counts_``, are the same as after one fit to all parts in memory, bit
        for bit, whatever the workers. Nothing but counts leaves a worker. The first part with
        tokens sets the columns and the bins of numeric columns; if other parts would have others,
        all are counted a second time.

        Parameters
        ----------
        X : Bag, list of Delayed, or CorpusFolder
            Sequences of token strings or of feature dicts; a Delayed gives any data that ``fit``
            takes in memory. Later parts may bring new words and labels, and parts may be empty. Or
            a :class:`~sklearn_crcrf.out_of_core.CorpusFolder`, or a list of them, which all
            workers must reach, and which have the labels too.
        y : Bag or list of Delayed
            Labels, partitioned as X.
        sample_weight : Bag or list of Delayed, optional
            Weights of the sequences, partitioned as X. Sums of weights that are not integers may
            differ in the last bits from sums in memory, but not between clusters.

        Returns
        -------
        self
            If fitting fails or is interrupted, it stays as it was.

        Raises
        ------
        ValueError
            If there is no token, or input is not valid; the message says in which part, and where.
            Before any work, if the parameters need all data at once, as ``exponents="fit"`` does.
        ComputationError
            If the cluster cannot finish the work.
        """
        local = self._without_client()
        # Without data, to find before any work what is wrong with the parameters.
        count(local, [], [])
        parts = labelled_parts(X, y, sample_weight)
        client = self.client_
        counts = _counted(local, parts, None, client)
        if counts is None:
            counts = _counted(local, parts, _first_plan(local, parts, client), client)
        with self._replaced_by(finish(local, counts)):
            return self


class DaskEmpiricalCRF(DaskCounting, EmpiricalCRF):
    """:class:`~sklearn_crcrf.EmpiricalCRF` whose training data is counted on the workers of Dask.

    Parameters
    ----------
    **params
        As of :class:`~sklearn_crcrf.EmpiricalCRF`. ``exponents="fit"`` needs all data at once:
        call ``fit_exponents`` with held-out data in memory instead.
    client : distributed.Client, default=None
        By default the current client, and without one Dask's local scheduler.

    Attributes
    ----------
    client_ : distributed.Client or None
        The client in use.
    classes_, coef_, counts_, ... : as of :class:`~sklearn_crcrf.EmpiricalCRF`

    Examples
    --------
    >>> import dask.bag as db
    >>> from sklearn_crcrf.dask import DaskEmpiricalCRF
    >>> X = db.from_sequence([["the", "dog", "walks"], ["dogs", "sleep"]], npartitions=2)
    >>> y = db.from_sequence([["D", "N", "V"], ["N", "V"]], npartitions=2)
    >>> crf = DaskEmpiricalCRF().fit(X, y)
    >>> crf.predict(X).compute(scheduler="synchronous")
    [['D', 'N', 'V'], ['N', 'V']]
    >>> crf.to_local()
    EmpiricalCRF()
    """

    _local = EmpiricalCRF
    _parameter_constraints = {**EmpiricalCRF._parameter_constraints, **CLIENT}
    __init__ = with_client(EmpiricalCRF)


class DaskHMM(DaskCounting, HMM):
    """:class:`~sklearn_crcrf.HMM` whose training data is counted on the workers of Dask.

    Parameters
    ----------
    **params
        As of :class:`~sklearn_crcrf.HMM`.
    client : distributed.Client, default=None
        By default the current client, and without one Dask's local scheduler.

    Attributes
    ----------
    client_ : distributed.Client or None
        The client in use.
    classes_, coef_, counts_, ... : as of :class:`~sklearn_crcrf.HMM`

    Examples
    --------
    >>> import dask.bag as db
    >>> from sklearn_crcrf.dask import DaskHMM
    >>> X = db.from_sequence([["the", "dog", "walks"], ["dogs", "sleep"]], npartitions=2)
    >>> y = db.from_sequence([["D", "N", "V"], ["N", "V"]], npartitions=2)
    >>> DaskHMM().fit(X, y).score(X, y)
    1.0
    """

    _local = HMM
    _parameter_constraints = {**HMM._parameter_constraints, **CLIENT}
    __init__ = with_client(HMM)


def _counted(local: Any, parts: Sequence[tuple], plan: Plan | None, client: Any) -> Any:
    """Return the PartialCounts of all parts; None if they would be counted by different plans."""
    leaves = [task(_count, local, number, *part, plan) for number, part in enumerate(parts)]
    counts = compute(tree(_merge, leaves), client)
    return None if counts is None else counts.value


def _first_plan(local: Any, parts: Sequence[tuple], client: Any) -> Plan | None:
    """Return the plan of the first part that has tokens."""
    plans = (
        compute(task(_plan_of, local, number, *part), client) for number, part in enumerate(parts)
    )
    return next((plan for plan in plans if plan is not None), None)


def _count(
    local: Any, number: int, X: Any, y: Any, sample_weight: Any, plan: Plan | None
) -> Packed:
    with naming_part(number):
        data = concrete(X), concrete(y), concrete(sample_weight)
        return Packed(count(local, *data, plan=plan))


def _plan_of(local: Any, number: int, X: Any, y: Any, sample_weight: Any) -> Plan | None:
    return _count(local, number, X, y, sample_weight, None).value.plan


def _merge(parts: list[Packed | None]) -> Packed | None:
    """Return the counts of neighbouring parts; None if they were counted by different plans."""
    there = [part.value for part in parts if part is not None]
    plans = [part.plan for part in there if part.plan is not None]
    if len(there) < len(parts) or any(plans[0].difference(plan) for plan in plans[1:]):
        return None
    return Packed(merge(*there))
