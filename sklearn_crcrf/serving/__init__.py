"""Labels of one sequence at a time, for services: no package is needed but numpy."""

from .tagger import Tagger, load_tagger

__all__ = ["Tagger", "load_tagger"]
