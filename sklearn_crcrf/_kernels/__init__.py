"""Compiled kernels: arrays in, arrays out. Each source file begins with what it computes.

Kernels use the widest set of instructions that the processor has. The environment variable
``SKLEARN_CRCRF_INSTRUCTIONS`` chooses another one: "baseline", "avx2" or "avx512". A wheel has
all of them; what was built in place, only the widest of that machine.
"""

import os
from importlib.machinery import EXTENSION_SUFFIXES

__all__ = ["INSTRUCTIONS", "NUMBER", "SETS", "VARIABLE", "choose"]

VARIABLE = "SKLEARN_CRCRF_INSTRUCTIONS"
SETS = ("baseline", "avx2", "avx512")


def _check_compiled() -> None:
    """Raise ImportError if a source file has no compiled module."""
    for folder, _, files in os.walk(__path__[0]):
        for name in files:
            stem, suffix = os.path.splitext(name)
            if suffix != ".pyx" or any(stem + end in files for end in EXTENSION_SUFFIXES):
                continue
            where = os.path.relpath(folder, __path__[0]).replace(os.sep, ".")
            checkout = os.path.dirname(os.path.dirname(__path__[0]))
            raise ImportError(
                f"{__name__}.{where}.{stem} is not compiled in {checkout}. If this is a "
                'source checkout, which hides an installed package from Python, run "pip install '
                '-e ." in it or start Python in another folder'
            )


def choose(usable: list[str]) -> str:
    """Return the instruction set that the environment asks for, else the first that can run."""
    if not usable:
        raise ImportError(
            "the kernels were compiled for instructions that this processor does not have: "
            'compile them here, with "pip install -e .", or install a wheel, which has all'
        )
    wanted = os.environ.get(VARIABLE) or usable[0]
    if wanted not in SETS:
        raise ValueError(f"{VARIABLE} must be one of {', '.join(SETS)}, but is {wanted!r}")
    if wanted not in usable:
        raise ValueError(
            f"{VARIABLE} is {wanted!r}, but this processor, or this installation, has only "
            f"{', '.join(reversed(usable))}"
        )
    return wanted


_check_compiled()

from .machine import instruction_sets  # noqa: E402, says first what is not compiled

INSTRUCTIONS = choose(instruction_sets())
# Kernels ask for it; see cores.h.
NUMBER = SETS.index(INSTRUCTIONS)
