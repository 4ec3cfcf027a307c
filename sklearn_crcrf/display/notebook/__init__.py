"""Labelled sequences as HTML for notebooks, and as plain text elsewhere."""

from .comparison import LabelComparison
from .eli5_weights import enable_eli5
from .lattice import Lattice
from .tagged import TaggedSequence
from .tree import TaggedTree

__all__ = ["LabelComparison", "Lattice", "TaggedSequence", "TaggedTree", "enable_eli5"]
