"""The public names, and the files that define them."""

__all__: list[str]

from .crfpp import read_crfpp_model as read_crfpp_model
from .crfpp import write_crfpp_model as write_crfpp_model
from .crfsuite import read_crfsuite_dump as read_crfsuite_dump
from .crfsuite import read_crfsuite_model as read_crfsuite_model
from .crfsuite import write_crfsuite_model as write_crfsuite_model
from .wapiti import read_wapiti_model as read_wapiti_model
from .wapiti import write_wapiti_model as write_wapiti_model
