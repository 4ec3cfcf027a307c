"""The files of the pages: a fixed few, so that no path of a request names a file."""

from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

FOLDER = Path(__file__).parent / "pages"
TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}


def pages(index: str, *others: str) -> list[Route]:
    """Routes to files in the folder ``pages``.

    Parameters
    ----------
    index : str
        The file at the address "/".
    *others : str
        The other files, at their names.
    """
    return [_page("/", index), *(_page(f"/{name}", name) for name in others)]


def _page(path: str, name: str) -> Route:
    file = FOLDER / name
    content, kind = file.read_bytes(), TYPES[file.suffix]

    async def endpoint(request: Request) -> Response:
        return Response(content, media_type=kind)

    return Route(path, endpoint, methods=["GET"], name=name)
