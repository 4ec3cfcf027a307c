"""Structures: sets of labellings, with sums and maxima over all labellings."""

from .base import Structure
from .candidates import Candidates
from .capabilities import Capabilities, Unsupported
from .chain import Chain
from .forest import Forest
from .graph import Graph
from .higher_order import HigherOrderChain
from .lattice import Lattice, LatticeScores
from .of_data import single_tokens, structure_of
from .run_table import RunTable
from .scores import AddTo, Pullback, ScoreGradient, Scores, TokenTransitions
from .segment_costs import SegmentCosts
from .segment_spans import SegmentLayout, Spans
from .semi_markov import SemiMarkovChain
from .triangle_graph import TriangleGraph

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
