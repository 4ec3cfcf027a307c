"""Kernels compiled for several instruction sets, in the best set that the processor has.

The environment variable ``SKLEARN_CRCRF_INSTRUCTIONS`` chooses another one: "baseline", "avx2" or
"avx512".
"""

import os
from importlib import import_module
from types import ModuleType

from ._cpu import instruction_sets

__all__ = [
    "INSTRUCTIONS",
    "VARIABLE",
    "binary_labels",
    "history",
    "lattices",
    "learning",
    "lock_step",
    "propagation",
    "row_sums",
    "segments",
    "tagging",
    "trees",
    "viterbi",
]

VARIABLE = "SKLEARN_CRCRF_INSTRUCTIONS"
SETS = ("baseline", "avx2", "avx512")


def _compiled(name: str, instructions: str) -> ModuleType | None:
    """A kernel compiled for an instruction set, or None."""
    try:
        return import_module(f"{__package__}._{instructions}.{name}")
    except ModuleNotFoundError:
        if instructions == "baseline":
            raise
        return None


def _choose() -> str:
    """The instruction set that the environment asks for, else the widest that can run."""
    usable = [wide for wide in instruction_sets() if _compiled("lock_step", wide) is not None]
    wanted = os.environ.get(VARIABLE) or usable[0]
    if wanted not in SETS:
        raise ValueError(f"{VARIABLE} must be one of {', '.join(SETS)}, but is {wanted!r}")
    if wanted not in usable:
        raise ValueError(
            f"{VARIABLE} is {wanted!r}, but this processor, or this installation, has only "
            f"{', '.join(reversed(usable))}"
        )
    return wanted


INSTRUCTIONS = _choose()
(
    binary_labels,
    history,
    lattices,
    learning,
    lock_step,
    propagation,
    row_sums,
    segments,
    tagging,
    trees,
    viterbi,
) = (import_module(f"{__package__}._{INSTRUCTIONS}.{name}") for name in __all__[2:])
