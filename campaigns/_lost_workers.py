"""Workers of a cluster are killed at any time of a fit, and not a bit of the model changes."""

import os
import signal
import time
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

from _campaign import Campaign, Outcome, Wrong, show
from _determinism import plain
from distributed import Client, LocalCluster

from sklearn_crcrf import EmpiricalCRF
from sklearn_crcrf.dask import DaskCRF, DaskEmpiricalCRF, computing, gradients, read_conll
from sklearn_crcrf.datasets import make_addresses, write_conll
from sklearn_crcrf.datasets import read_conll as read_here

N_FILES, N_SEQUENCES, N_WORKERS = 8, 20, (2, 4)
QUIET = {"dashboard_address": None, "silence_logs": 60, "threads_per_worker": 1}
FITTED = {
    "EmpiricalCRF": (DaskEmpiricalCRF, {}),
    "CRF": (DaskCRF, {"features": "observed", "tol": 0.1}),
}

_temporary = TemporaryDirectory()
_folder: Path
_expected: dict[str, Any] = {}


def prepare() -> None:
    """Write files, and fit to them in memory, or on this thread."""
    global _folder
    _folder = Path(_temporary.name)
    paths = [_folder / f"{number}.txt" for number in range(N_FILES)]
    for number, path in enumerate(paths):
        write_conll(path, *make_addresses(N_SEQUENCES, random_state=number))
    parts = [read_here(path) for path in paths]
    X, y = ([sequence for part in parts for sequence in part[k]] for k in range(2))
    _expected["EmpiricalCRF"] = state(EmpiricalCRF().fit(X, y))


def killed(rng: Random, number: int) -> Outcome:
    """A worker is killed; in a tenth of the fits, none is."""
    warnings.simplefilter("ignore")
    name, fan_in, n_workers = rng.choice(list(FITTED)), rng.randint(2, 8), rng.choice(N_WORKERS)
    fit, params = FITTED[name]
    X, y = read_conll([_folder / f"{k}.txt" for k in range(N_FILES)])
    client, pids = some_workers(n_workers)
    seconds = calm_seconds(name, client)
    computing.FAN_IN, gradients.FAN_IN = fan_in, 4  # another tree of gradients has other roundings
    delay = None if number % 10 == 9 else rng.uniform(0, 1.2 * seconds)
    show(name, n_workers, "workers, fan-in", fan_in, "killed after", delay)
    killer = Thread(target=kill, args=(rng.choice(pids), delay))
    start = time.monotonic()
    killer.start()
    model = fit(**params, client=client).fit(X, y)
    taken = time.monotonic() - start
    killer.join()
    if state(model.to_local()) != expected(name):
        raise Wrong(f"{name}: other bits after a worker was killed", delay)
    is_killed = delay is not None and delay < taken
    how = f"{n_workers} workers, {'one' if is_killed else 'none'} killed"
    return Outcome(f"{name}, {how}", {"seconds": taken, f"seconds of {name}, {how}": taken})


def kill(pid: int, delay: float | None) -> None:
    """Kill a worker, after a time."""
    if delay is not None:
        time.sleep(delay)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def some_workers(n_workers: int) -> tuple[Client, list[int]]:
    """A client, and the processes of at least two workers, while others start again."""
    while True:
        client = cluster(n_workers)
        try:
            client.wait_for_workers(2, 30)
            pids = sorted(client.run(os.getpid, on_error="ignore").values())
        except (OSError, TimeoutError):
            pids = []
        if len(pids) >= 2:
            return client, pids
        end_cluster(client)


@cache
def cluster(n_workers: int) -> Client:
    """A cluster of processes, for all inputs of this process."""
    return Client(LocalCluster(n_workers=n_workers, processes=True, **QUIET))


def end_cluster(client: Client) -> None:
    """End a cluster that does not recover, so that the next input starts others."""
    cluster.cache_clear()
    for it in (client, client.cluster):
        with suppress(OSError, TimeoutError):
            it.close(timeout=120)


_calm: dict[str, float] = {}


def calm_seconds(name: str, client: Client) -> float:
    """How long a fit takes when no worker is killed."""
    if name not in _calm:
        fit, params = FITTED[name]
        start = time.monotonic()
        files = [_folder / f"{k}.txt" for k in range(N_FILES)]
        fit(**params, client=client).fit(*read_conll(files))
        _calm[name] = time.monotonic() - start
    return _calm[name]


@cache
def expected(name: str) -> Any:
    """The state of a model that was fitted without a cluster."""
    if name in _expected:
        return _expected[name]
    fit, params = FITTED[name]
    files = [_folder / f"{k}.txt" for k in range(N_FILES)]
    with computing.require_dask("dask").config.set(scheduler="synchronous"):
        return state(fit(**params).fit(*read_conll(files)).to_local())


def state(model: Any) -> Any:
    """All fitted attributes, as values that can be compared."""
    return {name: plain(value) for name, value in vars(model).items() if name.endswith("_")}


CAMPAIGNS = [
    Campaign("workers", killed, prepare=prepare, n=50, batch=1000, allowed=(), limit=600.0)
]
