"""Compiled kernels: arrays in, arrays out. Each source file begins with what it computes."""

from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path


def _check_compiled() -> None:
    """Raise ImportError if a source file has no compiled module."""
    here = {path.name for path in Path(__file__).parent.iterdir()}
    for name in sorted(name.removesuffix(".pyx") for name in here if name.endswith(".pyx")):
        if here.isdisjoint(name + suffix for suffix in EXTENSION_SUFFIXES):
            raise ImportError(
                f"{__name__}.{name} is not compiled in {Path(__file__).parents[1]}. If this is a "
                'source checkout, which hides an installed package from Python, run "pip install '
                '-e ." in it or start Python in another folder'
            )


_check_compiled()
