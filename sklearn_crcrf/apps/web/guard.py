"""What every request must fulfil before a page sees it.

A page on the loopback address can be reached by every page that the user's browser shows. So the
``Host`` must be ours (else another site could point its own name to this address), requests that
change state must come from our own page (``Origin``, ``Sec-Fetch-Site``) and have JSON content,
which no form of another site can send. On other addresses, everybody needs a token.

Behind a proxy, the public address says which ``Host`` and ``Origin`` are ours as well; headers such
as ``X-Forwarded-Proto``, which anybody can send, are never read.
"""

import asyncio
import hmac
import re
from collections.abc import Iterable, MutableMapping
from typing import Any
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
COOKIE = "sklearn_crcrf_token"
SAFE_METHODS = ("GET", "HEAD")
TOKEN = re.compile(r"[A-Za-z0-9._~-]+")
PUBLIC = re.compile(
    r"(?i:(https?)://)([^\s\[\]:/@?#]+|\[[0-9a-fA-F:.]+\])(?::([0-9]{1,5}))?((?:/[A-Za-z0-9._~-]+)*)/?"
)
PORTS = {"http": "80", "https": "443"}
# Seconds for the body of a request, and the most bytes of all requests that are kept at a time.
BODY_SECONDS, MAX_KEPT = 10.0, 2**26
UNREAD = (408, 413, 503)
NEEDS_TOKEN = "a token is needed: open the address that was printed at the start"
# Loaded from our own address, it comes with the cookie, which links on other sites do not send.
AGAIN = f'<!doctype html><meta http-equiv="refresh" content="0; url=./"><p>{NEEDS_TOKEN}</p>'


class Guard:
    """Middleware that refuses requests from other pages, and without the token.

    Parameters
    ----------
    app : ASGI application
        What gets the other requests.
    hosts : iterable of str
        The values of ``Host`` that are ours, with the port, which may be left out if it is 80.
    token : str, optional
        What a request must bring: in the header ``Authorization: Bearer TOKEN``, in a cookie, or
        once in the address, ``/?token=TOKEN``, which sets the cookie. It has letters, digits and
        ``-._~``.
    max_bytes : int
        Maximum number of bytes of the body of a request.
    public_url : str, optional
        The address at which a proxy shows the pages, such as ``https://example.org/labels/``. Its
        host and origin are ours, too; paths may begin with its path, or the proxy removes it.

    Raises
    ------
    ValueError
        If the token has no or other characters, or the address is not valid.

    Examples
    --------
    >>> from sklearn_crcrf import EmpiricalCRF
    >>> from sklearn_crcrf.apps.web import Guard, tagging_app
    >>> app = tagging_app(EmpiricalCRF().fit([["a", "dog"]], [["D", "N"]]))
    >>> guarded = Guard(app, ["localhost:8000"], token=None, max_bytes=10**6)
    """

    def __init__(
        self,
        app: Any,
        hosts: Iterable[str],
        token: str | None,
        max_bytes: int,
        public_url: str | None = None,
    ):
        if token is not None and not TOKEN.fullmatch(token):
            raise ValueError(
                "the token must have at least one character: letters, digits and -._~ only"
            )
        self._app, self._hosts = app, {host.lower().removesuffix(":80") for host in hosts}
        self._token, self._max_bytes, self._n_kept = token, max_bytes, 0
        self._turn = asyncio.Lock()
        self._public_host, self._public_origin, self._prefix = _public(public_url)

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return

        async def send_guarded(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        prefix = self._prefix
        if prefix and scope["path"].startswith(f"{prefix}/"):
            scope = {**scope, "root_path": prefix}
        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, send_guarded)
            return
        body = bytearray()
        try:
            refusal = await self._read(receive, body)
            if refusal is not None:
                await refusal(scope, receive, send_guarded)
                return
            messages = [{"type": "http.request", "body": bytes(body), "more_body": False}]

            async def replay() -> Any:
                return messages.pop() if messages else await receive()

            await self._app(scope, replay, send_guarded)
        finally:
            self._n_kept -= len(body)

    def _refusal(self, scope: MutableMapping[str, Any]) -> Response | None:
        """Why a request is refused, or where it should go; None if it is answered."""
        headers, method = Headers(scope=scope), scope["method"]
        host = headers.get("host", "").lower().removesuffix(":80")
        is_public = host in self._public_host
        if not is_public and host not in self._hosts:
            return _error(421, "this host name is not served here")
        if method not in SAFE_METHODS:
            own = self._public_origin if is_public else f"{scope['scheme']}://{host}"
            site, origin = headers.get("sec-fetch-site"), headers.get("origin")
            is_own_site = site in (None, "same-origin", "none")  # None: no browser
            if not is_own_site or origin not in (None, own, self._public_origin or own):
                return _error(403, "requests of other sites are refused")
            kind = headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind != "application/json":
                return _error(415, "the content must be application/json")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self._max_bytes:
            return self._too_long()
        if self._prefix and scope["path"] == self._prefix:
            return RedirectResponse(f"{self._prefix}/", status_code=307)
        return None if self._token is None else self._refusal_by_token(scope, headers)

    def _refusal_by_token(
        self, scope: MutableMapping[str, Any], headers: Headers
    ) -> Response | None:
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self._is_token(bearer):
            return None
        _, port = scope.get("server") or (None, None)
        cookie = f"{COOKIE}_{port}"  # browsers send the cookies of a host to all its ports
        if self._is_token(cookie_parser(headers.get("cookie", "")).get(cookie, "")):
            return None
        is_page = scope["method"] == "GET" and scope["path"] in ("/", f"{self._prefix}/")
        query = parse_qs(scope["query_string"].decode("latin-1"))
        if is_page and self._is_token(query.get("token", [""])[0]):
            answer: Response = RedirectResponse(f"{self._prefix}/", status_code=303)
            answer.set_cookie(
                cookie,
                self._token or "",
                path=f"{self._prefix}/",
                secure=self._public_origin.startswith("https:"),
                httponly=True,
                samesite="strict",
            )
            return answer
        if is_page and headers.get("sec-fetch-site") == "cross-site":
            return HTMLResponse(AGAIN, status_code=401)
        return _error(401, NEEDS_TOKEN)

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), (self._token or "").encode())

    async def _read(self, receive: Any, body: bytearray) -> Response | None:
        """Read the whole body; return why the request is refused."""
        try:
            async with asyncio.timeout(BODY_SECONDS):
                message: Any = {"more_body": True}
                while message.get("more_body", False):
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return Response()  # which nobody reads
                    if len(body) + len(message.get("body", b"")) > self._max_bytes:
                        return self._too_long()
                    body += message.get("body", b"")
                    self._n_kept += len(message.get("body", b""))
                    if self._n_kept > MAX_KEPT:
                        return _error(503, "too many requests wait: try again later")
                    if message.get("more_body", False):
                        async with self._turn:  # one piece at a time, and others between them
                            await asyncio.sleep(0)
        except TimeoutError:
            return _error(408, f"a request must be complete within {BODY_SECONDS:g} s")
        return None

    def _too_long(self) -> Response:
        return _error(413, f"a request may have at most {self._max_bytes} bytes")


def _public(url: str | None) -> tuple[set[str], str, str]:
    """Return the values of Host, the origin and the path, without the last slash, of an address."""
    if url is None:
        return set(), "", ""
    found = PUBLIC.fullmatch(url)
    try:
        name = found[2].lower().encode("idna").decode() if found else ""
    except UnicodeError:
        name = ""
    if not (found and name):
        raise ValueError(
            f"the public address {url!r} must be like https://example.org/ or "
            "https://example.org/path/"
        )
    scheme, port, path = found[1].lower(), found[3], found[4]
    if port not in (None, PORTS[scheme]):
        return {f"{name}:{port}"}, f"{scheme}://{name}:{port}", path
    return {name, f"{name}:{PORTS[scheme]}"}, f"{scheme}://{name}", path


def _error(status: int, message: str) -> JSONResponse:
    # What is left of a request that was not read must not be taken for the next one.
    headers = {"Connection": "close"} if status in UNREAD else None
    return JSONResponse({"error": message}, status_code=status, headers=headers)
