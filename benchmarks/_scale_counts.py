"""What counting in parts costs: against one fit, and for a long text."""

import pickle
import resource
import time
import zlib
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from _common import cpu_seconds  # before numpy

# isort: split
from _repeated_brown import repeated_brown

from sklearn_crcrf import EmpiricalCRF
from sklearn_crcrf.counts import count, finish, merge
from sklearn_crcrf.datasets import fetch_brown

__all__ = ["InParts", "LongText", "in_parts", "long_text"]


class InParts(NamedTuple):
    """CPU seconds of one fit and of each step of the same fit in parts, and bytes.

    Parameters
    ----------
    one_fit, counting, merging, estimating : float
        CPU seconds.
    parts, merged : int
        Bytes of all pickled parts, and of the pickled result.
    compressed_parts, compressed_merged : int
        The same, compressed by zlib at its fastest.
    is_equal : bool
        Whether the counts are those of one fit.
    """

    one_fit: float
    counting: float
    merging: float
    estimating: float
    parts: int
    merged: int
    compressed_parts: int
    compressed_merged: int
    is_equal: bool

    @property
    def ratio(self) -> float:
        """CPU of all steps over the CPU of one fit."""
        return (self.counting + self.merging + self.estimating) / self.one_fit


def in_parts(n_parts: int = 20, runs: int = 3) -> InParts:
    """Fit to Brown at once and in parts that know nothing of each other."""
    X, y = fetch_brown(return_X_y=True)
    cuts = [len(X) * k // n_parts for k in range(n_parts + 1)]
    pieces = [(X[a:b], y[a:b]) for a, b in pairwise(cuts)]
    crf = EmpiricalCRF()
    one_fit, fitted = cpu_seconds(lambda: EmpiricalCRF().fit(X, y), runs)
    counting, parts = cpu_seconds(lambda: [count(crf, *piece) for piece in pieces], runs)
    merging, whole = cpu_seconds(lambda: merge(*parts), runs)
    estimating, _ = cpu_seconds(lambda: finish(crf, whole), runs)
    stored = [pickle.dumps(part, 5) for part in parts]
    merged = pickle.dumps(whole, 5)
    sizes = sum(map(len, stored)), len(merged)
    compressed = sum(len(zlib.compress(part, 1)) for part in stored), len(zlib.compress(merged, 1))
    seconds = one_fit, counting, merging, estimating
    return InParts(*seconds, *sizes, *compressed, whole.counts == fitted.counts_)


class LongText(NamedTuple):
    """The cost of ``fit_parts`` for a long text.

    Parameters
    ----------
    n_tokens, n_events : int
    seconds : float
        CPU seconds of counting and estimating, without making the text.
    peak : int
        The most memory that the process had, in bytes, with the text of Brown itself.
    """

    n_tokens: int
    n_events: int
    seconds: float
    peak: int


def long_text(n_tokens: int = 10_000_000) -> LongText:
    """Fit to a long text part by part; to be called in a fresh process."""
    making = [0.0]
    start = time.process_time()
    crf = EmpiricalCRF().fit_parts(_timed(repeated_brown(n_tokens), making))
    seconds = time.process_time() - start - making[0]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return LongText(n_tokens, crf.counts_.n_events, seconds, peak)


def _timed(parts: Iterable, seconds: list[float]) -> Iterator:
    """The parts; the CPU time of making them is added to ``seconds[0]``."""
    left = iter(parts)
    while True:
        start = time.process_time()
        part = next(left, None)
        seconds[0] += time.process_time() - start
        if part is None:
            return
        yield part
