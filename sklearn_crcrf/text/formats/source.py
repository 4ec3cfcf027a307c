"""A file of documents, and its content as text, as JSON, and as rows of columns."""

import ast
import csv
import gzip
import io
import json
import os
import re
import zlib
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from ...datasets.columns import Reading, Rows
from ...datasets.tables import CHARACTERS, WORDS
from ...utils.lines import lines_of, long_fields
from ...utils.unpacking import MAX_BYTES, read_text, read_unpacked

Record = tuple[str, Any]
HEAD = 10_000
# Names of the text, and of its spans.
TEXTS = ("text", "full_text", "source_text", "data", "sentence")
SPANS = ("spans", "label", "labels", "entities", "privacy_mask")
# An object with a key; or an array of objects, of arrays or of strings, or an empty one.
JSON = re.compile(r'\s*(?:\{\s*(?:"[^"\n]*"\s*:|\})|\[\s*(?:[\[{]\s*"|"[^\s"]|\]))')


class Source:
    """A file of documents, read when it is asked for.

    Parameters
    ----------
    path_or_file : str, path-like or file object
        May be gzip-compressed.
    encoding : str, default="utf-8"
    max_bytes : int or None, default=2**32
        Maximum number of bytes of the unpacked file.
    offsets : {"characters", "utf-16", "bytes"}, optional
        What the offsets in the file count.

    Attributes
    ----------
    path : Path or None
        None for a file object.
    name : str
        For messages.
    """

    def __init__(
        self,
        path_or_file: str | os.PathLike | IO,
        encoding: str = "utf-8",
        max_bytes: int | None = MAX_BYTES,
        offsets: str | None = None,
    ):
        self._file, self.encoding, self.max_bytes = path_or_file, encoding, max_bytes
        self.offsets = offsets
        is_path = not hasattr(path_or_file, "read")
        self.path = Path(path_or_file) if is_path else None  # type: ignore[arg-type]
        self.name = str(path_or_file if is_path else getattr(path_or_file, "name", "the file"))

    def beside(self, path: Path) -> "Source":
        """Return another file that is read in the same way."""
        return Source(path, self.encoding, self.max_bytes, self.offsets)

    @property
    def suffix(self) -> str:
        """The ending of the name, in lower case and without that of gzip."""
        return suffix_of(self.name)

    @cached_property
    def text(self) -> str:
        """All of the text, with its line ends."""
        try:
            return read_text(self._file, self.encoding, self.max_bytes)
        except ValueError as error:
            raise ValueError(f"{self.name}: {error}") from error

    @property
    def data(self) -> bytes:
        """All bytes, unpacked."""
        data = read_unpacked(self._file, self.max_bytes)
        return data if isinstance(data, bytes) else data.encode(self.encoding)

    @cached_property
    def is_json(self) -> bool:
        """Say whether its name or its beginning are those of JSON; only its beginning is read."""
        return self.suffix in (".json", ".jsonl", ".ndjson") or JSON.match(self._head) is not None

    @property
    def has_records(self) -> bool:
        """Say whether it is JSON, or a table with a column of texts and one of spans."""
        return self.is_json or self._character is not None

    @cached_property
    def _character(self) -> str | None:
        """What separates the columns of a table of texts and spans; None for all else."""
        header = re.split(r"[\r\n]", self._head.lstrip("\ufeff\r\n").lower(), maxsplit=1)[0]
        for character in CHARACTERS:
            names = {*next(csv.reader([header], delimiter=character), [])}
            if (
                not names.isdisjoint(TEXTS)
                and not names.isdisjoint(SPANS)
                and names.isdisjoint(WORDS)
            ):
                return character
        return None

    @cached_property
    def _head(self) -> str:
        """The beginning of the text."""
        if self.path is None or "text" in vars(self):
            return self.text[:HEAD]
        with open(self.path, "rb") as file:
            is_packed = file.read(2) == b"\x1f\x8b"
        with gzip.open(self.path) if is_packed else open(self.path, "rb") as file:
            try:
                return file.read(HEAD).decode(self.encoding, "ignore").removeprefix("\ufeff")
            except (EOFError, zlib.error, gzip.BadGzipFile):
                return ""

    @cached_property
    def records(self) -> list[Record]:
        """The items of a JSON array, of JSON lines or of a table, each with its place.

        Raises
        ------
        ValueError
            If it is not JSON, or a row not valid; the message names the line.
        """
        text = self.text.removeprefix("\ufeff")
        if not self.is_json and self._character is not None:
            with long_fields():
                return list(self._rows_of_documents(text, self._character))
        try:
            whole = json.loads(text)
        except (ValueError, RecursionError):
            return list(self._lines(text))
        items = whole if isinstance(whole, list) and not _is_pair(whole) else [whole]
        return [(f"document {i}", item) for i, item in enumerate(items)]

    def _lines(self, text: str) -> Iterator[Record]:
        for number, line in enumerate(lines_of(text), start=1):
            if line:
                try:
                    yield f"line {number}", json.loads(line)
                except (ValueError, RecursionError) as error:
                    raise ValueError(f"{self.name}: line {number} is not JSON: {error}") from error

    def _rows_of_documents(self, text: str, character: str) -> Iterator[Record]:
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=character)
        rows = filter(None, lines)
        try:
            header = [name.lower() for name in next(rows)]
            spans = next(header.index(name) for name in SPANS if name in header)
            for row in rows:
                if len(row) != len(header):
                    raise ValueError(f"{len(row)} columns, expected {len(header)}; quote the text")
                values: list[Any] = [*row]
                values[spans] = _values(row[spans])
                yield f"line {lines.line_num}", dict(zip(header, values, strict=True))
        except (ValueError, csv.Error) as error:
            raise ValueError(f"{self.name}, line {lines.line_num}: {error}") from error

    @cached_property
    def rows(self) -> Rows:
        """The rows of columns."""
        lines = lines_of(self.text)
        try:
            return Reading(comment=None, conventions=True).rows(lines)
        except ValueError as error:
            raise ValueError(f"{self.name}: {error}") from error


def suffix_of(name: str) -> str:
    """Return the ending of a name, in lower case and without that of gzip."""
    return Path(name.lower().removesuffix(".gz")).suffix


def _values(cell: str) -> Any:
    """Read a cell that holds JSON, or a list as Python writes it; an empty one is an empty list."""
    for read in (json.loads, ast.literal_eval):
        try:
            return read(cell or "[]")
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    raise ValueError(f'spans must be a list in JSON, such as [[0, 3, "PER"]], got {cell!r:.80}')


def _is_pair(value: list) -> bool:
    """Say whether it is a single document of spaCy: a text and its annotations."""
    return len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], dict)
