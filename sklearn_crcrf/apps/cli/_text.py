"""Text in columns, from files or standard input, to files or standard output."""

import argparse
import codecs
import errno
import gzip
import io
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import IO, Any, NamedTuple

from ...datasets import read_crfsuite_items
from ...datasets.columns import (
    SPACES,
    TABS,
    Reading,
    Rows,
    check_separator,
    checked_columns,
    is_conllu,
    known_layout,
)
from ...datasets.tables import likely_separator
from ...text.formats.source import JSON
from ...utils.lines import lines_of
from ...utils.replacing import check_replaceable, replacing
from ...utils.unpacking import MAX_BYTES, check_encoding, read_limited, unpack
from ...utils.unpacking import read_text as read_any_text

STANDARD = "-"
UTF8 = "utf-8"
KNOWN, UNKNOWN, ALTERNATIVE = "known", "_", "|"
# The columns of the data files of CRFsuite: a label, and any number of attributes.
ITEMS: list[str | None] = ["label", "*"]
# FORM and UPOS of the ten columns of CoNLL-U.
CONLLU_COLUMNS: list[str | None] = [None, "word", None, "label", *[None] * 6]
# Maximum number of columns that nobody has named.
MOST_COLUMNS = 1_000
COLUMN_FORMATS = ["columns", "conllu", "csv", "crfsuite"]
FORMS = ("jsonl", "conll", "spans", "text")
DOCUMENT_FORMATS = ["jsonl", "label-studio", "doccano", "brat", "prodigy", "spacy"]
Columns = Sequence[str | None]


class Source(NamedTuple):
    """The lines of a file, its name for messages, and how to find the rows of tokens.

    ``is_given`` says whether the separator of columns was asked for, or else found in the file.
    """

    name: str
    lines: list[str]
    reading: Reading
    is_given: bool

    def rows(self, sep: str | None = None) -> Rows:
        """Find the rows of tokens; with another separator than is given."""
        reading = self.reading if sep is None else self.reading._replace(sep=sep)
        with naming(self.name):
            return reading.rows(self.lines)


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
    rows : Rows, optional
        The rows that it was read from, of a file in columns.
    separator : str, optional
        What separates columns, if it is to be remembered.
    groups : list of str, optional
        The document of each sequence, if the file says where documents begin.
    has_header : bool, default=False
        Whether the first row has the names of the columns.
    places : list of (int, list of (start, end)), optional
        The number of the document of each sequence, and the characters of its tokens.
    """

    X: list
    y: Any
    known: list | None
    columns: list[str | None]
    rows: Rows | None = None
    separator: str | None = None
    groups: list[str] | None = None
    has_header: bool = False
    places: list | None = None

    def place(self, sequence: int, position: int) -> str:
        """Say where a token is, in words."""
        if self.places is not None:
            document, offsets = self.places[sequence]
            start, end = offsets[position]
            return f"document {document}, characters {start} to {end}"
        if self.rows is None:
            return f"sequence {sequence}, position {position}"
        return f"line {self.rows.number(self.rows.bounds[sequence] + position)}"


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
        check_encoding(name)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return codecs.lookup(name).name


def whole(text: str, least: int = 0) -> int:
    """Read a number such as 0 or 3 from an argument."""
    if not text.isdecimal() or int(text) < least:
        kind = f"of at least {least}" if least else "such as 3"
        raise argparse.ArgumentTypeError(f"must be a number {kind}, got {text!r}")
    return int(text)


positive = partial(whole, least=1)


def add_max_bytes(parser: argparse.ArgumentParser) -> None:
    """Add the option --max-bytes."""
    text = f"maximum number of bytes of an unpacked file; default: {MAX_BYTES}"
    parser.add_argument("--max-bytes", type=positive, metavar="N", default=MAX_BYTES, help=text)


def add_limits(parser: argparse.ArgumentParser) -> None:
    """Add the option --one-segment."""
    parser.add_argument(
        "--one-segment",
        metavar="TYPES",
        help="the best labels in which each of these types, joined by commas, has at most one "
        "segment in a sequence; all: each type there is",
    )


def limits_of(options: argparse.Namespace, labels: Sequence[Any]) -> dict[str, Any]:
    """Return what --one-segment adds to the arguments of ``predict``."""
    types = getattr(options, "one_segment", None)
    if types is None:
        return {}
    import numpy as np

    from ...labels import OneSegment

    one = OneSegment(None if types == "all" else types.split(","))
    one.limits(np.array(labels, dtype=object), "--one-segment")
    return {"subject_to": [one]}


def add_columns(parser: argparse.ArgumentParser, help: str) -> None:
    """Add the options --columns, --format, --sep and --comment."""
    add_column_names(parser, help)
    parser.add_argument(
        "--format",
        choices=[*COLUMN_FORMATS, *DOCUMENT_FORMATS],
        action=_Format,
        help="crfsuite: each line has a label and then attributes, as in the data of CRFsuite; "
        "conllu: the ten columns of CoNLL-U, of which FORM is the word and UPOS the label unless "
        "--columns names others; csv: columns separated by commas; others: documents with spans. "
        "Default: as the file shows; in columns the label is last, or as in training",
    )
    parser.add_argument(
        "--sep",
        type=_separator,
        metavar="tab|space|CHARACTER",
        help="what separates columns: tab, so that words may hold spaces; space, any run of spaces "
        "and tabs; or a character. Default: tab if every line has one, else space; a model "
        "remembers it",
    )
    parser.add_argument(
        "--comment",
        metavar="PREFIX",
        action="append",
        help="leave out lines that begin with PREFIX; may be repeated, and '' leaves out none. "
        "Default: lines that begin with the column # before a sequence, if they do not look like "
        "tokens. Without '', lines of -DOCSTART- are left out too",
    )


def add_column_names(parser: argparse.ArgumentParser, help: str) -> None:
    """Add the option --columns."""
    parser.add_argument("--columns", type=_column_names, metavar="word,pos,label", help=help)


def add_offsets(parser: argparse._ActionsContainer) -> None:
    """Add the option --offsets."""
    parser.add_argument(
        "--offsets",
        choices=["characters", "utf-16", "bytes"],
        help="what the offsets of spans count; default: what the tool counts",
    )


def add_alignment(parser: argparse._ActionsContainer, default: str) -> None:
    """Add the option --alignment."""
    parser.add_argument(
        "--alignment",
        choices=["expand", "contract", "strict"],
        default=default,
        help="what becomes of spans that begin or end within a token: all tokens that they touch, "
        f"those that lie in them, or an error; default: {default}",
    )


def add_document_options(parser: argparse.ArgumentParser) -> None:
    """Add how documents become sequences of tokens."""
    group = parser.add_argument_group("documents with spans")
    add_offsets(group)
    add_alignment(group, "expand")
    group.add_argument(
        "--tokenizer", choices=["words", "characters"], default="words", help="default: words"
    )
    group.add_argument(
        "--sentences",
        choices=["lines", "rule"],
        default="lines",
        help="what is a sequence; default: lines",
    )


class _Format(argparse.Action):
    """A format of files, as columns."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: Any = None) -> None:
        namespace.format = values
        if values == "crfsuite":
            namespace.columns = ITEMS
        elif values == "csv" and namespace.sep is None:
            namespace.sep = ","
        elif values == "conllu" and namespace.columns is None:
            namespace.columns = CONLLU_COLUMNS


def _column_names(text: str) -> list[str | None]:
    return [None if name == "_" else name for name in text.split(",")]


def _separator(text: str) -> str:
    sep = {"\\t": TABS, "\t": TABS, " ": SPACES}.get(text, text)
    try:
        check_separator(sep, (TABS, SPACES))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return sep


def reading_of(options: argparse.Namespace) -> Reading:
    """Return how the options say that files are read."""
    comment = getattr(options, "comment", None)
    prefixes = None if comment is None else tuple(filter(None, comment))
    return Reading(getattr(options, "sep", None), prefixes, conventions=prefixes != ())


def read_content(path: str, max_bytes: int, encoding: str = UTF8) -> tuple[str, bytes]:
    """Read all of a file, or of standard input, whose name is "-".

    Its name for messages is returned, and its unpacked content, in UTF-8.

    Raises
    ------
    ValueError
        If it is compressed and damaged, or too large, or not in this encoding.
    """
    with _opened(path) as (name, file), naming(name):
        data = unpack(read_limited(file, max_bytes), max_bytes)
        return name, data if encoding == UTF8 else data.decode(encoding).encode(UTF8)


def read_lines(path: str, options: argparse.Namespace) -> tuple[str, list[str]]:
    """Read a file of text: its name for messages, and its lines; see :func:`read_content`."""
    name, text = read_all_text(path, options)
    with naming(name):
        lines = lines_of(text)
        check_no_nul(lines)
        return name, lines


def read_all_text(path: str, options: argparse.Namespace) -> tuple[str, str]:
    """Read a file of text: its name for messages, and its text; see :func:`read_content`."""
    encoding = getattr(options, "encoding", UTF8)
    with _opened(path) as (name, file), naming(name):
        return name, read_any_text(file, encoding, options.max_bytes)


def check_no_nul(lines: Sequence[str]) -> None:
    """Raise ValueError if there is a NUL character, which text in another encoding may have."""
    for number, line in enumerate(lines, start=1):
        if "\0" in line:
            raise ValueError(
                f"line {number} holds a NUL character: this is not text, or --encoding must name "
                "its encoding, such as utf-16-le"
            )


def read_source(path: str, options: argparse.Namespace) -> Source:
    """Read all lines of a file of text; see :func:`read_content`."""
    reading = reading_of(options)
    return Source(*read_lines(path, options), reading, reading.sep is not None)


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
        with naming(source.name):
            items = read_crfsuite_items(io.StringIO("\n".join(source.lines)), max_bytes=None)
            text = Text(*items, None, ITEMS)
    else:
        text = text_of(source, source.rows(), columns)
    if labelled:
        check_labelled(text, source.name)
    return text


def check_labelled(text: Text, name: str) -> None:
    """Raise ValueError unless there are tokens and a column of labels."""
    if not text.X:
        raise ValueError(f"{name}: there are no tokens")
    if text.y is None:
        by = "" if text.rows is None else f", separated by {text.rows.separated_by},"
        hint = "" if text.rows is None else _separator_hint(text.rows)
        raise ValueError(
            f"{name}: there are no labels; the columns{by} are: {listed(text.columns)}{hint}"
        )


def _separator_hint(rows: Rows) -> str:
    """Say what to type for a table whose columns are separated by another character."""
    likely = None if rows.header else likely_separator([line for line in rows.lines if line])
    if likely is None or likely == rows.character:
        return ""
    sep = {"\t": "tab"}.get(likely, f"'{likely}'")
    width = next(line for line in rows.lines if line).count(likely) + 1
    names = [*["_"] * (width - 2), "word", "label"]
    return (
        f"; type --sep {sep} --columns {','.join(names)}, with _ for columns to leave out, or name "
        f"the columns in a first line such as Sentence #{likely}Word{likely}Tag"
    )


def text_of(source: Source, rows: Rows, columns: Columns | None) -> Text:
    """Read the tokens and labels in rows; parameters and errors as of :func:`read_text`."""
    names = columns_of(source, rows) if columns is None else list(columns)
    try:
        X, y = rows.sequences(checked_columns(names, rows.width))
    except ValueError as error:
        told = columns is not None and "columns" in str(error)
        hint = f" ({listed(names)}; see --columns)" if told else ""
        if "expected" in str(error):
            only = "one token per line; " if len(names) == 1 else ""
            by = f"columns are separated by {rows.separated_by}"
            hint += f"; {only}{by}{_separator_hint(rows) or ', see --sep and --comment'}"
        raise ValueError(f"{source.name}: {error}{hint}") from error
    holds_spaces = any(" " in row for row in rows.tokens)
    separator = rows.sep if source.is_given or (rows.sep == TABS and holds_spaces) else None
    has_header = rows.header is not None
    text = Text(X, y, None, names, rows, separator, rows.documents, has_header)
    return _without_known(text) if KNOWN in names else text


def columns_of(source: Source, rows: Rows) -> list[str | None]:
    """Name the columns of a file that nobody has named."""
    layout = known_layout(rows)
    if layout is None:
        if rows.width > MOST_COLUMNS:
            raise ValueError(
                f"{source.name}: line {rows.number(0)} has {rows.width:,} columns: write one token "
                "per line, with an empty line between sequences; or name the columns by --columns"
            )
        return checked_columns(None, rows.width)
    if rows.header is None:
        kind = "CoNLL-U: the word is FORM, and the label is UPOS"
        if not is_conllu(rows):
            kind = "numbered words: the second column is the word, and the third the label"
        warnings.warn(
            f"{source.name} is read as {kind}; --columns {listed(layout, ',')} names others",
            stacklevel=2,
        )
    return layout


def listed(columns: Columns, joined: str = ", ") -> str:
    """Return the names of columns, as --columns takes them."""
    return joined.join(name or "_" for name in columns)


def observed(columns: Columns) -> list[str]:
    """Return the columns that words have: neither labels nor what is left out."""
    return [name for name in columns if name is not None and name not in ("label", KNOWN)]


def first_of(names: Sequence[str], most: int = 5) -> str:
    """Return the first of some names, for messages."""
    return ", ".join(names[:most]) + ", ..." * (len(names) > most)


def begins_with_json() -> bool:
    """Say whether standard input, of which nothing is read, begins with JSON."""
    peek = None if sys.stdin.isatty() else getattr(sys.stdin.buffer, "peek", None)
    return peek is not None and JSON.match(peek().decode(UTF8, "ignore")) is not None


@contextmanager
def _opened(path: str) -> Iterator[tuple[str, IO[bytes]]]:
    """Open a file, or standard input; the name of either, for messages, comes first."""
    if path != STANDARD:
        with open(path, "rb") as file:
            yield path, file
        return
    if sys.stdin.isatty():
        print("one token and its columns per line; Ctrl-D ends it", file=sys.stderr, flush=True)
    yield "standard input", sys.stdin.buffer


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Name the file in the message of a ValueError."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def _without_known(text: Text) -> Text:
    names = observed(text.columns)
    if not names:
        raise ValueError("--columns must name a column besides 'known' and 'label'")
    known = [[_allowed(token[KNOWN]) for token in sequence] for sequence in text.X]
    if len(names) == 1:
        X = [[token[names[0]] for token in sequence] for sequence in text.X]
    else:
        X = [[{name: token[name] for name in names} for token in sequence] for sequence in text.X]
    return text._replace(X=X, known=known)


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
    """Open a stream to write text to; a file is created or replaced only once all is written.

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
    with open(path, "wb") if is_special else replacing(path) as file:
        packed = gzip.GzipFile("", "wb", fileobj=file) if path.endswith(".gz") else None
        with packed or nullcontext(file) as data:
            text = io.TextIOWrapper(data, encoding=encoding, newline="\n")
            yield text
            text.flush()
