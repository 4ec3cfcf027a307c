"""Models of other programs: CRFsuite, CRF++ and Wapiti."""

from ...utils.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
