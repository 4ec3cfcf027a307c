"""Labels of one sequence at a time, for services: no package is needed but numpy."""

from .loading import load_tagger
from .tagger import Tagger

__all__ = ["Tagger", "load_tagger"]
