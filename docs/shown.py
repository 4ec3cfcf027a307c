"""Pictures in pages: what the examples above them have made, as HTML or as a drawing."""

import contextlib
import doctest
import io
import re
import warnings

import matplotlib as mpl
from docutils import nodes
from docutils.parsers.rst import Directive

import sklearn_crcrf
from sklearn_crcrf import display

INK = "#012345"  # stands for the colour of the text of the page, light or dark
STYLE = {
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.facecolor": "none",
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "figure.figsize": (6, 3.6),
    "figure.constrained_layout.use": True,
    "savefig.facecolor": "none",
    "svg.fonttype": "none",
    "svg.hashsalt": "shown",
}


# What expressions may use without an import in the examples.
NAMES = {name: getattr(display, name) for name in display.__all__} | {
    "explain": sklearn_crcrf.explain
}


class Shown(Directive):
    """``shown:: expression`` shows an object that the examples above it have made."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        env = self.state.document.settings.env
        path = env.doc2path(env.docname)
        names = env.temp_data.setdefault("shown names", dict(NAMES))
        # What was done for a picture above is not done again.
        done = env.temp_data.get("shown line", 0)
        with open(path, encoding="utf-8") as file, mpl.rc_context(STYLE):
            lines = file.read().splitlines()[done : self.lineno - 1]
            shown = show("\n".join(lines), self.arguments[0], names)
        env.temp_data["shown line"] = self.lineno
        return [nodes.raw("", f'<div class="shown">{shown}</div>', format="html")]


def show(page: str, expression: str, names: dict) -> str:
    """Do the examples of a page, and return HTML of an object."""
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for example in doctest.DocTestParser().get_examples(page):
            with contextlib.suppress(Exception) if example.exc_msg else contextlib.nullcontext():
                exec(compile(example.source, "<page>", "single"), names)
        value = eval(expression, names)
    figure = getattr(value, "figure_", None)
    return drawing(figure) if figure else value._repr_html_()


def drawing(figure) -> str:
    """A figure of matplotlib as SVG, in the colour of the text of the page."""
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None})
    svg = file.getvalue()
    svg = re.sub(f"{INK}|#000000", "currentColor", svg[svg.index("<svg") :])
    return re.sub(r'<svg (.*?)width="([\d.]+)pt" height="[\d.]+pt"', r"<svg \1", svg, count=1)
