"""Annotation of text by people, while a model learns from every sentence: no web, no display."""

from .annotations import Annotation, Annotations
from .log import Log
from .marks import Marks, SegmentMarks, TagMarks, marks_for
from .pool import Pool
from .workbench import Workbench

__all__ = [
    "Annotation",
    "Annotations",
    "Log",
    "Marks",
    "Pool",
    "SegmentMarks",
    "TagMarks",
    "Workbench",
    "marks_for",
]
