"""Modules under the names that they had before."""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from .warning import warn_caller

ROOT = __name__.partition(".")[0]
MOVED = {
    "annotation": "apps.annotation",
    "annotation.pool": "apps.annotation.pool",
    "constraints": "labels",
    "conversion": "model_files.conversion",
    "crf": "estimators.crf",
    "crf.features": "estimators.crf.features",
    "crfsuite": "estimators.crfsuite",
    "crfsuite.tagger": "estimators.crfsuite.tagger",
    "notebook": "display",
    "opinion_pool": "estimators.opinion_pool",
    "plotting": "display",
    "segments": "labels",
    "web": "apps.web",
}


class MovedModule(ModuleType):
    """Stands for a module under its old name, and imports it, with a warning, for what it has."""

    def __init__(self, old: str, new: str):
        super().__init__(old)
        self._new = new

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__all__":  # what tools ask every module for
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        warn_caller(f"{self.__name__} is now {self._new}; its old name will go", FutureWarning)
        return getattr(import_module(self._new), name)


def add_moved() -> None:
    """Let old names be imported; the modules themselves are imported when they are used."""
    for old, new in MOVED.items():
        name = f"{ROOT}.{old}"
        sys.modules[name] = MovedModule(name, f"{ROOT}.{new}")
