"""Running an application: where it listens, and what it prints."""

import secrets
import socket
import webbrowser
from contextlib import suppress
from typing import Any

from ._starlette import uvicorn
from .guard import Guard

__all__ = ["serve"]

LOOPBACK = ("localhost", "127.0.0.1", "::1")
MAX_BYTES = 2**20


def serve(
    app: Any,
    host: str = "localhost",
    port: int = 8000,
    token: str | None = None,
    open_browser: bool = False,
    max_bytes: int = MAX_BYTES,
) -> None:
    """Serve an application until Ctrl-C.

    Parameters
    ----------
    app : ASGI application
    host : str, default="localhost"
        The name or address to listen on. On any but the loopback addresses a token is required of
        everybody; by default it is drawn at random and printed.
    port : int, default=8000
        0 for any free port.
    token : str, optional
        Required of everybody, if given.
    open_browser : bool, default=False
        Whether to open the page.
    max_bytes : int
        Maximum number of bytes of a request.

    Raises
    ------
    ValueError
        If it cannot listen there.

    Examples
    --------
    >>> from sklearn_crcrf import EmpiricalCRF
    >>> from sklearn_crcrf.web import serve, tagging_app
    >>> app = tagging_app(EmpiricalCRF().fit([["a", "dog"]], [["D", "N"]]))
    >>> serve(app, port=70000)
    Traceback (most recent call last):
        ...
    ValueError: cannot listen on localhost, port 70000: ...
    """
    if token is None and host not in LOOPBACK:
        token = secrets.token_urlsafe(24)
    listening = _listening(host, port)
    port = listening.getsockname()[1]
    names = LOOPBACK if host in LOOPBACK else _own_names(host)
    guarded = Guard(app, [_with_port(name, port) for name in names], token, max_bytes)
    address = f"http://{_with_port(host, port)}/" + (f"?token={token}" if token else "")
    print(f"{address}  (Ctrl-C ends it)", flush=True)
    if open_browser:
        webbrowser.open(address)
    config = uvicorn.Config(
        guarded,
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=5,
    )
    uvicorn.Server(config).run(sockets=[listening])


def _listening(host: str, port: int) -> socket.socket:
    """A socket that listens; an error names host and port."""
    if not 0 <= port < 2**16:
        raise ValueError(f"cannot listen on {host}, port {port}: there is no such port")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        found = socket.socket(family, kind, protocol)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(128)
    except OSError as error:
        raise ValueError(f"cannot listen on {host}, port {port}: {error}") from error
    return found


def _own_names(host: str) -> set[str]:
    """The names and addresses by which this computer is called."""
    name = socket.gethostname()
    found = {host, name, socket.getfqdn()}
    with suppress(OSError):
        found |= {str(address[0]) for *_, address in socket.getaddrinfo(name, None)}
    return found


def _with_port(name: str, port: int) -> str:
    return f"[{name}]:{port}" if ":" in name else f"{name}:{port}"
