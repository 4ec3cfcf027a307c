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
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..data.ragged import SequenceArray
from ..data.symbols import SymbolTable, symbolize
from ..training.monitor import steps
from ..utils.replacing import replacing

__all__ = ["CorpusFolder", "complete", "is_complete", "part_source", "write_part"]

FORMAT, VERSION = "corpus folder of sklearn_crcrf", 1
CORPUS, PART = "corpus.json", "part.json"
BLOCK = 2**20


class CorpusFolder:
    """A corpus that :func:`write_corpus` wrote, one part of which is in memory at a time.

    Parameters
    ----------
    folder : str or path-like

    Attributes
    ----------
    folder : Path
    n_sequences, n_tokens : int

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
        described = _json(self.folder / CORPUS)
        if described.get("format") != FORMAT:
            raise ValueError(f"{folder} is no corpus folder")
        if described.get("version") != VERSION:
            raise ValueError(
                f"{folder} has version {described.get('version')} of the format; this is {VERSION}"
            )
        try:
            self._parts = [Path(name).name for name in described["parts"]]
            self.n_sequences = int(described["n_sequences"])
            self.n_tokens = int(described["n_tokens"])
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{self.folder / CORPUS} is damaged: {error!r}") from error
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
        """The tokens and labels of all parts, to train on; progress is told.

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
        """The tokens and labels of a part; the labels are None if the corpus has none.

        Raises
        ------
        ValueError
            If the part is damaged.
        """
        number = range(len(self))[number]
        part = self.folder / self._parts[number]
        try:
            described = _json(part / PART)
            if number not in self._checked:
                _check(part, described["checksums"])
                self._checked.add(number)
            return _read(part, described)
        except (KeyError, TypeError, EOFError, FileNotFoundError, IndexError) as error:
            raise ValueError(f"{part} is damaged: {error!r}") from error


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
    arrays = {"offsets": X.offsets, "codes": table.codes, **_joined("text", text)}
    if y is not None:
        labels, ids = np.unique(y.data.astype(str), return_inverse=True)
        arrays |= {"labels": ids.astype(np.int32), **_joined("label_text", labels.tolist())}
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
    """Where a part is from; None if there is no complete part."""
    try:
        return _json(part / PART).get("source")
    except (OSError, ValueError):
        return None


def is_complete(folder: Path) -> bool:
    """Whether a folder holds a complete corpus."""
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
    """The CRC-32 of a file."""
    crc = 0
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            crc = zlib.crc32(block, crc)
    return crc


def _write(path: Path, content: dict[str, Any]) -> None:
    """Write a file of JSON, which has its name only once it is on disk."""
    with replacing(path) as file:
        file.write(json.dumps(content).encode())


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged: {error}") from error
    if not isinstance(content, dict):
        raise ValueError(f"{path} is damaged: it must be an object")
    return content


def _check(part: Path, checksums: dict[str, int]) -> None:
    for name, expected in checksums.items():
        if _checksum(part / f"{name}.npy") != expected:
            raise ValueError(f"{part / name}.npy is damaged: its checksum is not right")


def _read(part: Path, described: dict[str, Any]) -> tuple[SequenceArray, SequenceArray | None]:
    def array(name: str) -> np.ndarray:
        return np.load(part / f"{name}.npy", mmap_mode="r", allow_pickle=False)

    text = _split(array("text"), array("text_lengths"))
    ends = np.cumsum(described["n_symbols"])
    codes, offsets = array("codes"), array("offsets")
    if described["is_strings"]:
        X = SequenceArray(text[codes[:, 0]], offsets)
    else:
        categories = np.split(text, ends[:-1])
        X = SequenceArray(SymbolTable(codes, categories, **described["columns"]), offsets)
    if not described["has_labels"]:
        return X, None
    labels = _split(array("label_text"), array("label_text_lengths"))
    return X, SequenceArray(labels[array("labels")], offsets)


def _joined(name: str, strings: list[str]) -> dict[str, np.ndarray]:
    """Strings as arrays of all bytes and of the number of bytes of each."""
    data = [string.encode("utf-8", "surrogatepass") for string in strings]
    lengths = np.fromiter(map(len, data), np.int32, len(data))
    return {name: np.frombuffer(b"".join(data), np.uint8), f"{name}_lengths": lengths}


def _split(text: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The inverse of :func:`_joined`, as an array of str objects."""
    data, ends = text.tobytes(), np.cumsum(lengths).tolist()
    strings = np.empty(len(lengths), dtype=object)
    start = 0
    for i, end in enumerate(ends):
        strings[i] = data[start:end].decode("utf-8", "surrogatepass")
        start = end
    return strings
