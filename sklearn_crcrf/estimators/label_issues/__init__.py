"""Labels that are probably wrong."""

from .finding import find_label_issues, left_out_issues
from .issues import LabelIssue, LabelIssues

__all__ = ["LabelIssue", "LabelIssues", "find_label_issues", "left_out_issues"]
