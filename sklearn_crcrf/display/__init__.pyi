"""The public names, and the files that define them."""

__all__: list[str]

from .notebook.comparison import LabelComparison as LabelComparison
from .notebook.eli5_weights import enable_eli5 as enable_eli5
from .notebook.examples import TrainingExamples as TrainingExamples
from .notebook.label_issues import LabelIssueList as LabelIssueList
from .notebook.lattice import Lattice as Lattice
from .notebook.tagged import TaggedSequence as TaggedSequence
from .notebook.tree import TaggedTree as TaggedTree
from .plotting.attributes import TopAttributesDisplay as TopAttributesDisplay
from .plotting.confusion import LabelConfusionDisplay as LabelConfusionDisplay
from .plotting.label_issues import LabelIssuesDisplay as LabelIssuesDisplay
from .plotting.regularisation import RegularisationDisplay as RegularisationDisplay
from .plotting.reliability import ReliabilityDisplay as ReliabilityDisplay
from .plotting.segment_errors import SegmentErrorsDisplay as SegmentErrorsDisplay
from .plotting.training import TrainingCurve as TrainingCurve
from .plotting.training import TrainingDisplay as TrainingDisplay
from .plotting.transitions import TransitionDisplay as TransitionDisplay
