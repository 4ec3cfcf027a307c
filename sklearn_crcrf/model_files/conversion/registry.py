"""The models of other programs that are read, by how they begin."""

from collections.abc import Callable
from typing import Any, NamedTuple

from ...serving.crfsuite.binary_model import MAGIC
from . import crfpp, crfsuite, wapiti


class ModelFormat(NamedTuple):
    """One kind of models.

    Parameters
    ----------
    read : callable
        Reads a file, with a limit ``max_bytes``.
    begins : tuple of bytes
        How its files may begin.
    has_encoding : bool
        Whether it is read with an ``encoding``; else strings are in UTF-8.
    """

    read: Callable[..., Any]
    begins: tuple[bytes, ...]
    has_encoding: bool = False


FORMATS = {
    "crfsuite": ModelFormat(crfsuite.read_crfsuite_model, (MAGIC,)),
    "crfsuite-dump": ModelFormat(crfsuite.read_crfsuite_dump, (b"FILEHEADER",)),
    "crf++": ModelFormat(crfpp.read_crfpp_model, (b"version:", crfpp.BINARY), True),
    "wapiti": ModelFormat(wapiti.read_wapiti_model, (wapiti.MAGIC,), True),
}
