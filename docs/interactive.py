"""Interactive figures, which begin with the numbers that the examples of their page compute."""

import json
import math
from collections.abc import Mapping
from contextlib import redirect_stdout
from doctest import DocTestParser
from html import escape
from io import StringIO
from pathlib import Path

import numpy as np
from docutils import nodes
from docutils.parsers.rst import Directive

STATIC = Path(__file__).parent / "_static"
EXPORTED = STATIC / "live" / "tagger.js"
FOLDER = STATIC / "understanding"


def plain(value):
    """Return what JSON can hold: lists for arrays, and None for minus infinity."""
    if isinstance(value, Mapping):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if value == -math.inf else value


def names_of(page: str) -> dict:
    """Run the examples of a page, and return the names that they define."""
    names: dict = {}
    with redirect_stdout(StringIO()):
        for example in DocTestParser().get_examples(page):
            exec(compile(example.source, "example", "single"), names)
    return names


def figure(page: str, name: str, caption: str, expression: str) -> str:
    """Return a figure as HTML that needs no other file.

    Browsers load no module from a page that was opened as a file, so the modules are in the page.
    """
    numbers = json.dumps(plain(eval(expression, names_of(page))), ensure_ascii=False)
    script = (FOLDER / "figures.js").read_text(encoding="utf-8")
    script = EXPORTED.read_text(encoding="utf-8") + script[script.index("// --- chains") :]
    return f"""<style>{(FOLDER / "figures.css").read_text(encoding="utf-8")}</style>
<figure class="understanding" data-figure="{name}" data-numbers="{escape(numbers)}">
<figcaption>{escape(caption)}</figcaption>
<noscript><p>This figure needs JavaScript. It begins with the numbers above.</p></noscript>
</figure>
<script type="module">
{script}</script>
"""


class InteractiveFigure(Directive):
    """``interactive:: NAME`` shows a figure, whose content is a caption and an expression.

    The expression gives the numbers of the figure, where the examples of the page have run.
    """

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        page = Path(self.state.document.current_source).read_text(encoding="utf-8")
        caption, expression = "\n".join(self.content).split("\n\n", 1)
        html = figure(page, self.arguments[0], caption.replace("\n", " "), f"({expression})")
        return [nodes.raw("", html, format="html")]
