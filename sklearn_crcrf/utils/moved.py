"""Packages that were moved can be imported by their old names."""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from .warning import warn_caller

ROOT = __name__.partition(".")[0]
MOVED = {
    "annotation": "apps.annotation",
    "constraints": "labels",
    "conversion": "model_files.conversion",
    "crf": "estimators.crf",
    "crfsuite": "estimators.crfsuite",
    "notebook": "display",
    "opinion_pool": "estimators.opinion_pool",
    "plotting": "display",
    "segments": "labels",
    "web": "apps.web",
}


class MovedPackages(MetaPathFinder):
    """Finds a module by the old name of its package, and warns."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how to import the module; None if its name is not old."""
        root, _, inner = fullname.partition(".")
        old, _, rest = inner.partition(".")
        if root != ROOT or old not in MOVED:
            return None
        new = f"{ROOT}.{MOVED[old]}"
        if not rest:
            warn_caller(f"{fullname} is now {new}; its old name will go", FutureWarning)
        return ModuleSpec(fullname, _Import(f"{new}.{rest}" if rest else new))


class _Import(Loader):
    """Imports a module that has another name than was asked for."""

    def __init__(self, name: str):
        self._name = name

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Import it, and remember its own specification, which the import system replaces."""
        module = import_module(self._name)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Give it back its own specification."""
        module.__spec__ = self._spec


def find_moved() -> None:
    """Let old names be found, before the folders are searched, where some would be found twice."""
    sys.meta_path.insert(0, MovedPackages())
