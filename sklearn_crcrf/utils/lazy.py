"""Packages whose public names are imported when they are asked for."""

import sys
from collections.abc import Callable
from importlib import import_module
from os.path import splitext
from typing import Any

Faces = tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]


def attach(package: str, file: str) -> Faces:
    """Make ``__getattr__``, ``__dir__`` and ``__all__`` of a package from its type stub.

    What is not used is not imported: the command line starts at once, and a program waits only for
    the estimators that it has. Type checkers read the same stub.

    Parameters
    ----------
    package, file : str
        ``__name__`` and ``__file__`` of the package. In the file with the suffix ".pyi" each line
        ``from .home import name as name`` is a public name.

    Examples
    --------
    >>> import sklearn_crcrf
    >>> _, _, names = attach("sklearn_crcrf", sklearn_crcrf.__file__)
    >>> names[:3]
    ['CRF', 'HMM', 'MEMM']
    """
    # Not pathlib, which takes as long to import as much of a tagger.
    with open(f"{splitext(file)[0]}.pyi", encoding="utf-8") as stub:
        imports = [line.split() for line in stub if line.startswith("from .")]
    homes = {name: home for _, home, _, name, *_ in imports}

    def get(name: str) -> Any:
        """Import a public name, or a package, when it is asked for."""
        if name in homes:
            value = getattr(import_module(homes[name], package), name)
            setattr(sys.modules[package], name, value)
            return value
        full_name = f"{package}.{name}"
        if not name.startswith("__"):
            try:
                return import_module(full_name)
            except ModuleNotFoundError as error:
                if error.name != full_name:
                    raise
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    names = sorted(homes, key=lambda name: (not name.isupper(), name))
    return get, lambda: sorted({*vars(sys.modules[package]), *names}), names
