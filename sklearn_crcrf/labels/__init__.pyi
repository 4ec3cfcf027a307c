"""The public names, and the files that define them."""

__all__: list[str]

from .constraints.agreement import Implies as Implies
from .constraints.agreement import SameLabel as SameLabel
from .constraints.constraints import Constraints as Constraints
from .constraints.constraints import as_constraints as as_constraints
from .constraints.constraints import segment_constraints as segment_constraints
from .constraints.global_constraint import GlobalConstraint as GlobalConstraint
from .constraints.linear import AtLeast as AtLeast
from .constraints.linear import AtMost as AtMost
from .constraints.linear import Exactly as Exactly
from .constraints.linear import Linear as Linear
from .constraints.segments import AtMostSegments as AtMostSegments
from .constraints.segments import OneSegment as OneSegment
from .encoding import LabelIds as LabelIds
from .encoding import encode_labels as encode_labels
from .encoding import sort_labels as sort_labels
from .partial import encode_allowed as encode_allowed
from .partial import encode_partial_labels as encode_partial_labels
from .segments.roles import Roles as Roles
from .segments.roles import roles_of as roles_of
from .segments.segments import Segments as Segments
from .segments.segments import SpelledSegments as SpelledSegments
from .segments.segments import convert_scheme as convert_scheme
from .segments.segments import segments_to_labels as segments_to_labels
from .segments.segments import spell_segments as spell_segments
from .segments.segments import to_segments as to_segments
