"""The files of the pages: a fixed few, so that no path of a request names a file."""

from pathlib import Path

from starlette.responses import Response
from starlette.routing import Route

FOLDER = Path(__file__).parent / "pages"
TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}


def pages(*names: str) -> list[Route]:
    """Make routes to files in the folder ``pages``: the first at "/", the others at their names."""
    routes: list[Route] = []
    for name in names:
        file = FOLDER / name
        answer = Response(file.read_bytes(), media_type=TYPES[file.suffix])
        path = f"/{name}" if routes else "/"
        routes.append(Route(path, answer, methods=["GET"], name=name))
    return routes
