"""The public names, and the files that define them."""

__all__: list[str]

from .base import Structure as Structure
from .candidates import Candidates as Candidates
from .capabilities import Capabilities as Capabilities
from .capabilities import Unsupported as Unsupported
from .chain.chain import Chain as Chain
from .chain.higher_order import HigherOrderChain as HigherOrderChain
from .graph.graph import Graph as Graph
from .graph.triangle_graph import TriangleGraph as TriangleGraph
from .lattice.lattice import Lattice as Lattice
from .lattice.lattice import LatticeScores as LatticeScores
from .lattice.pruning import RunTable as RunTable
from .of_data import single_tokens as single_tokens
from .of_data import structure_of as structure_of
from .rows import Rows as Rows
from .scores import AddTo as AddTo
from .scores import Pullback as Pullback
from .scores import ScoreGradient as ScoreGradient
from .scores import Scores as Scores
from .scores import TokenTransitions as TokenTransitions
from .segments.costs import SegmentCosts as SegmentCosts
from .segments.semi_markov import SemiMarkovChain as SemiMarkovChain
from .segments.structure import SegmentLayout as SegmentLayout
from .segments.structure import Spans as Spans
from .tree.forest import Forest as Forest
