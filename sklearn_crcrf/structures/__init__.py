"""Structures: sets of labellings, with sums and maxima over all labellings."""

from .base import Structure
from .candidates import Candidates
from .capabilities import Capabilities, Unsupported
from .chain.chain import Chain
from .chain.higher_order import HigherOrderChain
from .graph.graph import Graph
from .graph.triangle_graph import TriangleGraph
from .lattice.lattice import Lattice, LatticeScores
from .lattice.run_table import RunTable
from .of_data import single_tokens, structure_of
from .scores import AddTo, Pullback, ScoreGradient, Scores, TokenTransitions
from .segments.costs import SegmentCosts
from .segments.semi_markov import SemiMarkovChain
from .segments.structure import SegmentLayout, Spans
from .tree.forest import Forest

__all__ = [
    "AddTo",
    "Candidates",
    "Capabilities",
    "Chain",
    "Forest",
    "Graph",
    "HigherOrderChain",
    "Lattice",
    "LatticeScores",
    "Pullback",
    "RunTable",
    "ScoreGradient",
    "Scores",
    "SegmentCosts",
    "SegmentLayout",
    "SemiMarkovChain",
    "Spans",
    "Structure",
    "TokenTransitions",
    "TriangleGraph",
    "Unsupported",
    "single_tokens",
    "structure_of",
]
