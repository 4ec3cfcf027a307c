"""What asks for memory only to be faster does without where there is none, and gives it back."""

import ctypes
import multiprocessing
import sys
from pathlib import Path

import numpy as np
import pytest

from sklearn_crcrf import EmpiricalCRF
from sklearn_crcrf.utils.memory import LARGEST, release_freed_memory, retain_freed_memory


@pytest.mark.skipif(sys.platform != "linux", reason="needs the /proc of Linux")
def test_where_there_is_no_memory_nothing_is_retained():
    child = multiprocessing.get_context("fork").Process(target=without_memory)
    child.start()
    child.join(60)
    assert child.exitcode == 0


def without_memory():
    import resource

    crf = EmpiricalCRF().fit([["a", "b"]] * 3, [["x", "y"]] * 3)
    labels = crf.predict([["a", "b"]]).tolist()
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + LARGEST // 2
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    held = []  # in place of what this process has freed before
    with pytest.raises(MemoryError):
        while True:
            held.append(np.empty(LARGEST, dtype=np.int8))
    retain_freed_memory.cache_clear()
    retain_freed_memory()
    assert crf.predict([["a", "b"]]).tolist() == labels


def test_other_c_libraries_have_no_such_function(monkeypatch):
    release_freed_memory()
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    release_freed_memory()
