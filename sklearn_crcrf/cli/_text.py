"""Text in columns, from files or standard input, to files or standard output."""

import argparse
import codecs
import errno
import gzip
import io
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import IO, Any, NamedTuple

from ..datasets import read_conll, read_crfsuite_items
from ..utils.names import default_columns
from ..utils.replacing import check_replaceable, replacing
from ..utils.unpacking import MAX_BYTES, read_limited, unpack
from ._numbers import positive

__all__ = [
    "ITEMS",
    "KNOWN",
    "Source",
    "Text",
    "add_column_names",
    "add_columns",
    "add_file",
    "add_max_bytes",
    "add_reading",
    "check_output",
    "open_output",
    "read_source",
    "read_text",
]

STANDARD = "-"
UTF8 = "utf-8"
KNOWN, UNKNOWN, ALTERNATIVE = "known", "_", "|"
# The columns of the data files of CRFsuite: a label, and any number of attributes.
ITEMS: list[str | None] = ["label", "*"]
Columns = Sequence[str | None]


class Source(NamedTuple):
    """The unpacked content of a file, its name for messages, and the separator of columns."""

    name: str
    data: bytes
    separator: str | None = None

    @property
    def width(self) -> int:
        """Number of columns of the first line."""
        separator = None if self.separator is None else self.separator.encode()
        lines = (line.split(separator) for line in io.BytesIO(self.data) if line.strip())
        return len(next(lines, [b"word", b"label"]))

    def by_tabs(self) -> "Source":
        """The source with tabs as separator, if only tabs give all lines equally many columns."""
        lines = [line for line in io.BytesIO(self.data) if line.strip()]
        tabs, fields = {line.count(b"\t") for line in lines}, {len(line.split()) for line in lines}
        by_tabs = len(tabs) == 1 < len(fields) and 0 not in tabs
        return self._replace(separator="\t") if by_tabs else self


class Text(NamedTuple):
    """The tokens and labels of a file.

    Parameters
    ----------
    X : list of sequences of str or dict
    y : list of sequences of str, or None
    known : list of sequences, or None
        Known labels: None for unknown, a label, or a set of possible labels.
    columns : list of str or None
        The columns of the file; None for a column that was left out.
    """

    X: list
    y: Any
    known: list | None
    columns: list[str | None]


def add_file(parser: argparse.ArgumentParser, help: str) -> None:
    """Add the argument FILE."""
    text = f"{help}; may be gzip-compressed; standard input if left out or -"
    parser.add_argument("file", metavar="FILE", nargs="?", default=STANDARD, help=text)
    add_reading(parser)


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how files are read."""
    add_max_bytes(parser)
    parser.add_argument(
        "--encoding",
        type=_encoding,
        metavar="NAME",
        default=UTF8,
        help="encoding of the files of text that are read and written; default: utf-8",
    )


def _encoding(name: str) -> str:
    try:
        "".encode(name)  # raises an error for what is not an encoding of text
        return codecs.lookup(name).name
    except LookupError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def add_max_bytes(parser: argparse.ArgumentParser) -> None:
    """Add the option --max-bytes."""
    text = f"maximum number of bytes of an unpacked file; default: {MAX_BYTES}"
    parser.add_argument("--max-bytes", type=positive, metavar="N", default=MAX_BYTES, help=text)


def add_columns(parser: argparse.ArgumentParser, help: str) -> None:
    """Add the options --columns and --format."""
    add_column_names(parser, help)
    parser.add_argument(
        "--format",
        choices=["columns", "crfsuite"],
        action=_Format,
        help="crfsuite: each line has a label and then attributes, as in the data of CRFsuite; "
        "default: columns, the word first and the label last, or as in training",
    )


def add_column_names(parser: argparse.ArgumentParser, help: str) -> None:
    """Add the option --columns."""
    parser.add_argument("--columns", type=_column_names, metavar="word,pos,label", help=help)


class _Format(argparse.Action):
    """A format of files, as columns."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: Any = None) -> None:
        if values == "crfsuite":
            namespace.columns = ITEMS


def _column_names(text: str) -> list[str | None]:
    return [None if name == "_" else name for name in text.split(",")]


def read_source(path: str, max_bytes: int, encoding: str = UTF8) -> Source:
    """Read all of a file, or of standard input.

    Parameters
    ----------
    path : str
        "-" is standard input.
    max_bytes : int
        Maximum number of unpacked bytes.
    encoding : str
        The encoding of the file; what is returned is in UTF-8.

    Returns
    -------
    Source

    Raises
    ------
    ValueError
        If it is compressed and damaged, or too large, or not in this encoding.
    """
    name = "standard input" if path == STANDARD else path
    try:
        data = _standard_input(max_bytes) if path == STANDARD else _bytes(path, max_bytes)
        data = unpack(data, max_bytes)
        if encoding != UTF8:
            data = data.decode(encoding).encode(UTF8)
        return Source(name, data).by_tabs()
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def read_text(source: Source, columns: Columns | None, labelled: bool = False) -> Text:
    """Read the tokens and labels of a file of columns.

    Parameters
    ----------
    source : Source
    columns : sequence of str or None, optional
        By default the first column is the word, and the last the label. A column "known" holds
        known labels.
    labelled : bool
        Whether there must be tokens and labels.

    Returns
    -------
    Text

    Raises
    ------
    ValueError
        If the text is not in columns; the message names the file and the line.
    """
    if columns is not None and list(columns) == ITEMS:
        return _read_items(source, labelled)
    given: Columns = default_columns(source.width) if columns is None else columns
    names = list(given)
    try:
        X, y = read_conll(io.BytesIO(source.data), names, sep=source.separator, max_bytes=None)
    except ValueError as error:
        hint = f" ({', '.join(c or '_' for c in names)}; see --columns)"
        told = columns is not None and "columns" in str(error)
        raise ValueError(f"{source.name}: {error}{hint if told else ''}") from error
    if labelled and not X:
        raise ValueError(f"{source.name}: there are no tokens")
    if labelled and y is None:
        raise ValueError(
            f"{source.name}: there are no labels; the columns, separated by tabs or blanks, are: "
            f"{', '.join(c or '_' for c in names)}"
        )
    return _without_known(X, y, names) if KNOWN in names else Text(X, y, None, names)


def _standard_input(max_bytes: int) -> bytes:
    if sys.stdin.isatty():
        print("one token and its columns per line; Ctrl-D ends it", file=sys.stderr, flush=True)
    return read_limited(sys.stdin.buffer, max_bytes)


def _bytes(path: str, max_bytes: int) -> bytes:
    with open(path, "rb") as file:
        return read_limited(file, max_bytes)


def _read_items(source: Source, labelled: bool) -> Text:
    """Read a data file of CRFsuite."""
    try:
        X, y = read_crfsuite_items(io.BytesIO(source.data), max_bytes=None)
    except ValueError as error:
        raise ValueError(f"{source.name}: {error}") from error
    if labelled and not X:
        raise ValueError(f"{source.name}: there are no tokens")
    return Text(X, y, None, ITEMS)


def _without_known(X: list, y: list | None, columns: list[str | None]) -> Text:
    names = [name for name in columns if name not in (None, "label", KNOWN)]
    if not names:
        raise ValueError("--columns must name a column besides 'known' and 'label'")
    known = [[_allowed(token[KNOWN]) for token in sequence] for sequence in X]
    if len(names) == 1:
        X = [[token[names[0]] for token in sequence] for sequence in X]
    else:
        X = [[{name: token[name] for name in names} for token in sequence] for sequence in X]
    return Text(X, y, known, columns)


def _allowed(text: str) -> Any:
    if text == UNKNOWN:
        return None
    return set(text.split(ALTERNATIVE)) if ALTERNATIVE in text else text


def check_output(path: str) -> None:
    """Check that a file can be written, before long work whose result would be lost.

    Raises
    ------
    ValueError
        If the path is something other than a regular file.
    OSError
        If the file cannot be written; the error names it.
    """
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    folder = os.path.dirname(path)
    if folder and not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, f"there is no folder {folder}", path)
    try:
        check_replaceable(path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from error


@contextmanager
def open_output(path: str, encoding: str = UTF8) -> Iterator[IO[str]]:
    """A stream to write text to; a file is created or replaced only once all is written.

    An existing path that is not a file, such as a device or a pipe, is written to directly.
    """
    if path == STANDARD:
        if hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(encoding=encoding, newline="\n")
        yield sys.stdout
        return
    is_special = os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path))
    if not is_special:
        check_output(path)
    with open(path, "wb") if is_special else replacing(path) as file, _packing(file, path) as data:
        text = io.TextIOWrapper(data, encoding=encoding, newline="\n")
        yield text
        text.flush()


def _packing(file: IO[bytes], path: str) -> AbstractContextManager[Any]:
    """A stream that compresses if the path ends in ".gz"; it leaves the file open."""
    return gzip.GzipFile("", "wb", fileobj=file) if path.endswith(".gz") else nullcontext(file)
