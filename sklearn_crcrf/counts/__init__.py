"""Co-occurrence counts of symbols and labels: the sufficient statistics of empirical training."""

from .counting import ColumnWindow, count_folds, count_tokens
from .counts import BOUNDARY, Counts, Table, Template
from .fitting import count, finish
from .links import Links
from .parts import PartialCounts, Plan, merge

__all__ = [
    "BOUNDARY",
    "ColumnWindow",
    "Counts",
    "Links",
    "PartialCounts",
    "Plan",
    "Table",
    "Template",
    "count",
    "count_folds",
    "count_tokens",
    "finish",
    "merge",
]
