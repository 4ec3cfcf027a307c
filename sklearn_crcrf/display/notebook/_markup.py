"""HTML in which no data can become markup."""

import html
from abc import ABC, abstractmethod
from typing import Any

from ._style import STYLE

__all__ = ["Markup", "NotebookDisplay", "element"]


class Markup(str):
    """HTML that needs no escaping; the methods of str return plain text, which does."""

    __slots__ = ()


def element(tag: str, *children: Any, **attributes: Any) -> Markup:
    """An HTML element.

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
