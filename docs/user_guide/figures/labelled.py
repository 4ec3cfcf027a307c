"""Make the figure of labelled text: as HTML in the site, and as pictures for the README.

``python docs/user_guide/figures/labelled.py`` writes the pictures, light and dark, next to this
file, by Chromium.
"""

import contextlib
import doctest
import io
import re
import shutil
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive

from sklearn_crcrf import EmpiricalCRF, explain
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.display import TaggedSequence

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "index.rst"  # whose example is shown
HELD_OUT = [2000, 2010]  # a German and a Dutch address
# A line each, and why the first word is a person. Phones have room for two lines.
STYLE = """
.labelled{margin-bottom:1em}
.labelled .crcrf{padding:.3em .9em;font-size:14px}
.labelled .crcrf>p:first-of-type{margin:0}
.labelled tr:nth-child(n+8){display:none}
@media(max-width:575px){.labelled .crcrf:nth-child(n+3){display:none}}
"""


def main() -> None:
    """Label the sentence of the first page and two addresses, and explain the first label."""
    from playwright.sync_api import sync_playwright

    figure = html()
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for scheme in ("light", "dark"):
            size = {"width": 900, "height": 100}
            page = browser.new_page(viewport=size, device_scale_factor=1.5, color_scheme=scheme)
            page.set_content(f"<body style='margin:0'>{figure}")
            page.screenshot(path=HERE / f"labelled-{scheme}.png", full_page=True)


def html() -> str:
    """Return the figure, with one style sheet."""
    names: dict = {}
    with contextlib.redirect_stdout(io.StringIO()):
        for example in doctest.DocTestParser().get_examples(PAGE.read_text(encoding="utf-8")):
            exec(example.source, names)
    model, words = names["tagger"].estimator_, ["Irène", "Curie", "lived", "in", "Paris", "."]
    X, y = make_addresses(3000, random_state=0)
    of_addresses = EmpiricalCRF().fit(X[:2000], y[:2000])
    shown = [
        TaggedSequence.from_estimator(model, words),
        *(TaggedSequence.from_estimator(of_addresses, X[i]) for i in HELD_OUT),
        explain(model, words),
    ]
    parts = [re.sub(r'<p class="quiet hint">.*?</p>', "", one._repr_html_()) for one in shown]
    style = re.search(r"<style>.*?</style>", parts[0], re.DOTALL)[0]
    body = "\n".join(part.replace(style, "") for part in parts)
    return f'{style}\n<style>{STYLE}</style>\n<div class="labelled">\n{body}\n</div>\n'


class Labelled(Directive):
    """``labelled-text::`` includes the figure."""

    def run(self) -> list[nodes.Node]:
        return [nodes.raw("", html(), format="html")]


if __name__ == "__main__":
    main()
