"""Options of the commands that open a page in a browser."""

import argparse
from typing import Any

from ._numbers import whole

__all__ = ["add_options", "listen"]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add where the page is served."""
    parser.add_argument(
        "--host",
        default="localhost",
        help="name or address to listen on; default: localhost. On others a token is required, "
        "which is printed",
    )
    parser.add_argument("--port", type=whole, default=8000, help="default: 8000; 0 for any")
    parser.add_argument("--token", help="require this token of everybody")
    parser.add_argument(
        "--no-browser", action="store_true", help="print the address, but do not open it"
    )


def listen(app: Any, options: argparse.Namespace) -> None:
    """Serve an application where the options say, until Ctrl-C."""
    from ..web import serve

    serve(
        app,
        host=options.host,
        port=options.port,
        token=options.token,
        open_browser=not options.no_browser,
    )
