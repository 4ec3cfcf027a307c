"""The public names, and the files that define them."""

__all__: list[str]

from .items import ItemSequence as ItemSequence
from .tagger import ParsedDump as ParsedDump
from .tagger import Tagger as Tagger
from .trainer import BaseTrainer as BaseTrainer
from .trainer import CRFSuiteError as CRFSuiteError
from .trainer import Trainer as Trainer

CRFSUITE_VERSION: str
