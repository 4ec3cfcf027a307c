"""Every display of models trained on markup: nothing in the data may become markup."""

import inspect
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from importlib.util import find_spec
from random import Random
from typing import Any

import numpy as np
from _campaign import Campaign, Wrong, show
from _models import classifiers, make

from sklearn_crcrf import SequenceArray, SequenceVectorizer, explain, notebook, plotting

__all__ = ["CAMPAIGNS"]

# Each makes an element or an attribute called "evil..." wherever it is not escaped.
PAYLOADS = [
    "<evil>",
    '"><evil x="',
    "'><evil x='",
    '" evil="1',
    "' evil='1",
    " evil=1 ",
    "</style><evil>",
    "</script><evil>",
    "--><evil>",
    "]]><evil>",
    "&lt;evil&gt;",
    "&#60;evil&#62;",
    "<!--<evil>",
    "<evil\0>",
    "\u202e<evil>",
    "B-<evil>",
    'I-"><evil>',
    "B-evil",
    "I-evil",
    "O",
    "$\\frac{<evil>}$",
    "%s {0} <evil>",
    "\ud800<evil>",
]


class _Finder(HTMLParser):
    """Collects elements and attributes that only a payload can have made."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attributes: list) -> None:
        names = [tag, *(name for name, _ in attributes)]
        self.found += [name for name in names if "evil" in name]

    handle_startendtag = handle_starttag


def _check_html(html: str, what: str) -> None:
    finder = _Finder()
    finder.feed(html)
    finder.close()
    if finder.found:
        raise Wrong(f"markup in {what}", finder.found)
    if re.search("<evil", html):
        raise Wrong(f"a payload stands in {what} as it is", html)


def display(rng: Random, number: int) -> str:
    """Train a model on payloads, and show it or its answers by a random display."""
    X, y = _sequences(rng), []
    pool = rng.sample(PAYLOADS, rng.choice([1, 2, 4, 8]))
    y = [rng.choices(pool, k=len(x)) for x in X]
    public = rng.choice(classifiers())
    show(public.__name__, f"X = {X!r}\ny = {y!r}")
    name, view = rng.choice(VIEWS)
    estimator, X = _fitted(public, X, y)
    shown = view(rng, estimator, X, y)
    show(name, shown)
    for part in (shown, estimator):
        if hasattr(part, "_repr_html_"):
            _check_html(part._repr_html_(), f"{name} of {public.__name__}")
        str(part)
        repr(part)
    return f"{name}: shown"


def _sequences(rng: Random) -> list:
    tokens = [rng.choice(PAYLOADS) for _ in range(4)]
    sequences = [rng.choices(tokens, k=rng.choice([1, 2, 3])) for _ in range(3)]
    if rng.random() < 0.5:
        return sequences
    return [[{token: rng.choice(tokens)} for token in sequence] for sequence in sequences]


def _fitted(public: type, X: Any, y: list) -> tuple[Any, Any]:
    """An estimator, and X in a form that it accepts."""
    estimator = make(public)
    if not estimator.__sklearn_tags__().input_tags.string:
        X = SequenceVectorizer().fit_transform(X)
    try:
        return estimator.fit(X, y), X
    except ValueError as error:
        if "numbers" not in str(error):
            raise
    X = SequenceVectorizer().fit_transform(X)
    return estimator.fit(X, y), X


def _of_sequence(function: Callable) -> Callable[[Random, Any, Any, list], Any]:
    """A view of an estimator and one sequence, perhaps with labels."""

    def view(rng: Random, estimator: Any, X: Any, y: list) -> Any:
        names = inspect.signature(function).parameters
        estimator = getattr(estimator, "crf_", estimator)
        k = rng.randrange(len(y))
        given = {"gold": y[k]} if "gold" in names else {}
        if "against" in names and rng.random() < 0.5:
            given["against"] = rng.choices(estimator.classes_.tolist(), k=len(y[k]))
        if "tokens" in names and rng.random() < 0.5:
            given["tokens"] = rng.choices(PAYLOADS, k=len(y[k]))
        sequence = X[k : k + 1] if isinstance(X, SequenceArray) else X[k]
        return function(estimator, sequence, **given)

    return view


def _of_estimator(function: Callable) -> Callable[[Random, Any, Any, list], Any]:
    """A drawing of an estimator, perhaps with data."""

    def view(rng: Random, estimator: Any, X: Any, y: list) -> Any:
        import matplotlib

        matplotlib.use("agg")
        from matplotlib import pyplot

        try:
            data = (X, y) if "X" in inspect.signature(function).parameters else ()
            drawn = function(estimator, *data)
            pyplot.gcf().canvas.draw()
        finally:
            pyplot.close("all")
        return drawn

    return view


def _directly(function: Callable) -> Callable[[Random, Any, Any, list], Any]:
    """A display of given tokens and labels."""

    def view(rng: Random, estimator: Any, X: Any, y: list) -> Any:
        n, classes = rng.randrange(4), rng.sample(PAYLOADS, 3)
        tokens, labels = rng.choices(PAYLOADS, k=n), rng.choices(classes, k=n)
        given = {
            "tokens": tokens,
            "labels": labels,
            "gold": labels,
            "predicted": rng.choices(classes, k=n),
            "classes": classes,
            "marginals": np.random.default_rng(rng.getrandbits(32)).dirichlet(np.ones(3), size=n),
            "paths": [(labels, 0.5)],
        }
        names = inspect.signature(function).parameters
        return function(**{name: value for name, value in given.items() if name in names})

    return view


def _itself(rng: Random, estimator: Any, X: Any, y: list) -> Any:
    return estimator


def _views() -> Iterator[tuple[str, Callable[[Random, Any, Any, list], Any]]]:
    """All displays, found through the public names."""
    yield "estimator", _itself
    yield "explain", _of_sequence(explain)
    for name in notebook.__all__:
        public = getattr(notebook, name)
        if hasattr(public, "from_estimator"):
            yield name, _directly(public)
            yield f"{name}.from_estimator", _of_sequence(public.from_estimator)
    if find_spec("matplotlib"):
        for name in plotting.__all__:
            public = getattr(plotting, name)
            if hasattr(public, "from_estimator"):
                yield f"{name}.from_estimator", _of_estimator(public.from_estimator)


VIEWS = list(_views())
CAMPAIGNS = [Campaign("displays", display, allowed_if_raised=(TypeError,))]
