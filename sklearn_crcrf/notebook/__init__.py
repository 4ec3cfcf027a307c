"""Labelled sequences as HTML for notebooks, and as plain text elsewhere.

The HTML needs neither scripts nor a network, and all data in it is escaped. It follows the light or
dark scheme of the page, or else of the browser, and can be printed.
"""

from .comparison import LabelComparison
from .eli5_weights import enable_eli5
from .lattice import Lattice
from .tagged import TaggedSequence
from .tree import TaggedTree

__all__ = ["LabelComparison", "Lattice", "TaggedSequence", "TaggedTree", "enable_eli5"]
