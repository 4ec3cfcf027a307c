"""Files as bags, with one partition for each file."""

import os
from collections.abc import Iterable, Sequence
from typing import Any

from ..datasets import read_conll as read_one
from ..utils.unpacking import MAX_BYTES
from .computing import task
from .packages import require_dask


def read_conll(
    paths: str | os.PathLike | Iterable[str | os.PathLike],
    columns: Sequence[str | None] | None = None,
    *,
    sep: str | None = None,
    comment: str | Sequence[str] | None = None,
    encoding: str = "utf-8",
    max_bytes: int | None = MAX_BYTES,
    storage_options: dict[str, Any] | None = None,
) -> tuple[Any, Any]:
    r"""Read CoNLL-style files as bags of sequences, with one partition for each file.

    Nothing is read before it is used. Each worker reads its files itself, so it must reach them.

    Parameters
    ----------
    paths : str, path-like or list of these
        Paths or addresses that ``fsspec`` knows, such as ``"s3://..."``; names may have wildcards.
        The order of the files is the order of the sequences.
    columns : sequence of str or None, optional
        As in :func:`sklearn_crcrf.datasets.read_conll`: by default the first column is "word" and,
        where there are several, the last is "label".
    sep, comment : as in :func:`sklearn_crcrf.datasets.read_conll`
    encoding : str, default="utf-8"
        Encoding of the files; they may be compressed by gzip.
    max_bytes : int or None, default=2**32
        Maximum number of bytes of each unpacked file, or None for no limit.
    storage_options : dict, optional
        Options of the file system, such as credentials.

    Returns
    -------
    X : Bag of lists
        The tokens of each sequence.
    y : Bag of lists of str, or None
        The labels of each sequence; None if ``columns`` has no "label".

    Raises
    ------
    ValueError
        If there is no file. When a file is read and has errors, the message has its name and the
        line.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn_crcrf.dask import read_conll
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.txt").write_text("The D\ndog N\n")
    >>> _ = (folder / "b.txt").write_text("Bark V\n")
    >>> X, y = read_conll(folder / "*.txt")
    >>> X.npartitions, y.compute(scheduler="synchronous")
    (2, [['D', 'N'], ['V']])
    """
    from_delayed = require_dask("dask.bag").from_delayed
    names = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    names = [os.fspath(name) for name in names]
    options = storage_options or {}
    open_files = require_dask("fsspec").open_files
    files = [file for name in names for file in open_files(name, "rb", **options)]
    if not files:
        raise ValueError(f"paths: there is no file {names}")
    how: dict[str, Any] = {"columns": columns, "sep": sep, "comment": comment}
    how |= {"encoding": encoding, "max_bytes": max_bytes}
    pairs = [task(_read, file, how) for file in files]
    # Tasks that depend on two others are not fused with these, so X and y share what is read.
    names = task(list, [file.full_name for file in files])
    X = from_delayed([task(_sequences, pair, names) for pair in pairs])
    if columns is not None and "label" not in columns:
        return X, None
    return X, from_delayed([task(_labels, pair, names, k) for k, pair in enumerate(pairs)])


def _read(file: Any, how: dict[str, Any]) -> tuple[list, list | None]:
    """Return the sequences and labels of a file; errors have its name."""
    try:
        with file as opened:
            return read_one(opened, **how)
    except ValueError as error:
        raise ValueError(f"{file.full_name}: {error}") from error


def _sequences(pair: tuple[list, list | None], names: list[str]) -> list:
    return pair[0]


def _labels(pair: tuple[list, list | None], names: list[str], number: int) -> list:
    if pair[1] is None:
        raise ValueError(f"{names[number]}: there is no column of labels")
    return pair[1]
