"""The public names, and the files that define them."""

__all__: list[str]

from .annotations import Annotation as Annotation
from .annotations import Annotations as Annotations
from .log import Log as Log
from .marks import Marks as Marks
from .marks import SegmentMarks as SegmentMarks
from .marks import TagMarks as TagMarks
from .marks import marks_for as marks_for
from .pool import Pool as Pool
from .workbench import Workbench as Workbench
