"""The interface of python-crfsuite: ``from sklearn_crcrf.compat import pycrfsuite``.

For programs that import ``pycrfsuite`` themselves, set ``sys.modules["pycrfsuite"]`` to this module
before.
"""

from ...utils.lazy import attach

CRFSUITE_VERSION = "0.12.2"
"""The version of CRFsuite whose models are read and written."""

__getattr__, __dir__, __all__ = attach(__name__, __file__)
