"""Pages in a browser, over HTTP: to annotate text while a model learns, and to label text.

They need the packages ``starlette`` and ``uvicorn``: ``pip install "sklearn-crcrf[web]"``.
"""

from . import _starlette  # noqa: F401, says first if a package is missing

# isort: split
from .annotating import annotation_app
from .guard import Guard
from .serving import serve
from .tagging import tagging_app

__all__ = ["Guard", "annotation_app", "serve", "tagging_app"]
