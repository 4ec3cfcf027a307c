"""Co-occurrence counts of symbols and labels: the sufficient statistics of empirical training."""

from .counts import BOUNDARY, Counts, Table, Template, Window, count_folds, count_tokens

__all__ = ["BOUNDARY", "Counts", "Table", "Template", "Window", "count_folds", "count_tokens"]
