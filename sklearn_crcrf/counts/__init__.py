"""Co-occurrence counts of symbols and labels: the sufficient statistics of empirical training."""

from .counting import count_folds, count_tokens
from .counts import BOUNDARY, Counts, Table, Template
from .links import Links
from .window import ColumnWindow

__all__ = [
    "BOUNDARY",
    "ColumnWindow",
    "Counts",
    "Links",
    "Table",
    "Template",
    "count_folds",
    "count_tokens",
]
