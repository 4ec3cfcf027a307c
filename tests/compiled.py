"""The kernels that are compiled for several instruction sets."""

from importlib import import_module

import pytest
from sklearn_crcrf._kernels._cpu import instruction_sets

__all__ = ["compiled"]


def compiled(name):
    """A kernel for each instruction set that can run here, as the values of a parameter."""
    modules = {}
    for instructions in instruction_sets():
        try:
            modules[instructions] = import_module(f"sklearn_crcrf._kernels._{instructions}.{name}")
        except ModuleNotFoundError:
            assert instructions != "baseline"
    return [pytest.param(module, id=instructions) for instructions, module in modules.items()]
