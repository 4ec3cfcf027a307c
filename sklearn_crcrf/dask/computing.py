"""Computation on the workers of a client, or by Dask's local scheduler, that never hangs.

Everything that a fit computes is a call whose arguments are values or results of other calls: when
a worker is lost, the scheduler computes its results again from their arguments, and they are the
same.
"""

import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, wait
from contextlib import contextmanager
from functools import partial
from itertools import groupby
from threading import Lock, Thread
from time import monotonic
from typing import Any, Self
from uuid import uuid4

from .._version import __version__
from .packages import require_dask
from .sizes import register_sizes

FAN_IN = 8
"""How many results are merged at once."""

# Seconds between two looks at the cluster, and how long it may be without workers.
INTERVAL = 0.5
PATIENCE = "60s"
# How many times as long a busy scheduler may be silent.
SILENCE = 10
# The setting of Dask that is used in place of PATIENCE.
NO_WORKERS = "distributed.scheduler.no-workers-timeout"
CLOSED = "the client was closed before the computation ended"
LARGE_GRAPH = "distributed.admin.large-graph-warning-threshold"

# Settings of Dask are shared by all threads.
_settings = Lock()


class ComputationError(RuntimeError):
    """Raised if a cluster ends a computation without a result.

    Examples
    --------
    >>> from sklearn_crcrf.dask import ComputationError
    >>> issubclass(ComputationError, RuntimeError)
    True
    """


def current_client(client: Any) -> Any:
    """Return the given client, or the default client of this process, or None.

    Parameters
    ----------
    client : distributed.Client or None

    Returns
    -------
    distributed.Client or None
        None if Dask's local scheduler computes.
    """
    if client is not None or "distributed" not in sys.modules:
        return client
    try:
        return require_dask("distributed").default_client()
    except ValueError:
        return None


def task(function: Callable, *args: Any) -> Any:
    """Return a call that a worker will make, if it has the same version of this package.

    Parameters
    ----------
    function : callable
        Of a module, so that its name is sent.
    *args : object
        Values or Delayed objects; may hold Delayed objects in lists.

    Returns
    -------
    Delayed
    """
    call = require_dask("dask").delayed(_run)
    key = f"{function.__name__.strip('_')}-{uuid4()}"
    return call(__version__, function, *args, dask_key_name=key)


def sent(value: Any) -> Any:
    """Return a value that travels once to each worker, as bytes that no scheduler unpacks."""
    return task(pickle.loads, pickle.dumps(value, protocol=5))


def tree(merge: Callable, leaves: Sequence[Any]) -> Any:
    """Merge neighbouring results until one is left.

    The shape depends on the number of leaves alone, so sums are rounded in the same way wherever
    they are computed.

    Parameters
    ----------
    merge : callable
        Takes a list of neighbouring results.
    leaves : list of Delayed
        At least one.

    Returns
    -------
    Delayed
    """
    level = list(leaves)
    while len(level) > 1:
        groups = [level[start : start + FAN_IN] for start in range(0, len(level), FAN_IN)]
        level = [task(merge, group) if len(group) > 1 else group[0] for group in groups]
    return level[0]


def compute(wanted: Any, client: Any = None) -> Any:
    """Return the values of Delayed objects.

    Parameters
    ----------
    wanted : Delayed or list of Delayed
    client : distributed.Client, optional

    Returns
    -------
    object or list of objects

    Raises
    ------
    ComputationError
        If the client is closed, the computation is cancelled, the scheduler does not answer, or
        there is no worker for the time that the setting
        ``distributed.scheduler.no-workers-timeout`` of Dask gives, or 60 seconds.
    """
    is_one = not isinstance(wanted, list)
    listed = [wanted] if is_one else wanted
    if client is None:
        values = list(require_dask("dask").compute(*listed))
    else:
        futures = _submitted(client, client.compute, listed)
        try:
            values = _results(client, futures)
        finally:
            # If nobody wants the results any more, the scheduler forgets the work that led to them.
            for future in futures:
                future.release()
    return values[0] if is_one else values


def persist(wanted: Sequence[Any], client: Any = None) -> list[Any]:
    """Begin to compute values that stay where they are computed, for as long as they are used.

    Parameters
    ----------
    wanted : list of Delayed
    client : distributed.Client, optional

    Returns
    -------
    list of distributed.Future or of Delayed
        Arguments of other calls.

    Raises
    ------
    ComputationError
        As in :func:`compute`.
    """
    if client is None:
        return list(require_dask("dask").persist(*wanted))
    return _submitted(client, client.compute, list(wanted))


def persist_evenly(wanted: Sequence[Any], client: Any = None) -> list[Any]:
    """As :func:`persist`; neighbours are together, and all threads of the workers have as many.

    By itself the scheduler may begin several on one worker, where they would stay. If a worker is
    lost, others take what it had.
    """
    threads = {} if client is None else _threads(client)
    slots = [address for address, n_threads in threads.items() for _ in range(n_threads)]
    if not slots:
        return persist(wanted, client)

    def slot(number: int) -> str:
        return slots[number * len(slots) // len(wanted)]

    futures = []
    for address, numbers in groupby(range(len(wanted)), slot):
        on_worker = partial(client.compute, workers=[address], allow_other_workers=True)
        futures += _submitted(client, on_worker, [wanted[number] for number in numbers])
    return futures


def call(function: Callable, *columns: Sequence[Any], client: Any = None) -> list[Any]:
    """Begin calls of a function, one for each row of columns, whose results stay on the workers.

    It costs a scheduler less than :func:`task` and :func:`persist`, as it is one message.

    Parameters
    ----------
    function : callable
        Of a module, so that its name is sent.
    *columns : list
        Values, or results of :func:`persist` or of other calls; may hold these in lists.
    client : distributed.Client, optional
        Without one, the calls are made when their results are computed.

    Returns
    -------
    list of distributed.Future or of Delayed

    Raises
    ------
    ComputationError
        If the client is closed.
    """
    if client is None:
        return [task(function, *row) for row in zip(*columns, strict=True)]
    n_rows = len(columns[0])
    name = f"{function.__name__.strip('_')}-{uuid4()}"
    keys = [f"{name}-{number}" for number in range(n_rows)]
    start = partial(client.map, _run, [__version__] * n_rows, [function] * n_rows, key=keys)
    return _submitted(client, partial(start, pure=False), *columns)


class Calls:
    """Calls of which only the last results are wanted; all are forgotten at the end of ``with``.

    Parameters
    ----------
    client : distributed.Client or None

    Examples
    --------
    >>> import dask
    >>> from sklearn_crcrf.dask.computing import Calls
    >>> with dask.config.set(scheduler="synchronous"), Calls(None) as calls:
    ...     lengths = calls.begin(len, ["a", "bcd"])
    ...     calls.results(calls.begin(max, lengths, [2, 2]))
    [2, 3]
    """

    def __init__(self, client: Any):
        self._client = client
        self._begun: list[Any] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        # Not before: the scheduler may read a call after it forgot what the call depends on.
        if self._client is not None:
            for future in self._begun:
                future.release()

    def begin(self, function: Callable, *columns: Sequence[Any]) -> list[Any]:
        """As :func:`call`."""
        begun = call(function, *columns, client=self._client)
        self._begun += begun
        return begun

    def results(self, wanted: Sequence[Any]) -> list[Any]:
        """Return the values of results of calls; raises ComputationError as :func:`compute`."""
        if self._client is None:
            return list(require_dask("dask").compute(*wanted))
        return _results(self._client, list(wanted))


def _threads(client: Any) -> dict[str, int]:
    """Return the number of threads of each worker; none if the scheduler does not answer."""
    _check_open(client)
    asked = _in_thread(client.nthreads)
    wait([asked], _patience())
    is_known = asked.done() and asked.exception() is None
    return dict(sorted(asked.result().items())) if is_known else {}


def _run(version: str, function: Callable, *args: Any) -> Any:
    if version != __version__:
        raise ComputationError(
            f"a worker has version {__version__} of sklearn-crcrf, but the client has {version}: "
            "install the same version everywhere"
        )
    register_sizes()
    return function(*args)


def _submitted(client: Any, submit: Callable, *wanted: Any) -> Any:
    """Submit work, without a warning about the weights that it holds as arguments."""
    _check_open(client)
    no_warning = require_dask("dask").config.set({LARGE_GRAPH: "1 PiB"})
    with _settings, no_warning, _lost_client(client):
        return submit(*wanted)


def _check_open(client: Any) -> None:
    if client.asynchronous:
        raise ComputationError("the client is asynchronous, but estimators wait for their results")
    if client.status != "running":
        raise ComputationError(f"the client is not connected to a cluster, but {client.status}")


def _results(client: Any, futures: list[Any]) -> list[Any]:
    """Return the results of futures of Dask, from a thread that may wait longer than this one."""
    gathered = _in_thread(client.gather, futures)
    watch = _Watch(client)
    with _lost_client(client):
        while not wait([gathered], INTERVAL).done:
            watch.look()
        return gathered.result()


@contextmanager
def _lost_client(client: Any) -> Iterator[None]:
    """Raise ComputationError for whatever is raised because a client was closed meanwhile."""
    try:
        yield
    except ComputationError:
        raise
    except CancelledError as error:
        raise ComputationError(f"the computation was cancelled: {error}") from error
    except Exception as error:
        if _is_open(client):
            raise
        raise ComputationError(CLOSED) from error


def _is_open(client: Any) -> bool:
    return client.status in ("running", "connecting")


class _Watch:
    """Raises ComputationError when a cluster can no longer finish any work."""

    def __init__(self, client: Any):
        self._client = client
        self._patience = _patience()
        # When the scheduler last answered, and when it last had workers.
        self._answered = self._last_seen = monotonic()
        self._asked: Future | None = None

    def look(self) -> None:
        if not _is_open(self._client):
            raise ComputationError(CLOSED)
        if self._asked is None:
            self._asked = _in_thread(self._client.nthreads)
        elif self._asked.done():
            if self._asked.exception() is None:
                self._answered = monotonic()
                self._last_seen = self._answered if self._asked.result() else self._last_seen
            self._asked = None
        waited, silence = self._answered - self._last_seen, monotonic() - self._answered
        if waited > self._patience:
            raise ComputationError(f"the cluster has had no worker for {waited:.0f} seconds")
        if silence > SILENCE * self._patience:
            raise ComputationError(f"the scheduler has not answered for {silence:.0f} seconds")


def _patience() -> float:
    """For how many seconds a cluster may be without workers."""
    given = require_dask("dask").config.get(NO_WORKERS, None)
    return require_dask("dask.utils").parse_timedelta(given or PATIENCE)


def _in_thread(function: Callable, *args: Any) -> Future:
    """Call a function in a thread of its own, which does not keep the process alive."""
    future: Future = Future()

    def run() -> None:
        try:
            future.set_result(function(*args))
        except BaseException as error:
            future.set_exception(error)

    Thread(target=run, daemon=True, name="sklearn_crcrf.dask").start()
    return future
