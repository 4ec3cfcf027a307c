"""Writing a corpus into a folder, part by part."""

import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..data.sequences import as_sequences
from ..datasets.columns import SPACES, TABS, Reading, check_separator, prefixes
from ..training.monitor import steps
from .corpus_folder import CorpusFolder, complete, is_complete, part_source, write_part
from .text import Piece, pieces_of

__all__ = ["write_corpus", "write_parts"]

# About the number of lines in a part.
LINES = 250_000


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

    A part of the text is in memory at a time. A call that was interrupted goes on where it ended
    when it is repeated; until then, the folder does not pass for complete.

    Parameters
    ----------
    paths : iterable of str or path-like
        Files in columns, as :func:`~sklearn_crcrf.datasets.read_conll` reads them; they may be
        gzip-compressed.
    folder : str or path-like
        Is created. It needs about 4 bytes for each token and column, and fitting needs room in it
        too.
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
        source = _source(piece, options)
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


def _source(piece: Piece, options: dict[str, Any]) -> dict[str, Any]:
    """Where a part is from; if it is the same in another call, the part is the same."""
    status = os.stat(piece.path)
    about = {"path": piece.path, "size": status.st_size, "changed": status.st_mtime_ns}
    return {**about, "first_line": piece.first_line, **options}
