"""Lines and texts of drawings."""

from typing import Any

from ._markup import Markup, element

__all__ = ["drawing", "line", "text"]


def drawing(width: float, height: float, said: str, *children: Markup) -> Markup:
    """An SVG of this size in pixels; ``said`` is what screen readers say."""
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
    """A line."""
    return element("line", class_=class_, x1=x1, y1=y1, x2=x2, y2=y2, **attributes)


def text(x: float, y: float, text: Any, letters: int, anchor: str, **attributes: Any) -> Markup:
    """A text, cut if it is long; pointing at it then shows the whole text."""
    text = str(text)
    short = text if len(text) <= letters else f"{text[: letters - 1]}…"
    title = [] if short == text else [element("title", text)]
    place = {"x": f"{x:.1f}", "y": f"{y:.1f}", "text_anchor": anchor, **attributes}
    return element("text", *title, short, dominant_baseline="middle", **place)
