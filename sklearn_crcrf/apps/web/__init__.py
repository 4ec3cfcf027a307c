"""Pages in a browser, over HTTP: to annotate text while a model learns, and to label text.

They need the packages ``starlette`` and ``uvicorn``: ``pip install starlette uvicorn``.
"""

try:
    import starlette  # noqa: F401
    import uvicorn  # noqa: F401
except ImportError as error:
    raise ImportError(
        "pages in a browser need starlette and uvicorn: pip install starlette uvicorn"
    ) from error

# isort: split
from .annotating import annotation_app
from .guard import Guard
from .serving import serve
from .tagging import tagging_app

__all__ = ["Guard", "annotation_app", "serve", "tagging_app"]
