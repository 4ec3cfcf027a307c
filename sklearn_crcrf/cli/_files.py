"""Many files, and files that need not fit into memory."""

import argparse
import os
from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import Any

from ._text import STANDARD, UTF8, Source, Text, add_reading, read_source, read_text

__all__ = ["add_files", "files_of", "first_source", "outputs_of", "read_texts", "texts_of"]

# About the number of lines in memory at a time.
LINES = 50_000


def add_files(parser: argparse.ArgumentParser, help: str) -> None:
    """Add the arguments FILE ..., and the options that say how files are read."""
    text = (
        f"{help}; may be gzip-compressed, and a folder stands for its files; standard input if "
        "left out or -"
    )
    parser.add_argument("files", metavar="FILE", nargs="*", default=[STANDARD], help=text)
    add_reading(parser)


def files_of(paths: list[str]) -> list[str]:
    """The files, with the files of each folder in its place, by name.

    Raises
    ------
    ValueError
        If a folder has no files.
    """
    files = []
    for path in paths:
        inside = [path]
        if os.path.isdir(path):
            inside = sorted(entry.path for entry in os.scandir(path) if entry.is_file())
            if not inside:
                raise ValueError(f"{path}: there are no files in this folder")
        files += inside
    return files


def outputs_of(files: list[str], folder: str) -> list[str]:
    """The file in a folder, which is created, for the output of each of several files.

    Raises
    ------
    ValueError
        If there is no folder, or two files have the same name.
    """
    if folder == STANDARD or os.path.isfile(folder):
        raise ValueError("--output must be a folder for the output of several files")
    names = [os.path.basename(file) for file in files]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two files are called {name}, but all are written to {folder}")
    os.makedirs(folder, exist_ok=True)
    return [os.path.join(folder, name) for name in names]


def first_source(files: list[str], encoding: str) -> Source:
    """The first lines of the first file that has any; they tell the separator of columns."""
    from ..out_of_core.text import pieces_of

    pieces = chain.from_iterable(pieces_of(file, LINES, encoding) for file in files)
    for piece in islice(pieces, 1):
        return _source(piece).by_tabs()
    raise ValueError(f"{files[0]}: there are no tokens")


def texts_of(file: str, encoding: str, read: Callable[[Source], Text]) -> Iterator[Text]:
    """A file in pieces, all with the separator of columns of the first piece.

    Parameters
    ----------
    file, encoding : str
    read : callable
        Reads a source; the lines in its errors become lines of the file.
    """
    from ..out_of_core.text import pieces_of

    separator = None
    for number, piece in enumerate(pieces_of(file, LINES, encoding)):
        source = _source(piece)
        separator = separator if number else source.by_tabs().separator
        try:
            yield read(source._replace(separator=separator))
        except ValueError as error:
            raise piece.located(error) from error


def _source(piece: Any) -> Source:
    return Source(piece.path, piece.text.encode(UTF8, "surrogatepass"))


def read_texts(files: list[str], options: argparse.Namespace) -> Text:
    """Read all of several files with labels, of the same columns, into memory.

    Raises
    ------
    ValueError
        If a file is not valid or has no tokens with labels, or columns differ.
    """
    first, *others = (
        read_text(
            read_source(file, options.max_bytes, options.encoding), options.columns, labelled=True
        )
        for file in files
    )
    for file, text in zip(files[1:], others, strict=True):
        if text.columns != first.columns:
            raise ValueError(f"{file} has other columns than {files[0]}")
    texts = [first, *others]
    X = [tokens for text in texts for tokens in text.X]
    y = [labels for text in texts for labels in text.y]
    return Text(X, y, first.known, first.columns)
