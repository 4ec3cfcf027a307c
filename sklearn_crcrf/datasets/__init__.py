"""Reading and writing labelled text, fetching corpora, and making labelled sequences."""

from ..utils.lazy import attach

# To read text needs no other package.
__getattr__, __dir__, __all__ = attach(__name__, __file__)
