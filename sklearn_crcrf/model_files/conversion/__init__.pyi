"""The public names, and the files that define them."""

__all__: list[str]

from .crfpp import read_crfpp_model as read_crfpp_model
from .crfsuite import read_crfsuite_dump as read_crfsuite_dump
from .crfsuite import read_crfsuite_model as read_crfsuite_model
from .crfsuite import write_crfsuite_model as write_crfsuite_model
