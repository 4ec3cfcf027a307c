"""The kernels that are compiled for several instruction sets, in the best that can run here.

The environment variable ``SKLEARN_CRCRF_INSTRUCTIONS`` chooses another one: "baseline", "avx2" or
"avx512".
"""

import os
from importlib import import_module
from types import ModuleType

from ._cpu import instruction_sets

__all__ = ["INSTRUCTIONS", "history", "lock_step", "row_sums", "viterbi"]


def _load(name: str) -> tuple[str, ModuleType]:
    wanted = os.environ.get("SKLEARN_CRCRF_INSTRUCTIONS")
    for instructions in [wanted] if wanted else instruction_sets():
        try:
            return instructions, import_module(f"{__package__}._{instructions}.{name}")
        except ModuleNotFoundError:
            if instructions in {wanted, "baseline"}:
                raise
    raise AssertionError("there is always a baseline")


INSTRUCTIONS, lock_step = _load("lock_step")
_, row_sums = _load("row_sums")
_, viterbi = _load("viterbi")
_, history = _load("history")
