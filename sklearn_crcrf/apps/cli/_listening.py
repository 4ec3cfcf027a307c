"""Options of the commands that open a page in a browser."""

import argparse
import os
import stat
import warnings
from pathlib import Path
from typing import Any, NoReturn

from ._text import whole

VARIABLE = "SKLEARN_CRCRF_TOKEN"
NOT_HERE = (
    "--token would show the token to all users of this computer: use --token-file FILE, or the "
    f"environment variable {VARIABLE}; without them a token is drawn where one is needed"
)


class Refused(argparse.Action):
    """An option that is refused, with a message that says what to use instead."""

    def __call__(self, parser: argparse.ArgumentParser, *given: Any, **options: Any) -> NoReturn:
        """Refuse it."""
        parser.error(NOT_HERE)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add where the page is served."""
    parser.add_argument(
        "--host",
        default="localhost",
        help="name or address to listen on; default: localhost. On others a token is required, "
        "which is printed",
    )
    parser.add_argument("--port", type=whole, default=8000, help="default: 8000; 0 for any")
    parser.add_argument(
        "--token-file",
        metavar="FILE",
        help=f"require the token in this file of everybody; or set {VARIABLE}",
    )
    parser.add_argument("--token", action=Refused, nargs="?", help=argparse.SUPPRESS)
    parser.add_argument(
        "--public-url",
        metavar="URL",
        help="address at which a proxy shows the page: https://example.org/labels/",
    )
    parser.add_argument(
        "--no-browser", action="store_true", help="print the address, but do not open it"
    )


def listen(app: Any, options: argparse.Namespace, needs_token: bool = False) -> None:
    """Serve an application where the options say, until Ctrl-C."""
    from ..web import serve

    serve(
        app,
        host=options.host,
        port=options.port,
        token=_token(options.token_file),
        open_browser=not options.no_browser,
        public_url=options.public_url,
        needs_token=needs_token,
    )


def _token(path: str | None) -> str | None:
    """Read the token of the file or the environment; None if there is neither."""
    if path is None:
        return os.environ.get(VARIABLE)
    if os.name == "posix" and os.stat(path).st_mode & (stat.S_IRGRP | stat.S_IROTH):
        warnings.warn(f"{path}: other users can read the token (chmod 600)", stacklevel=2)
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: the token is not UTF-8: {error}") from error
