"""The kernels that are compiled for several instruction sets."""

from importlib import import_module

import pytest

from sklearn_crcrf._kernels import INSTRUCTIONS

__all__ = ["compiled"]


def compiled(name):
    """A kernel, as the value of a parameter that names the instruction set in use."""
    return [pytest.param(import_module(f"sklearn_crcrf._kernels.{name}"), id=INSTRUCTIONS)]
