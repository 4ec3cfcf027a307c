"""Reading and writing labelled text, fetching corpora, and making labelled sequences."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._addresses import make_addresses
    from ._conll_reader import read_conll
    from ._conll_writer import write_conll
    from ._conllu_reader import read_conllu
    from ._corpora import fetch_brown, fetch_conll2000, fetch_conll2002
    from ._crfsuite_items import read_crfsuite_items
    from ._frame_reader import read_frame
    from ._label_bias import make_label_bias
    from ._protocols import BROWN_SPLITS, Splits, load_brown_splits, load_dutch_ner

# The modules are imported when they are used: to read text needs no other package.
_HOMES = {
    "BROWN_SPLITS": "_protocols",
    "Splits": "_protocols",
    "fetch_brown": "_corpora",
    "fetch_conll2000": "_corpora",
    "fetch_conll2002": "_corpora",
    "load_brown_splits": "_protocols",
    "load_dutch_ner": "_protocols",
    "make_addresses": "_addresses",
    "make_label_bias": "_label_bias",
    "read_conll": "_conll_reader",
    "read_conllu": "_conllu_reader",
    "read_crfsuite_items": "_crfsuite_items",
    "read_frame": "_frame_reader",
    "write_conll": "_conll_writer",
}

__all__ = [
    "BROWN_SPLITS",
    "Splits",
    "fetch_brown",
    "fetch_conll2000",
    "fetch_conll2002",
    "load_brown_splits",
    "load_dutch_ner",
    "make_addresses",
    "make_label_bias",
    "read_conll",
    "read_conllu",
    "read_crfsuite_items",
    "read_frame",
    "write_conll",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
