"""Functions of JSON objects as routes of an application."""

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

__all__ = ["BadRequest", "answering", "get_text", "json_of", "post"]

Answer = Callable[[dict[str, Any]], Any]


class BadRequest(ValueError):
    """A request whose content is not valid."""


def post(path: str, answer: Answer, timeout: float = 30.0) -> Route:
    """A route whose answer is a function of the JSON object that is posted.

    Parameters
    ----------
    path : str
    answer : callable
        Takes the object; runs in a thread of its own, so it may take its time.
    timeout : float
        Seconds after which the client is told that it takes too long.
    """

    async def endpoint(request: Request) -> Response:
        try:
            content = json_of(await request.body())
            return JSONResponse(await asyncio.wait_for(run_in_threadpool(answer, content), timeout))
        except (ValueError, TypeError) as error:
            return _failure(400, error)
        except TimeoutError:
            return _failure(503, f"it takes more than {timeout:g} s")
        except OSError as error:
            return _failure(507, f"nothing was saved: {error}")
        except RuntimeError as error:
            return _failure(500, error)

    return Route(path, endpoint, methods=["POST"], name=path.rpartition("/")[2])


def answering(path: str, answer: Callable[[], Any]) -> Route:
    """A route whose answer to GET is the JSON object that a function returns."""

    async def endpoint(request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(answer))

    return Route(path, endpoint, methods=["GET"])


def json_of(body: bytes) -> dict[str, Any]:
    """The JSON object in a body.

    Raises
    ------
    BadRequest
        If there is none.
    """
    try:
        content = json.loads(body, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"the content is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise BadRequest("the content must be a JSON object")
    return content


def get_text(content: Mapping[str, Any], name: str, longest: int) -> str:
    """A string in a JSON object.

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


def _failure(status: int, error: object) -> JSONResponse:
    return JSONResponse({"error": str(error)}, status_code=status)
