"""The present names of modules that earlier releases had under other names."""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

__all__ = ["MOVED", "keep_importable"]

# Modules of release 0.1 that its reference documents, or whose classes model files name. Only the
# names of the modules have changed, not the names of their classes and functions.
MOVED = {
    "_tables": "counts.tables",
    "constraints": "constraints.constraints",
    "contributions": "base.contributions",
    "counts": "counts.counts",
    "crf.crfsuite": "crfsuite.estimator",
    "crf.encoder": "linear.encoder",
    "empirical.binning": "counts.binning",
    "empirical.lexicon": "counts.lexicon",
    "empirical.observations": "counts.observations",
    "empirical.rows": "counts.rows",
    "empirical.storage": "counts.storage",
    "empirical.tabulate": "counts.tabulator",
    "empirical.weights": "counts.state_weights",
    "explanation": "notebook.explanation",
    "hmm": "counts.hmm",
    "labels": "labels.encoding",
    "linear.weights": "base.weights",
    "memm": "crf.memm",
    "spelling": "feature_extraction.spelling",
    "vocabulary": "data.vocabulary",
}


def keep_importable(package: str) -> None:
    """Make modules importable under their old names; they are imported when they are used.

    Parameters
    ----------
    package : str
        The name of this package. A present package with an old name is kept.
    """
    for old, new in MOVED.items():
        if not new.startswith(f"{old}."):
            name = f"{package}.{old}"
            sys.modules.setdefault(name, _Moved(name, f"{package}.{new}"))


class _Moved(ModuleType):
    """A module that has what another one has."""

    def __init__(self, name: str, new: str):
        super().__init__(name, f"Moved to {new}.")
        self._new = new

    def __getattr__(self, name: str) -> Any:
        # Tools that look at all modules ask for these, and want nothing to be imported.
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(import_module(self._new), name)
