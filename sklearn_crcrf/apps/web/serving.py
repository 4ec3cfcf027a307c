"""Running an application: where it listens, and what it prints."""

import errno
import gc
import html
import secrets
import socket
import sys
import tempfile
import webbrowser
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import uvicorn

from .connections import BACKLOG, Connection, Server
from .guard import Guard

LOOPBACK = ("localhost", "127.0.0.1", "::1")
MAX_BYTES = 2**20
# The addresses to listen on. A port of which another user has one of the loopback addresses is not
# ours: browsers may choose either.
ADDRESSES = {name: ["127.0.0.1", "::1"] for name in LOOPBACK} | {"0.0.0.0": ["0.0.0.0", "::1"]}
MISSING = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
# Seconds after which a thread that computes lets the thread go on that answers.
SWITCH = 0.001


def serve(
    app: Any,
    host: str = "localhost",
    port: int = 8000,
    token: str | None = None,
    open_browser: bool = False,
    max_bytes: int = MAX_BYTES,
    public_url: str | None = None,
    needs_token: bool = False,
) -> None:
    """Serve an application until Ctrl-C.

    Parameters
    ----------
    app : ASGI application
        Such as :func:`annotation_app` and :func:`tagging_app` make.
    host : str, default="localhost"
        The name or address to listen on. On other than loopback addresses everybody needs a token.
    port : int, default=8000
        0 for any free port.
    token : str, optional
        What everybody needs, of letters, digits and ``-._~``. By default, where one is needed, it
        is drawn at random and printed.
    open_browser : bool, default=False
        Whether to open the page.
    max_bytes : int, default=1048576
        Maximum number of bytes of a request.
    public_url : str, optional
        The address at which a proxy shows the page, such as ``https://example.org/labels/``;
        then a token is required, too.
    needs_token : bool, default=False
        Whether a token is needed on loopback addresses too, where other users of this computer
        could connect.

    Raises
    ------
    ValueError
        If it cannot listen there, or the token or the public address is not valid.

    Examples
    --------
    >>> from sklearn_crcrf import EmpiricalCRF
    >>> from sklearn_crcrf.apps.web import serve, tagging_app
    >>> app = tagging_app(EmpiricalCRF().fit([["a", "dog"]], [["D", "N"]]))
    >>> serve(app, port=70000)
    Traceback (most recent call last):
        ...
    ValueError: cannot listen on localhost, port 70000: ...
    """
    if token is None and (needs_token or public_url is not None or host not in LOOPBACK):
        token = secrets.token_urlsafe(24)
    listening = _listening(host, port)
    port = listening[0].getsockname()[1]
    names = {*LOOPBACK, *(() if host in LOOPBACK else _own_names(host))}
    hosts = [_with_port(name, port) for name in names]
    guarded = Guard(app, hosts, token, max_bytes, public_url)
    query = f"?token={token}" if token else ""
    address = f"http://{_with_port(host, port)}/{query}"
    greeting = f"{address}  (Ctrl-C ends it)\n"
    if public_url is not None:
        greeting += f"{public_url.removesuffix('/')}/{query}  (for others)\n"
    config = uvicorn.Config(
        guarded,
        http=Connection,
        ws="none",
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_graceful_shutdown=2,
    )
    with _opened(address, token) if open_browser else nullcontext(), _answering_soon():
        Server(config, greeting).run(sockets=listening)


@contextmanager
def _answering_soon() -> Iterator[None]:
    """Let the thread that answers go on soon while others compute."""
    is_frozen = gc.get_freeze_count() > 0
    gc.collect()
    gc.freeze()  # the model: to search it for garbage again and again would stop all threads
    interval = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)
        if not is_frozen:
            gc.unfreeze()


@contextmanager
def _opened(address: str, token: str | None) -> Iterator[None]:
    """Open an address in the browser, with a token by a file that only the user can read.

    Other users can read the command line of the browser, which has the name of the file.
    """
    if token is None:
        webbrowser.open(address)
        yield
        return
    with tempfile.TemporaryDirectory(prefix="sklearn-crcrf-") as folder:
        file = Path(folder, "open.html")
        file.write_text(
            f'<!doctype html><meta http-equiv="refresh" content="0; url={html.escape(address)}">'
        )
        webbrowser.open(file.as_uri())
        yield


def _listening(host: str, port: int) -> list[socket.socket]:
    """Sockets that listen on the same port; an error names host and port."""
    if not 0 <= port < 2**16:
        raise ValueError(f"cannot listen on {host}, port {port}: there is no such port")
    for n_left in reversed(range(20 if port == 0 else 1)):
        try:
            return _all_bound(ADDRESSES.get(host, [host]), port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE or n_left == 0:
                raise ValueError(f"cannot listen on {host}, port {port}: {error}") from error
    raise AssertionError


def _all_bound(names: list[str], port: int) -> list[socket.socket]:
    """Sockets on the same port of all addresses, of which a computer may lack some."""
    found: list[socket.socket] = []
    missing: list[OSError] = []
    with ExitStack() as stack:
        for name in names:
            try:
                found.append(stack.enter_context(_bound(name, port)))
                port = found[0].getsockname()[1]
            except OSError as error:
                if error.errno not in MISSING:
                    raise
                missing.append(error)
        if not found:
            raise missing[0]
        stack.pop_all()
    return found


def _bound(name: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(
        name, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    found = socket.socket(family, kind, protocol)
    try:
        # On Windows, REUSEADDR would let another process take the port.
        option = "SO_EXCLUSIVEADDRUSE" if sys.platform == "win32" else "SO_REUSEADDR"
        found.setsockopt(socket.SOL_SOCKET, getattr(socket, option), 1)
        found.bind(address)
        found.listen(BACKLOG)
    except OSError:
        found.close()
        raise
    return found


def _own_names(host: str) -> set[str]:
    """Return the names and addresses by which this computer is called."""
    name = socket.gethostname()
    found = {host, name, socket.getfqdn()}
    with suppress(OSError):
        found |= {str(address[0]) for *_, address in socket.getaddrinfo(name, None)}
    return found


def _with_port(name: str, port: int) -> str:
    return f"[{name}]:{port}" if ":" in name else f"{name}:{port}"
