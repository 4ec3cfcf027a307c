"""Functions of JSON objects as routes of an application."""

import json
from collections.abc import Callable, Generator, Mapping
from functools import partial
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from .work import MAX_COST, Busy, Reserve, Work

Content = dict[str, Any]
# Seconds after which the client is told that it takes too long.
TIMEOUT = 30.0
# Of an act that is one step.
COST = MAX_COST / 50
# Of values in a request, and of digits in a whole number: Python takes long to make many objects or
# large numbers, and does nothing else meanwhile.
MAX_VALUES, MAX_DIGITS = 50_000, 20


class BadRequest(ValueError):
    """A request whose content is not valid."""


class TooMuch(BadRequest):
    """A request that asks for more than one request may."""


def post_steps(
    path: str, steps: Callable[[Content, Reserve], Generator[str, None, None]], work: Work
) -> Route:
    """Make a route whose answer is made in steps from the JSON object that is posted.

    Parameters
    ----------
    path : str
    steps : callable
        Takes the object, and a function to be called with the cost before any work; yields pieces
        of the text of the answer.
    work : Work
        Shared with other routes.
    """

    def all_steps(body: bytes, reserve: Reserve) -> Generator[str, None, None]:
        yield from steps(_json_of(body), reserve)

    return _route(path, "POST", all_steps, work)


def post(path: str, answer: Callable[[Content], Any], work: Work) -> Route:
    """Make a route whose answer is a function of the JSON object that is posted."""

    def steps(content: Content, reserve: Reserve) -> Generator[str, None, None]:
        reserve(COST)
        yield dumps(answer(content))

    return post_steps(path, steps, work)


def get(path: str, answer: Callable[[], Any], work: Work) -> Route:
    """Make a route whose answer to GET is the JSON object that a function returns."""

    def steps(body: bytes, reserve: Reserve) -> Generator[str, None, None]:
        reserve(COST)
        yield dumps(answer())

    return _route(path, "GET", steps, work)


def constant(path: str, value: Any) -> Route:
    """Make a route whose answer to GET is always the same, and never waits for work."""
    return Route(path, _response(dumps(value)), methods=["GET"])


def _route(path: str, method: str, steps: Callable, work: Work) -> Route:
    """Make a route whose answer is made in steps from the bytes that come with the request."""

    async def endpoint(request: Request) -> Response:
        body = await request.body()
        try:
            return _response(await work.run(partial(steps, body), request, TIMEOUT))
        except TooMuch as error:
            return _failure(413, error)
        except (ValueError, TypeError) as error:
            return _failure(400, error)
        except TimeoutError:
            return _failure(503, f"it takes more than {TIMEOUT:g} s")
        except Busy:
            return _failure(503, "too many requests wait: try again later", {"Retry-After": "2"})
        except ClientDisconnect:
            return _failure(499, "the client has left")  # who will not read this
        except OSError as error:
            return _failure(507, f"nothing was saved: {error}")
        except RuntimeError as error:
            return _failure(500, error)

    return Route(path, endpoint, methods=[method], name=path.rpartition("/")[2])


def dumps(value: Any) -> str:
    """Return the text of a JSON value."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _json_of(body: bytes) -> Content:
    if sum(map(body.count, (b"[", b"{", b","))) > MAX_VALUES:
        raise TooMuch(f"the content may have at most {MAX_VALUES} brackets and commas")
    try:
        content = json.loads(body, parse_constant=_refuse, parse_int=_whole)
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"the content is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise BadRequest("the content must be a JSON object")
    return content


def check_keys(content: Mapping[str, Any], *names: str) -> None:
    """Raise BadRequest if a JSON object has other keys than these."""
    if unknown := [*content.keys() - set(names)]:
        what = ", ".join(f"{name!r:.80}" for name in sorted(unknown)[:5])
        raise BadRequest(f"the content has unknown keys: {what}; known are {', '.join(names)}")


def get_text(content: Mapping[str, Any], name: str, longest: int) -> str:
    """Return a string in a JSON object.

    Raises
    ------
    BadRequest
        If it is missing, no string, or longer than ``longest``.
    """
    value = content.get(name)
    if not isinstance(value, str):
        raise BadRequest(f"{name!r} must be a string")
    if len(value) > longest:
        raise BadRequest(f"{name!r} may have at most {longest} characters")
    return value


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _whole(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"a whole number may have at most {MAX_DIGITS} digits")
    return int(digits)


def _response(text: str) -> Response:
    return Response(text.encode(), media_type="application/json")


def _failure(status: int, error: object, headers: Mapping[str, str] | None = None) -> Response:
    return JSONResponse({"error": str(error)}, status, headers)
