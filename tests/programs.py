"""Import modules of a folder of programs, which are not part of the package."""

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest


@contextmanager
def modules_of(folder: Path) -> Iterator[Callable[[str], ModuleType]]:
    """Import modules of a folder by their names; afterwards they are forgotten.

    Folders have modules of the same name, which would be taken for each other. What programs set
    for threads is undone, too.
    """
    with pytest.MonkeyPatch.context() as patch:
        for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
            patch.setenv(variable, "1")
        patch.syspath_prepend(folder)
        yield importlib.import_module
    for name, module in list(sys.modules.items()):
        if Path(getattr(module, "__file__", None) or "").parent == folder:
            del sys.modules[name]
