"""Co-occurrence counts of symbols and labels: the sufficient statistics of empirical training."""

from .classifier import count, finish
from .counting import ColumnWindow, count_folds, count_tokens
from .counts import BOUNDARY, Counts, Table, Template
from .links import Links
from .observations import Plan
from .parts import PartialCounts, merge
from .purging import Receipt, digest

__all__ = [
    "BOUNDARY",
    "ColumnWindow",
    "Counts",
    "Links",
    "PartialCounts",
    "Plan",
    "Receipt",
    "Table",
    "Template",
    "count",
    "count_folds",
    "count_tokens",
    "digest",
    "finish",
    "merge",
]
