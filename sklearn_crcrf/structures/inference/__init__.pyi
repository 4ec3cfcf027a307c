"""The public names, and the files that define them."""

__all__: list[str]

from .auto import Auto as Auto
from .base import Convergence as Convergence
from .base import Inference as Inference
from .base import Report as Report
from .cut import Cut as Cut
from .exact import Exact as Exact
from .ilp import IntegerProgram as IntegerProgram
from .loopy import Loopy as Loopy
from .registry import INFERENCE as INFERENCE
from .registry import as_inference as as_inference
from .tree_reweighted import TreeReweighted as TreeReweighted
