"""A corpus in a folder: parts of sequences, whose arrays are mapped into memory.

    corpus.json              the format, its version, and all parts; written last
    part-00000/part.json     where the part is from, its sizes, and a checksum of each array
    part-00000/*.npy         the arrays of the part

A part is complete once its folder has its name, and the corpus once it has ``corpus.json``.
"""

import json
import os
import shutil
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np

from ..data.ragged import SequenceArray
from ..data.symbols import SymbolTable, symbolize
from ..training.monitor import steps
from ..utils.replacing import replacing

FORMAT, VERSION = "corpus folder of sklearn_crcrf", 1
CORPUS, PART = "corpus.json", "part.json"
BLOCK = 2**20
# The arrays of a part, and the arrays of its labels.
TOKENS = ("offsets", "codes", "text")
LABELS = ("labels", "label_text")


class CorpusFolder:
    """A corpus that :func:`write_corpus` wrote, one part of which is in memory at a time.

    Parameters
    ----------
    folder : str or path-like
        A folder that :func:`write_corpus` made.

    Attributes
    ----------
    folder : Path
        The folder.
    n_sequences, n_tokens : int
        Numbers of all parts together.

    Raises
    ------
    ValueError
        If this is no corpus folder, or it is incomplete, damaged or of a later version. The
        arrays of a part are checked when the part is read for the first time.

    See Also
    --------
    write_corpus : Write one.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn_crcrf import CRF
    >>> from sklearn_crcrf.out_of_core import CorpusFolder, write_corpus
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "text")
    ...     n_written = path.write_text("The D\\ndog N\\n\\nDogs N\\n")
    ...     corpus = write_corpus([path], Path(folder, "corpus"))
    ...     crf = CRF().fit(corpus)
    ...     corpus, crf.predict([["The", "dog"]])
    (<CorpusFolder of 2 sequences, 3 tokens, 1 part>, array([list(['D', 'N'])], dtype=object))
    """

    def __init__(self, folder: str | os.PathLike):
        self.folder = Path(folder)
        if not self.folder.is_dir():
            raise FileNotFoundError(f"there is no folder {folder}")
        if not is_complete(self.folder):
            is_begun = any(self.folder.glob("part-*"))
            what = "is incomplete: write it again with write_corpus, which goes on where it ended"
            raise ValueError(f"{folder} {what if is_begun else 'is no corpus folder'}")
        path = self.folder / CORPUS
        described = _json(path)
        if described.get("format") != FORMAT:
            raise ValueError(f"{folder} is no corpus folder, as {CORPUS} says")
        version = described.get("version")
        if version != VERSION:
            raise ValueError(f"{path} has version {version} of the format; this is {VERSION}")
        names = described.get("parts")
        if not isinstance(names, list) or not names or not all(map(_is_part, names)):
            raise ValueError(f"{path} is damaged: parts must be a list of names, got {names!r}")
        self._parts: list[str] = names
        self.n_sequences = _number(described, "n_sequences", path)
        self.n_tokens = _number(described, "n_tokens", path)
        parts = [self.folder / name / PART for name in names]
        n_tokens = sum(_number(_json(part), "n_tokens", part) for part in parts)
        if n_tokens != self.n_tokens:
            raise ValueError(
                f"{path} is damaged: it says {self.n_tokens} tokens, but its parts have {n_tokens}"
            )
        self._checked: set[int] = set()

    def __reduce__(self):
        return CorpusFolder, (self.folder,)

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        raise ValueError(
            "a CorpusFolder is not an array: only fit takes it, of some estimators; "
            "predict_to_file labels it, and write_corpus applies transformers"
        )

    def __repr__(self) -> str:
        n_parts = len(self)
        return (
            f"<CorpusFolder of {self.n_sequences:,} sequences, {self.n_tokens:,} tokens, "
            f"{n_parts:,} part{'s' * (n_parts != 1)}>"
        )

    def __len__(self) -> int:
        return len(self._parts)

    def __iter__(self) -> Iterator[tuple[SequenceArray, SequenceArray | None]]:
        return (self[number] for number in range(len(self)))

    def labelled_parts(
        self, what: str, verbose: int = 0
    ) -> Iterator[tuple[SequenceArray, SequenceArray]]:
        """Yield the tokens and labels of all parts, to train on, and print progress.

        Parameters
        ----------
        what : str
            What is done with the parts.
        verbose : int, default=0
            Print a line after every ``verbose`` parts.

        Raises
        ------
        ValueError
            If the corpus has no labels, or a part is damaged.
        """
        n_parts = len(self)
        for X, y in steps(self, f"{what}, part", lambda number, _: number / n_parts, verbose):
            if y is None:
                raise ValueError(f"{self.folder} has no labels to train on")
            yield X, y

    def __getitem__(self, number: int) -> tuple[SequenceArray, SequenceArray | None]:
        """Return the tokens and labels of a part; the labels are None if the corpus has none.

        Raises
        ------
        ValueError
            If the part is damaged.
        """
        number = range(len(self))[number]
        part = self.folder / self._parts[number]
        described = _json(part / PART)
        if number not in self._checked:
            _check(part, described)
            self._checked.add(number)
        return _read(part, described)


def refuse_what_needs_all(y: Any, sample_weight: Any, needs_all: Mapping[str, bool]) -> None:
    """Check, before any work, that an estimator can be fitted from a corpus folder.

    Parameters
    ----------
    y, sample_weight : as passed to ``fit``
    needs_all : mapping
        Whether a parameter, written with its value, needs all of the data at once.

    Raises
    ------
    ValueError
        If a parameter does, or labels or weights are given; the message names it.
    """
    if y is not None or sample_weight is not None:
        raise ValueError("a CorpusFolder has its own labels and no weights: pass neither")
    for parameter, needs in needs_all.items():
        if needs:
            raise ValueError(f"{parameter} needs all of the data in memory, so not a CorpusFolder")


def write_part(
    folder: Path, X: SequenceArray, y: SequenceArray | None, source: dict[str, Any]
) -> None:
    """Write a part of a corpus, which gets its name once it is complete.

    Parameters
    ----------
    folder : Path
    X : SequenceArray of strings, feature dicts or symbols
    y : SequenceArray of str, or None
    source : dict
        Where the part is from, as JSON.
    """
    table = symbolize(X)
    text = [symbol for column in table.categories for symbol in column]
    arrays = {"offsets": X.offsets, "codes": table.codes, "text": _as_json(text)}
    if y is not None:
        labels, ids = np.unique(y.data.astype(str), return_inverse=True)
        arrays |= {"labels": ids.astype(np.int32), "label_text": _as_json(labels.tolist())}
    unfinished = folder.with_name(f"{folder.name}.unfinished")
    unfinished.mkdir(exist_ok=True)
    for name, array in arrays.items():
        np.save(unfinished / f"{name}.npy", array)
    is_strings = X.data.ndim == 1 and not isinstance(X.data[0], dict)
    described = {
        "source": source,
        "is_strings": is_strings,
        "has_labels": y is not None,
        "n_sequences": len(X),
        "n_tokens": int(X.offsets[-1]),
        "n_symbols": [len(column) for column in table.categories],
        "columns": {name: getattr(table, name) for name in ("names", "numbers", "keys", "edges")},
        "checksums": {name: _checksum(unfinished / f"{name}.npy") for name in arrays},
    }
    _write(unfinished / PART, described)
    os.replace(unfinished, folder)


def part_source(part: Path) -> dict[str, Any] | None:
    """Return where a part is from; None if there is no complete part."""
    try:
        return _json(part / PART).get("source")
    except (OSError, ValueError):
        return None


def is_complete(folder: Path) -> bool:
    """Say whether a folder holds a complete corpus."""
    return (folder / CORPUS).exists()


def complete(folder: Path, parts: list[Path]) -> CorpusFolder:
    """Make a corpus of its parts, and remove what else has been begun in the folder."""
    for entry in folder.iterdir():
        if entry not in parts:
            shutil.rmtree(entry)
    described = [_json(part / PART) for part in parts]
    sums = {name: sum(part[name] for part in described) for name in ("n_sequences", "n_tokens")}
    names = [part.name for part in parts]
    _write(folder / CORPUS, {"format": FORMAT, "version": VERSION, **sums, "parts": names})
    return CorpusFolder(folder)


def _checksum(path: Path) -> int:
    """Return the CRC-32 of a file."""
    crc = 0
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            crc = zlib.crc32(block, crc)
    return crc


def _write(path: Path, content: dict[str, Any]) -> None:
    """Write a file of JSON, which has its name only once it is on disk."""
    with replacing(path) as file:
        file.write(json.dumps(content).encode())


def _is_part(name: Any) -> bool:
    """Say whether this can be the name of a part, which lies in the folder."""
    return isinstance(name, str) and name.startswith("part-") and Path(name).name == name


def _number(described: dict[str, Any], name: str, path: Path) -> int:
    """Return a size that a file of JSON says."""
    value = described.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
        raise ValueError(f"{path} is damaged: {name} must be a number, got {value!r}")
    return value


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged: {error}") from error
    if not isinstance(content, dict):
        raise ValueError(f"{path} is damaged: it must be an object")
    return content


def _check(part: Path, described: dict[str, Any]) -> None:
    """Raise ValueError if a file has another checksum than when it was written."""
    checksums = described.get("checksums")
    names = TOKENS + (LABELS if described.get("has_labels") is True else ())
    if not isinstance(checksums, dict) or set(checksums) != set(names):
        raise ValueError(f"{part} is damaged: {PART} must have the checksums of {names}")
    for name, expected in checksums.items():
        path = part / f"{name}.npy"
        try:
            found = _checksum(path)
        except OSError as error:
            raise ValueError(f"{part} is damaged: {path.name}: {error}") from error
        if found != expected:
            raise ValueError(f"{path} is damaged: its checksum is not right")


def _read(part: Path, described: dict[str, Any]) -> tuple[SequenceArray, SequenceArray | None]:
    """Return the tokens and labels of a part, whose arrays are checked against each other."""
    text, offsets = _strings(part, "text"), _array(part, "offsets")
    codes = _array(part, "codes", ndim=2)
    if (len(offsets) - 1, len(codes)) != (described.get("n_sequences"), described.get("n_tokens")):
        raise ValueError(f"{part / PART} is damaged, or offsets.npy or codes.npy: sizes differ")
    try:
        data = _tokens(text, codes, described)
    except (AttributeError, LookupError, TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{part / PART} is damaged, or {part / 'codes'}.npy: {error!r}") from error
    try:
        X = SequenceArray(data, offsets)
    except ValueError as error:
        raise ValueError(f"{part / 'offsets'}.npy is damaged: {error}") from error
    if described.get("has_labels") is not True:
        return X, None
    labels, ids = _strings(part, "label_text"), _array(part, "labels")
    if len(ids) != len(data) or not _are_below(ids, len(labels), 0):
        raise ValueError(f"{part / 'labels'}.npy is damaged: it does not number labels of tokens")
    return X, SequenceArray(labels[ids], offsets)


def _tokens(text: np.ndarray, codes: np.ndarray, described: dict[str, Any]) -> Any:
    """Return the data of tokens; an error of any kind if a file is damaged."""
    n_symbols, columns = described["n_symbols"], described["columns"]
    ends = np.cumsum([0, *n_symbols])
    if len(n_symbols) != codes.shape[1] or ends[-1] != len(text) or min(n_symbols) < 0:
        raise ValueError(f"n_symbols={n_symbols} does not fit")
    is_strings, names = described["is_strings"], set(columns["names"])
    are_names = all(isinstance(name, str) for given in columns.values() for name in given)
    are_known = names.issuperset([*columns["numbers"], *columns["edges"]])
    if not (isinstance(is_strings, bool) and are_names and are_known and columns["keys"]):
        raise ValueError("it does not describe columns")
    for column, n in zip(codes.T, n_symbols, strict=True):
        if not _are_below(column, n, 0 if is_strings else -1):
            raise ValueError("codes are out of range")
    if is_strings:
        return text[codes[:, 0]]
    return SymbolTable(codes, np.split(text, ends[1:-1]), **columns)


def _are_below(numbers: np.ndarray, end: int, start: int) -> bool:
    return len(numbers) == 0 or bool(numbers.min() >= start and numbers.max() < end)


def _array(part: Path, name: str, ndim: int = 1) -> np.ndarray:
    """Map an array of integers from a file; a ValueError names the file if it is damaged."""
    path = part / f"{name}.npy"
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError, OverflowError, MemoryError, TokenError) as error:
        raise ValueError(f"{path} is damaged: {error}") from error
    if array.dtype.kind not in "iu" or array.ndim != ndim:
        kind = f"type {array.dtype} and shape {array.shape}"
        raise ValueError(f"{path} is damaged: it holds an array of {kind}")
    return array


def _as_json(strings: list[str]) -> np.ndarray:
    """Return strings as the bytes of a list of JSON, which has escapes for all of Unicode."""
    return np.frombuffer(json.dumps(strings).encode(), np.uint8)


def _strings(part: Path, name: str) -> np.ndarray:
    """Return the inverse of :func:`_as_json`, from a file, as an array of str objects."""
    try:
        strings = json.loads(_array(part, name).tobytes())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{part / name}.npy is damaged: {error}") from error
    if not isinstance(strings, list) or not all(isinstance(string, str) for string in strings):
        raise ValueError(f"{part / name}.npy is damaged: it holds no list of strings")
    return np.array(strings, dtype=object)
