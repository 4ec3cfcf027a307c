"""Writing a corpus into a folder, part by part."""

import gzip
import io
import os
import re
import shutil
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from ..data.sequences import as_sequences
from ..datasets.columns import (
    SPACES,
    TABS,
    Reading,
    check_separator,
    checked_columns,
    prefixes,
)
from ..training.monitor import steps
from ..utils.lines import split_lines
from ..utils.unpacking import cannot_be_decoded
from .corpus_folder import CorpusFolder, complete, is_complete, part_source, write_part

# About the number of lines in a part.
LINES = 250_000
GZIP = b"\x1f\x8b"
READING = Reading()


class Piece(NamedTuple):
    """Whole sequences of a file.

    Parameters
    ----------
    path : str
    first_line : int
        The number of lines before it.
    lines : list of str
    bytes_read : int
        How far the file was read, as it is on disk.
    reading : Reading
        With the separator of columns of the whole file.
    """

    path: str
    first_line: int
    lines: list[str]
    bytes_read: int
    reading: Reading

    def read(self, columns: Sequence[str | None] | None) -> tuple[list, list | None]:
        """Return the tokens and labels, as :func:`~sklearn_crcrf.datasets.read_conll` returns them.

        Raises
        ------
        ValueError
            If a line is not valid; the message names the file and the line in it.
        """
        try:
            rows = self.reading.rows(self.lines)
            return rows.sequences(checked_columns(columns, rows.width))
        except ValueError as error:
            raise ValueError(f"{self.path}: {self.located(error)}") from error

    def located(self, error: ValueError) -> ValueError:
        """Say the number of the line in the file, in place of the line in the piece."""

        def in_file(found: re.Match) -> str:
            return f"line {self.first_line + int(found[1])}"

        return ValueError(re.sub(r"\bline (\d+)", in_file, str(error)))


def write_corpus(
    paths: Iterable[str | os.PathLike],
    folder: str | os.PathLike,
    columns: Sequence[str | None] | None = None,
    *,
    sep: str | None = None,
    comment: str | Sequence[str] | None = None,
    encoding: str = "utf-8",
    transformer: Any = None,
    lines_per_part: int = LINES,
    verbose: int = 0,
) -> CorpusFolder:
    """Write text of any size into a folder from which estimators are fitted out of core.

    A part of the text is in memory at a time. After an interruption the same call goes on where it
    ended; until it is done, the folder cannot be used.

    Parameters
    ----------
    paths : iterable of str or path-like
        Files in columns, as :func:`~sklearn_crcrf.datasets.read_conll` reads them; they may be
        gzip-compressed.
    folder : str or path-like
        The folder to create. It takes about 4 bytes for each token and column, and more while
        estimators are fitted.
    columns, sep, comment, encoding : as in :func:`~sklearn_crcrf.datasets.read_conll`
    transformer : transformer or Pipeline of transformers, optional
        Makes the columns of symbols that are stored, such as
        :class:`~sklearn_crcrf.Window`; it is fitted beforehand, or needs no fit.
    lines_per_part : int, default=250_000
        A part ends with the first sequence that ends after this number of lines.
    verbose : int, default=0
        Print a line after every ``verbose`` files.

    Returns
    -------
    CorpusFolder

    Raises
    ------
    ValueError
        If a file is not valid, the message names it and the line; if there are no tokens; or if
        the folder holds another corpus, or anything else.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn_crcrf.out_of_core import write_corpus
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "text")
    ...     n_written = path.write_text("The D\\ndog N\\n\\nDogs N\\n")
    ...     corpus = write_corpus([path], Path(folder, "corpus"))
    ...     X, y = corpus[0]
    >>> X.tolist(), y.tolist()
    ([['The', 'dog'], ['Dogs']], [['D', 'N'], ['N']])
    """
    check_separator(sep, (TABS, SPACES))
    reading = Reading(sep, prefixes(comment))
    return write_parts(
        paths, folder, columns, reading, encoding, transformer, lines_per_part, verbose
    )


def write_parts(
    paths: Iterable[str | os.PathLike],
    folder: str | os.PathLike,
    columns: Sequence[str | None] | None,
    reading: Reading,
    encoding: str,
    transformer: Any,
    lines_per_part: int = LINES,
    verbose: int = 0,
) -> CorpusFolder:
    """Write what ``read`` yields; :func:`write_corpus` explains the other parameters."""
    names = [os.fspath(path) for path in paths]
    root = Path(folder)
    _check_folder(root)
    root.mkdir(parents=True, exist_ok=True)
    options = {
        "columns": None if columns is None else list(columns),
        "sep": reading.sep,
        "comment": None if reading.comment is None else list(reading.comment),
        "conventions": reading.conventions,
        "encoding": encoding,
        "transformer": repr(transformer),
        "lines_per_part": lines_per_part,
    }
    sizes = [os.path.getsize(name) for name in names]
    n_bytes, n_before = sum(sizes), dict(zip(names, np.cumsum([0, *sizes]).tolist(), strict=False))
    pieces = (
        piece for name in names for piece in pieces_of(name, lines_per_part, encoding, reading)
    )
    parts: list[Path] = []
    for piece in steps(
        pieces,
        "writing the corpus, part",
        lambda _, piece: (n_before[piece.path] + piece.bytes_read) / n_bytes,
        verbose,
    ):
        part = root / f"part-{len(parts):05d}"
        # Where a part is from; if it is the same in another call, the part is the same.
        status = os.stat(piece.path)
        about = {"path": piece.path, "size": status.st_size, "changed": status.st_mtime_ns}
        source = {**about, "first_line": piece.first_line, **options}
        if part_source(part) != source:
            tokens, labels = piece.read(columns)
            if not tokens:
                continue
            if transformer is not None:
                tokens = transformer.transform(tokens)
            X, y, _ = as_sequences(tokens, labels)
            shutil.rmtree(part, ignore_errors=True)
            write_part(part, X, y, source)
        parts.append(part)
    if not parts:
        raise ValueError("the files have no tokens")
    return complete(root, parts)


def _check_folder(folder: Path) -> None:
    """Check that a corpus can be written, or gone on with, in a folder."""
    if is_complete(folder):
        raise ValueError(f"{folder} holds a complete corpus: remove it, or choose another folder")
    if not folder.exists():
        return
    strange = [entry.name for entry in folder.iterdir() if not entry.name.startswith("part-")]
    if strange:
        raise ValueError(f"{folder} is not empty and holds no corpus, but {strange[0]!r}")


def pieces_of(
    path: str | os.PathLike, n_lines: int, encoding: str = "utf-8", reading: Reading = READING
) -> Iterator[Piece]:
    """Return the pieces of a file, of at least this number of lines each but for the last.

    Parameters
    ----------
    path : str or path-like
        May be gzip-compressed.
    n_lines : int
    encoding : str, default="utf-8"
    reading : Reading
        Without a separator, all lines of the file are looked at first to find it.

    Raises
    ------
    ValueError
        If the file is compressed and damaged, or not in this encoding.
    """
    name, first_line = os.fspath(path), 0
    reading = _with_separator(reading, path, encoding)
    piece: list[str] = []
    with open(path, "rb") as raw:
        for line in _lines(raw, name, encoding):
            piece.append(line)
            if len(piece) >= n_lines and not line.strip(" \t\r\n"):
                found = split_lines("".join(piece))
                yield Piece(name, first_line, found, raw.tell(), reading)
                first_line += len(found) - 1
                piece = []
    if piece:
        yield Piece(name, first_line, split_lines("".join(piece)), os.path.getsize(path), reading)


def _with_separator(reading: Reading, path: str | os.PathLike, encoding: str) -> Reading:
    """Say what separates the columns, which all lines of a file decide."""
    if reading.sep is not None:
        return reading
    with open(path, "rb") as raw:
        lines = _lines(raw, os.fspath(path), encoding)
        split = (split_lines(line) if "\r" in line else (line,) for line in lines)
        return reading._replace(sep=reading.separator(chain.from_iterable(split)))


def _lines(raw: IO[bytes], name: str, encoding: str) -> Iterator[str]:
    """Return the lines of a file, with their ends; only ``\\n`` ends one."""
    number, start = 0, raw.read(len(GZIP))
    raw.seek(0)
    data: Any = gzip.GzipFile(fileobj=raw) if start == GZIP else raw
    try:
        for number, line in enumerate(io.TextIOWrapper(data, encoding, newline="\n"), start=1):
            yield line if number > 1 else line.removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise ValueError(f"{name}: {cannot_be_decoded(error, number)}") from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{name}: cannot be read after line {number}: {error}") from error
