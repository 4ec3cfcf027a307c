"""Clusters and a corpus in parts for the tests of this folder.

A cluster takes a share of a processor even while it has nothing to do: none outlives its module.
"""

import warnings
from copy import deepcopy
from itertools import pairwise

import pytest

dask = pytest.importorskip("dask", reason="needs dask")
distributed = pytest.importorskip("distributed", reason="needs dask.distributed")

import dask.bag as db  # noqa: E402

from sklearn_crcrf.datasets import make_addresses  # noqa: E402

# Where the parts begin: the second and the last are empty.
CUTS = [0, 9, 9, 16, 24, 28, 36, 40, 40]
QUIET = {"dashboard_address": None, "silence_logs": 60, "threads_per_worker": 1}


@pytest.fixture(scope="module", autouse=True)
def configuration():
    """Clients that workers make for themselves leave their settings behind."""
    before = deepcopy(dask.config.config)
    yield
    dask.config.config.clear()
    dask.config.config.update(before)


@pytest.fixture(autouse=True)
def synchronous():
    """Without a client everything is computed in this thread."""
    with dask.config.set(scheduler="synchronous"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Port .* is already in use")
        yield


@pytest.fixture(scope="session")
def corpus():
    """Sequences and labels; some words and labels appear late, and one sequence is empty."""
    X, y = make_addresses(39, random_state=0)
    X, y = [list(words) for words in X], [list(labels) for labels in y]
    X[-1], y[-1] = ["to", "Lateville"], ["O", "B-LATE"]
    return [*X[:12], [], *X[12:]], [*y[:12], [], *y[12:]]


@pytest.fixture(scope="session")
def in_parts():
    """A function that makes a bag, or a list of Delayed, of a list."""

    def cut(data, cuts=CUTS, bag=True):
        pieces = [data[a:b] for a, b in pairwise(cuts)]
        parts = [dask.delayed(piece, pure=False) for piece in pieces]
        return db.from_delayed(parts) if bag else parts

    return cut


@pytest.fixture(scope="module")
def client():
    """Two workers that are threads of this process."""
    with (
        distributed.LocalCluster(n_workers=2, processes=False, **QUIET) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def own_client():
    """A function that starts a cluster and a client for a single test."""
    opened = []

    def start(n_workers=1, **options):
        cluster = distributed.LocalCluster(
            n_workers=n_workers, **{"processes": False, **QUIET, **options}
        )
        client = distributed.Client(cluster, set_as_default=False)
        opened.extend([client, cluster])
        return client

    yield start
    for it in opened:
        it.close()


@pytest.fixture(scope="module")
def processes():
    """Two workers that are processes."""
    with (
        distributed.LocalCluster(n_workers=2, processes=True, **QUIET) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client
