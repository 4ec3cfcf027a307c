"""The application behind the page for annotation."""

from collections.abc import Callable, Generator
from typing import Any

from starlette.applications import Starlette

from ..annotation import Workbench
from .files import pages
from .json_api import BadRequest, dumps, get, get_text, post, post_steps
from .work import MAX_COST, Reserve, Work

LONGEST_NAME, LONGEST_SEARCH = 100, 1000
N_FOUND, N_SEARCHED = 50, 2000
# People wait for the disk and for the thread that learns, rather than for a processor.
N_THREADS = 4


def annotation_app(bench: Workbench) -> Starlette:
    """Make an ASGI application with the page for annotation.

    Put a :class:`Guard` around it, as :func:`serve` does, unless you have one of your own.

    Parameters
    ----------
    bench : Workbench
        What hands out sentences and learns.

    Returns
    -------
    Starlette

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn_crcrf.apps.annotation import Log, Pool, SegmentMarks, Workbench
    >>> from sklearn_crcrf.apps.web import annotation_app
    >>> pool = Pool.of_lines(["Ann sings."])
    >>> with TemporaryDirectory() as folder, Log(Path(folder, "log")) as log:
    ...     with Workbench(pool, log, SegmentMarks(["PER"])) as bench:
    ...         app = annotation_app(bench)
    >>> app.url_path_for("annotate.js")
    '/annotate.js'
    """

    def following(act: Callable[[str, dict[str, Any]], Any]) -> Callable[[dict[str, Any]], Any]:
        """Answer with what an act returns, the next sentence and the state."""

        def answer(content: dict[str, Any]) -> dict[str, Any]:
            by = _person(content)
            found = act(by, content) or {}
            return {"next": bench.next(by), **found, "state": bench.state()}

        return answer

    def accept(by: str, content: dict[str, Any]) -> dict[str, Any]:
        marks = content.get("marks")
        if not isinstance(marks, list):
            raise BadRequest("'marks' must be a list")
        return bench.accept(by, _sentence(content), marks)

    def undo(by: str, content: dict[str, Any]) -> dict[str, Any]:
        sentence = bench.undo(by)
        return {} if sentence is None else {"next": bench.open(by, sentence)}

    def add_name(content: dict[str, Any]) -> dict[str, Any]:
        bench.add_name(_person(content), get_text(content, "name", LONGEST_NAME))
        return {"state": bench.state()}

    def search(content: dict[str, Any], reserve: Reserve) -> Generator[str, None, None]:
        text, found = get_text(content, "text", LONGEST_SEARCH), list[dict[str, Any]]()
        sentences = range(len(bench.pool.sentences))
        reserve(min(float(len(sentences)), MAX_COST))
        for start in range(0, len(sentences), N_SEARCHED):
            found += bench.search(text, sentences[start : start + N_SEARCHED])
            if len(found) >= N_FOUND:
                break
            yield ""  # others have a turn
        yield dumps({"found": found[:N_FOUND]})

    work = Work(N_THREADS)
    return Starlette(
        routes=[
            *pages("annotate.html", "annotate.js", "common.js", "style.css"),
            get("/api/state", bench.state, work),
            post("/api/next", following(lambda by, content: None), work),
            post("/api/accept", following(accept), work),
            post("/api/skip", following(lambda by, c: bench.skip(by, _sentence(c))), work),
            post("/api/flag", following(lambda by, c: bench.flag(by, _sentence(c))), work),
            post("/api/undo", following(undo), work),
            post("/api/open", lambda c: {"next": bench.open(_person(c), _sentence(c))}, work),
            post("/api/label", add_name, work),
            post_steps("/api/search", search, work),
        ]
    )


def _person(content: dict[str, Any]) -> str:
    name = get_text(content, "by", LONGEST_NAME)
    if not name.strip():
        raise BadRequest("'by' must be a name")
    return name


def _sentence(content: dict[str, Any]) -> int:
    sentence = content.get("sentence")
    if not isinstance(sentence, int) or isinstance(sentence, bool):
        raise BadRequest("'sentence' must be a whole number")
    return sentence
