"""Allocations fail where they are told to, and what must not come of it is found."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "campaigns"
PROGRAM = """
import sys
sys.path.insert(0, {folder!r})
from _allocator import ensure_loaded, failures
ensure_loaded()
import _memory as memory
import numpy as np
from random import Random
from _campaign import Wrong
from _models import Trainer, examples
from sklearn_crcrf import HMM

kinds, y = examples(50)
memory.N_TIMES = 200


def outcomes(estimator, n=12):
    memory._trainers[:] = [Trainer("some trainer", estimator, kinds["words"], y)]
    return {{memory.allocations(Random(i), i) for i in range(n)}}


with failures(1, 1, 10**6) as failed:
    kept = np.ones(10**6), np.ones(10)
    try:
        np.ones(10**6)
    except MemoryError:
        pass
    kept = np.ones(10**6)
assert failed == [1], failed
assert "MemoryError" in outcomes(HMM())


class Unsafe(HMM):
    def fit(self, X, y):
        self.begin_ = None
        return super().fit(X, y)


try:
    outcomes(Unsafe(), 100)
except Wrong as error:
    print(error)
"""


@pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None, reason="needs Linux and a C compiler"
)
def test_failing_allocations(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(folder=os.fspath(FOLDER)))
    run = [sys.executable, os.fspath(program)]
    process = subprocess.run(run, capture_output=True, text=True, timeout=300)
    assert process.returncode == 0, process.stderr
    assert process.stdout == "some trainer: a fit without memory has changed the estimator\n"
