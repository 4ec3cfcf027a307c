"""HTML in which no data can become markup."""

import html
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

# The colours of light and dark pages.
LIGHT = (
    "--ink:#1c2024;--quiet:#57606a;--paper:#fff;--line:#c6ccd2;--tint:72% 90%;--edge:45% 45%;"
    "--wrong:#a40e26;--wrong-paper:#ffebe9;--plus:#1a7f37;--minus:#a40e26;"
)
DARK = (
    "--ink:#e6edf3;--quiet:#9aa4ae;--paper:#14181d;--line:#3d444d;--tint:38% 27%;--edge:45% 65%;"
    "--wrong:#ff938a;--wrong-paper:#4a1a1c;--plus:#56d364;--minus:#ff938a;"
)
# It knows the pages of Sphinx, JupyterLab and Visual Studio Code. The first token of a mark is no
# isolate: a line could break before it, after the edge of the mark.
SHEET = Path(__file__).with_name("style.css").read_text(encoding="ascii").replace("\n", "")
STYLE = SHEET.replace("LIGHT", LIGHT).replace("DARK", DARK)


class Markup(str):
    """HTML that needs no escaping; the methods of str return plain text, which does."""

    __slots__ = ()


def element(tag: str, *children: Any, **attributes: Any) -> Markup:
    """Make an HTML element.

    Parameters
    ----------
    tag : str
    *children
        Markup, or anything else as text, which is escaped.
    **attributes
        Values are escaped, and None is left out; underscores in names become hyphens, and a final
        one is dropped, as in ``class_``.

    Returns
    -------
    Markup

    Examples
    --------
    >>> print(element("b", "<script>", title='"quoted"'))
    <b title="&quot;quoted&quot;">&lt;script&gt;</b>
    """
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{html.escape(str(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    inside = "".join(
        child if isinstance(child, Markup) else html.escape(str(child)) for child in children
    )
    return Markup(f"<{tag}{written}>{inside}</{tag}>")


class NotebookDisplay(ABC):
    """Base of displays: HTML in a notebook, text elsewhere.

    A subclass implements ``_body`` and ``__str__``.
    """

    @abstractmethod
    def _body(self) -> list[Markup]: ...

    def _repr_html_(self) -> str:
        style = element("style", Markup(STYLE))
        return str(element("div", style, *self._body(), class_="crcrf"))

    def __repr__(self) -> str:
        return str(self)


def drawing(width: float, height: float, said: str, *children: Markup) -> Markup:
    """Make an SVG of this size in pixels; ``said`` is what screen readers say."""
    return element(
        "svg",
        *children,
        xmlns="http://www.w3.org/2000/svg",
        width=width,
        height=height,
        viewBox=f"0 0 {width} {height}",
        role="img",
        aria_label=said,
    )


def line(class_: str, x1: float, y1: float, x2: float, y2: float, **attributes: Any) -> Markup:
    """Draw a line."""
    return element("line", class_=class_, x1=x1, y1=y1, x2=x2, y2=y2, **attributes)


def text(x: float, y: float, text: Any, letters: int, anchor: str, **attributes: Any) -> Markup:
    """Draw a text, cut if it is long; pointing at it then shows the whole text."""
    text = str(text)
    short = text if len(text) <= letters else f"{text[: letters - 1]}…"
    title = [] if short == text else [element("title", text)]
    place = {"x": f"{x:.1f}", "y": f"{y:.1f}", "text_anchor": anchor, **attributes}
    return element("text", *title, short, dominant_baseline="middle", **place)
