"""Structures: the sets of labellings that are summed and maximised over."""

from .chain import Chain, Pullback
from .scores import AddTo, ScoreGradient, Scores, TokenTransitions
from .second_order import SecondOrderChain

__all__ = [
    "AddTo",
    "Chain",
    "Pullback",
    "ScoreGradient",
    "Scores",
    "SecondOrderChain",
    "TokenTransitions",
]
