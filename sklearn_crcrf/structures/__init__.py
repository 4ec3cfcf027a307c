"""Structures: the sets of labellings that are summed and maximised over."""

from .base import Pullback, Structure
from .capabilities import Capabilities, Unsupported
from .chain import Chain
from .of_data import single_tokens, structure_of
from .scores import AddTo, ScoreGradient, Scores, TokenTransitions
from .second_order import SecondOrderChain

__all__ = [
    "AddTo",
    "Capabilities",
    "Chain",
    "Pullback",
    "ScoreGradient",
    "Scores",
    "SecondOrderChain",
    "Structure",
    "TokenTransitions",
    "Unsupported",
    "single_tokens",
    "structure_of",
]
