"""What every request must fulfil before a page sees it.

A page on the loopback address can be reached by every page that the user's browser shows. So the
``Host`` must be ours (else another site could point its own name to this address), requests that
change state must come from our own page (``Origin``, ``Sec-Fetch-Site``) and have JSON content,
which no form of another site can send. On other addresses, everybody needs a token.
"""

import hmac
from collections.abc import Iterable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, RedirectResponse, Response

__all__ = ["POLICY", "Guard"]

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


class Guard:
    """Middleware that refuses requests which are not from our own pages.

    Parameters
    ----------
    app : ASGI application
    hosts : iterable of str
        The values of ``Host`` that are ours, with the port.
    token : str, optional
        What a request must bring: in the header ``Authorization: Bearer TOKEN``, in a cookie, or
        once in the address, ``/?token=TOKEN``, which sets the cookie.
    max_bytes : int
        Maximum number of bytes of the body of a request.

    Examples
    --------
    >>> from sklearn_crcrf import EmpiricalCRF
    >>> from sklearn_crcrf.web import Guard, tagging_app
    >>> app = tagging_app(EmpiricalCRF().fit([["a", "dog"]], [["D", "N"]]))
    >>> guarded = Guard(app, ["localhost:8000"], token=None, max_bytes=10**6)
    """

    def __init__(self, app: Any, hosts: Iterable[str], token: str | None, max_bytes: int):
        self._app, self._hosts = app, {host.lower() for host in hosts}
        self._token, self._max_bytes = token, max_bytes

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

        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, send_guarded)
            return
        body = await self._body(receive)
        if body is None:
            too_long = _error(413, f"a request may have at most {self._max_bytes} bytes")
            await too_long(scope, receive, send_guarded)
            return
        messages = [{"type": "http.request", "body": body, "more_body": False}]

        async def replay() -> Any:
            return messages.pop() if messages else await receive()

        await self._app(scope, replay, send_guarded)

    def _refusal(self, scope: MutableMapping[str, Any]) -> Response | None:
        """Why a request is refused; None if it is not."""
        headers, method = Headers(scope=scope), scope["method"]
        host = headers.get("host", "").lower()
        if host not in self._hosts:
            return _error(421, "this host name is not served here")
        if method not in SAFE_METHODS:
            if not _is_own_origin(headers, f"{scope['scheme']}://{host}"):
                return _error(403, "requests of other sites are refused")
            kind = headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind != "application/json":
                return _error(415, "the content must be application/json")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self._max_bytes:
            return _error(413, f"a request may have at most {self._max_bytes} bytes")
        return None if self._token is None else self._refusal_by_token(scope, headers)

    def _refusal_by_token(
        self, scope: MutableMapping[str, Any], headers: Headers
    ) -> Response | None:
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self._is_token(bearer):
            return None
        if self._is_token(_cookie(headers.get("cookie", ""))):
            return None
        query = parse_qs(scope["query_string"].decode("latin-1"))
        if scope["method"] == "GET" and self._is_token(query.get("token", [""])[0]):
            answer = RedirectResponse(scope["path"], status_code=303)
            answer.set_cookie(COOKIE, self._token or "", httponly=True, samesite="strict")
            return answer
        return _error(401, "a token is needed: open the address that was printed at the start")

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), (self._token or "").encode())

    async def _body(self, receive: Any) -> bytes | None:
        """The whole body; None if it is too long."""
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if len(body) > self._max_bytes:
                return None
            if not message.get("more_body", False):
                return body


def _is_own_origin(headers: Headers, own: str) -> bool:
    """Whether a request is from our own page, or from a program that is no browser."""
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    return site in (None, "same-origin", "none") and origin in (None, own)


def _cookie(text: str) -> str:
    try:
        morsel = SimpleCookie(text).get(COOKIE)
    except CookieError:
        return ""
    return "" if morsel is None else morsel.value


def _error(status: int, message: str) -> JSONResponse:
    return JSONResponse({"error": message}, status_code=status)
