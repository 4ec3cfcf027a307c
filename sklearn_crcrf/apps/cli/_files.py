"""Many files, and files that need not fit into memory."""

import argparse
import os
import warnings
from collections.abc import Callable, Iterator

from ._text import (
    ITEMS,
    STANDARD,
    Source,
    Text,
    add_reading,
    check_labelled,
    check_no_nul,
    first_of,
    listed,
    naming,
    observed,
    read_source,
    read_text,
    reading_of,
)

# About the number of lines in memory at a time.
LINES = 50_000
# From this number of different labels on, it is looked at whether columns are swapped.
MANY = 50


def add_files(parser: argparse.ArgumentParser, help: str) -> None:
    """Add the arguments FILE ..., and the options that say how files are read."""
    text = (
        f"{help}; may be gzip-compressed, and a folder stands for its files, but for hidden ones "
        "and other folders; standard input if left out or -"
    )
    parser.add_argument("files", metavar="FILE", nargs="*", default=[STANDARD], help=text)
    add_reading(parser)


def files_of(paths: list[str]) -> list[str]:
    """List the files, with the files of each folder in its place, by name, but for hidden ones.

    A warning names what is in a folder and is not read, such as other folders.

    Raises
    ------
    ValueError
        If a folder has no files.
    """
    files = []
    for path in paths:
        if not os.path.isdir(path):
            files.append(path)
            continue
        inside = [entry for entry in os.scandir(path) if not entry.name.startswith(".")]
        found = sorted(entry.path for entry in inside if entry.is_file())
        others = sorted(entry.name for entry in inside if not entry.is_file())
        named = first_of(others)
        if not found:
            only = f", only {named}: name a folder of files" if others else ""
            raise ValueError(f"{path}: there are no files in this folder{only}")
        if others:
            warnings.warn(
                f"{path}: not read are the folders in it, {named}; name them too", stacklevel=2
            )
        files += found
    return files


def outputs_of(files: list[str], folder: str) -> list[str]:
    """Name a file for the output of each of several files, in a folder that is created.

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


def first_text(files: list[str], options: argparse.Namespace) -> Text:
    """Read the first piece of text with a token; its whole file tells what separates columns."""
    for file in files:
        for text in texts_of(file, options, lambda source: read_text(source, options.columns)):
            if text.X:
                check_labelled(text, file)
                return text
    raise ValueError(f"{files[0]}: there are no tokens")


def texts_of(
    file: str, options: argparse.Namespace, read: Callable[[Source], Text]
) -> Iterator[Text]:
    """Read a file in pieces, all with the separator of columns of the first piece.

    Parameters
    ----------
    file : str
    options : Namespace
    read : callable
        Reads a source; the lines in its errors become lines of the file.
    """
    from ...out_of_core.writing import pieces_of

    reading = reading_of(options)
    for piece in pieces_of(file, LINES, options.encoding, reading):
        own = piece.reading if reading.sep is None else reading
        try:
            with naming(file):
                check_no_nul(piece.lines)
            text = read(Source(file, piece.lines, own, reading.sep is not None))
        except ValueError as error:
            raise piece.located(error) from error
        if text.rows is not None:
            reading = reading._replace(sep=text.rows.sep)
        yield text


def read_texts(
    files: list[str],
    options: argparse.Namespace,
    read: Callable[[Source], Text] | None = None,
) -> Text:
    """Read all of several files with labels, of the same columns, into memory.

    Each source is read by ``read``, or else with the columns of the options.

    Raises
    ------
    ValueError
        If a file is not valid or has no labels, there are no tokens at all, or columns differ.
    """
    texts = {}
    for file in files:
        source = read_source(file, options)
        text = read(source) if read else read_text(source, options.columns, len(files) == 1)
        if text.X:
            texts[file] = text
        elif len(files) > 1:
            warnings.warn(f"{file}: there are no tokens", stacklevel=2)
    if not texts:
        raise ValueError(f"{files[0]}: there are no tokens")
    start, first = next(iter(texts.items()))
    for file, text in texts.items():
        if text.columns != first.columns:
            raise ValueError(
                f"{file} has the columns {listed(text.columns)}, but {start} has "
                f"{listed(first.columns)}; files to train on have the same columns"
            )
        check_labelled(text, file)
    if len(texts) == 1:
        return first
    X = [tokens for text in texts.values() for tokens in text.X]
    y = [labels for text in texts.values() for labels in text.y]
    separators = {text.separator for text in texts.values()} - {None}
    is_shared = len({text.rows and text.rows.sep for text in texts.values()}) == 1
    separator = separators.pop() if separators and is_shared else None
    groups = [
        f"{file} {group}".strip()
        for file, text in texts.items()
        for group in text.groups or [""] * len(text.X)
    ]
    return first._replace(X=X, y=y, rows=None, separator=separator, groups=groups, places=None)


def columns_of_tokens(text: Text, options: argparse.Namespace) -> list[str | None]:
    """Return the columns that files to label have: without the sentences of a table's header."""
    by_header = options.columns is None and text.has_header
    return [name for name in text.columns if name is not None] if by_header else text.columns


def add_groups(parser: argparse.ArgumentParser, help: str) -> None:
    """Add the option --groups."""
    text = (
        "column with the document of each sequence, say, which is no attribute of words; default: "
        f"the documents that -DOCSTART- or '# newdoc' begin, or the files of a folder. {help}"
    )
    parser.add_argument("--groups", metavar="COLUMN", help=text)


def groups_of(text: Text, column: str | None) -> tuple[list, list | None]:
    """Return the tokens without the column of groups, and the group of each sequence.

    Without a column, groups are documents if there are at least two.

    Raises
    ------
    ValueError
        If there is no such column, or a sequence has several groups, or nothing else is left.
    """
    if column is None:
        return text.X, text.groups if len(set(text.groups or ())) > 1 else None
    names = observed(text.columns)
    if column not in names or len(names) == 1:
        raise ValueError(
            f"--groups must name one of two or more columns, but is {column!r}; the columns are "
            f"{listed(text.columns)}"
        )
    groups = [sequence[0][column] for sequence in text.X]
    for number, (sequence, group) in enumerate(zip(text.X, groups, strict=True)):
        for position, token in enumerate(sequence):
            if token[column] != group:
                raise ValueError(
                    f"{text.place(number, position)}: the group is {token[column]!r}, but the "
                    f"sequence begins with {group!r}"
                )
    first, *more = (name for name in names if name != column)
    if not more:
        return [[token[first] for token in sequence] for sequence in text.X], groups
    kept = [first, *more]
    return [[{name: token[name] for name in kept} for token in words] for words in text.X], groups


def check_trainable(text: Text) -> None:
    """Raise ValueError if there are known labels, and warn if columns seem to be swapped."""
    if text.known is not None:
        raise ValueError("a column 'known' is for tag; train uses the column 'label'")
    labels = {label for sequence in text.y for label in sequence}
    n_tokens = sum(map(len, text.y))
    if len(labels) < MANY or text.columns == ITEMS:
        return
    tokens = [token for sequence in text.X for token in sequence]
    is_word = isinstance(tokens[0], str)
    columns = [tokens] if is_word else zip(*(token.values() for token in tokens), strict=True)
    n_words = max(len(set(column)) for column in columns)
    if len(labels) > min(n_words, n_tokens / 2):
        warnings.warn(
            f"there are {len(labels):,} different labels, but {n_tokens:,} tokens and {n_words:,} "
            f"different words: is the label in another column? The columns are "
            f"{listed(text.columns)}; --columns label,word, for example, names them in their order",
            stacklevel=2,
        )
