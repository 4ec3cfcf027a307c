"""Co-occurrence counts of symbols and labels: the sufficient statistics of empirical training."""

from .counts import BOUNDARY, ColumnWindow, Counts, Table, Template, count_folds, count_tokens

__all__ = ["BOUNDARY", "ColumnWindow", "Counts", "Table", "Template", "count_folds", "count_tokens"]
