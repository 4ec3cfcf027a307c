"""An append-only file of JSON lines, each of which is on disk before it is acknowledged.

An entry has an ``id``, the checksum of its content, and as ``after`` the id of the entry before it.
So each line proves by itself that it is as it was written, and that it stands where it was written.
"""

import errno
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from hashlib import blake2b
from typing import Any

from ...utils.replacing import replacing, sync_folder
from .annotations import Annotations

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

Entry = dict[str, Any]

FIRST = ""  # what the first entry comes after
UTF8_MARK = b"\xef\xbb\xbf"
LINE_END = re.compile(rb'(?<="\}).(?=\{"|\Z)', re.DOTALL)  # or what a flipped bit has made of it


class Log(AbstractContextManager["Log"]):
    """Entries in a file, one line of JSON each, which are only ever added.

    Parameters
    ----------
    path : str or path-like
        The file; a missing one is made, for the eyes of its owner only. One process at a time can
        open it.
    notice : callable
        Called with a sentence if the last line was half-written, and has been removed.

    Attributes
    ----------
    entries : list of dict
        All entries, each with its "id" and the id that it comes "after".

    Raises
    ------
    BlockingIOError
        If another process has opened it.
    ValueError
        If a line is damaged, repeated, or not in its place; the message names the line, and says
        how many entries ``annotate --repair`` would keep.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn_crcrf.apps.annotation import Log
    >>> with TemporaryDirectory() as folder:
    ...     with Log(Path(folder, "log.jsonl")) as log:
    ...         first = log.append({"do": "skip", "sentence": 3, "by": "ann"})
    ...         second = log.append({"do": "undo", "entry": first["id"], "by": "ann"})
    ...     with Log(Path(folder, "log.jsonl")) as log:
    ...         again = log.entries
    >>> again == [first, second]
    True
    >>> second["after"] == first["id"]
    True
    """

    def __init__(self, path: str | os.PathLike, notice: Callable[[str], None] = print):
        self.path = os.fspath(path)
        is_new = not os.path.exists(self.path)
        self._file = _open_alone(self.path, "a+b")
        try:
            self._file.seek(0)
            data = self._file.read()
            self.entries, size = read_entries(data, self.path, notice)
            if not data.endswith(b"\n"):
                self._file.truncate(size)
                self._file.write(b"\n" if data[:size].rpartition(b"\n")[2] else b"")
                os.fsync(self._file.fileno())
            if is_new:
                with suppress(OSError):
                    sync_folder(os.path.dirname(self.path) or ".")
            self._size = os.fstat(self._file.fileno()).st_size
        except BaseException:
            self.close()
            raise

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, which ends the lock."""
        self._file.close()

    def append(self, entry: Mapping[str, Any]) -> Entry:
        """Add an entry and return it; see :meth:`extend`."""
        (chained,) = self.extend([entry])
        return chained

    def extend(self, entries: Iterable[Mapping[str, Any]]) -> list[Entry]:
        """Add entries; when this returns, they are on disk, in the file at the path.

        Returns
        -------
        list of dict
            The entries, each with its "id", and the id that it comes "after".

        Raises
        ------
        OSError
            If they cannot be written, for example on a full disk; then the file is as before. Also
            if another program has replaced, removed, or changed the file.
        """
        chained, last = list[Entry](), self.entries[-1]["id"] if self.entries else FIRST
        for entry in entries:
            chained.append(_chained(entry, last))
            last = chained[-1]["id"]
        lines = b"".join(map(_line, chained))
        self._require_own(self._size)
        try:
            written = self._file.write(lines)
            if written != len(lines):
                raise OSError(f"only {written} of {len(lines)} bytes could be written")
            os.fsync(self._file.fileno())
        except BaseException:
            with suppress(OSError):
                self._file.truncate(self._size)
            raise
        self._require_own(self._size + len(lines))
        self._size += len(lines)
        self.entries += chained
        return chained

    def _require_own(self, size: int) -> None:
        """Raise OSError unless the file at the path is ours, with what we wrote and no more."""
        opened = os.fstat(self._file.fileno())
        try:
            named = os.stat(self.path)
        except FileNotFoundError:
            problem = "another program has removed it"
        else:
            if not os.path.samestat(opened, named):
                problem = "another program has replaced it"
            elif opened.st_size != size:
                problem = f"another program has changed it: {opened.st_size} bytes, not {size}"
            else:
                return
        raise OSError(errno.ESTALE, f"{problem}; start again to read what is there", self.path)


def read_entries(data: bytes, name: str, notice: Callable[[str], None]) -> tuple[list[Entry], int]:
    """Read the entries of a log.

    A last line that is half-written, or of which only zeros came to the disk, was never
    acknowledged, and is left out.

    Parameters
    ----------
    data : bytes
        The content of the file.
    name : str
        Its name for messages.
    notice : callable
        Called with a sentence if a half-written line is left out.

    Returns
    -------
    entries : list of dict
    size : int
        Number of bytes without a half-written line.

    Raises
    ------
    ValueError
        If a line is damaged, repeated, or not in its place; the message names the line.
    """
    end = data.rfind(b"\n") + 1
    rest = data[end:].rstrip(b"\0")
    size = end if not rest.strip() or _is_half(rest) else end + len(rest)
    entries: list[Entry] = []
    last = FIRST
    for number, line in _lines(data[:size]):
        entry = _parsed(line)
        if entry is None:
            problem = "is not a JSON object"
        elif not _is_sound(entry):
            problem = "is not as it was written: its id is not the checksum of its content"
        elif entry["after"] != last:
            problem = "does not follow the line before it: lines were lost, repeated or moved"
        else:
            entries.append(entry)
            last = entry["id"]
            continue
        kept, n_lines = len(_repaired(data)), sum(1 for _ in _lines(data))
        raise ValueError(
            f"{name}, line {number}: it {problem}. {kept} of {n_lines} lines are sound; "
            "annotate --repair keeps them, and the file as it is beside them"
        )
    if size == end and data[end:].strip():
        notice(f"{name}: the last line was half-written, and is left out")
    return entries, size


def repair_log(path: str | os.PathLike) -> tuple[str | None, int, int]:
    """Replace a damaged log by one of its sound lines, in the order in which they were written.

    What cannot follow the lines before it, such as an undo whose entry is lost, goes too.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    damaged : str or None
        Where the file lies now: beside ``path``, with ".damaged" in its name. None if it was
        sound, and has not changed.
    n_kept, n_left_out : int
        Numbers of lines.

    Raises
    ------
    BlockingIOError
        If another process has opened it.
    ValueError
        If no line is sound; then nothing has changed.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn_crcrf.apps.annotation import Log
    >>> from sklearn_crcrf.apps.annotation.log import repair_log
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "log.jsonl")
    ...     with Log(path) as log:
    ...         for sentence in range(3):
    ...             _ = log.append({"do": "skip", "sentence": sentence, "by": "ann"})
    ...     _ = path.write_text(path.read_text().replace('"sentence": 1', '"sentence": 9'))
    ...     damaged, n_kept, n_left_out = repair_log(path)
    ...     with Log(path) as log:
    ...         kept = [entry["sentence"] for entry in log.entries]
    >>> kept, n_kept, n_left_out
    ([0, 2], 2, 1)
    """
    path = os.path.realpath(path)
    with _open_alone(path, "r+b") as file:
        data = file.read()
        lines = _repaired(data)
        if not lines:
            raise ValueError(f"{path}: no line of it is a sound entry of a log")
        repaired, damaged = b"".join(lines), None
        if repaired != data:
            damaged = _copied(data, f"{path}.damaged")
            with replacing(path) as new:
                new.write(repaired)
    return damaged, len(lines), sum(1 for _ in _lines(data)) - len(lines)


def _repaired(data: bytes) -> list[bytes]:
    """Link the sound lines of a log again."""
    annotations, lines = Annotations(), list[bytes]()
    ids: dict[str, str] = {}
    last = FIRST
    for entry in _sound(data):
        if entry.get("do") == "undo":
            entry["entry"] = ids.get(str(entry.get("entry")))
        chained = _chained(entry, last)
        try:
            annotations.apply(chained)
        except ValueError:
            continue
        ids[entry["id"]] = last = chained["id"]
        lines.append(_line(chained))
    return lines


def _lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not empty, with their numbers from 1 on."""
    for number, line in enumerate(data.removeprefix(UTF8_MARK).split(b"\n"), 1):
        if line.strip():
            yield number, line


def _parsed(line: bytes) -> Entry | None:
    try:
        text = line.decode("utf-8-sig")
        entry = json.loads(text)
        if "\\u" in text:
            json.dumps(entry, ensure_ascii=False).encode()  # half of a surrogate pair is no text
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


def _is_half(line: bytes) -> bool:
    """Whether a line is the beginning of a JSON object whose end is missing."""
    text = line.decode("utf-8-sig", "replace")
    try:
        json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return text.startswith("{")
    return False


def _is_sound(entry: Mapping[str, Any]) -> bool:
    """Whether an entry is as it was written."""
    return isinstance(entry.get("after"), str) and entry.get("id") == _checksum(entry)


def _checksum(entry: Mapping[str, Any]) -> str:
    """Return the id of an entry, whatever the order of its keys."""
    content = {key: value for key, value in entry.items() if key != "id"}
    return blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=8).hexdigest()


def _chained(entry: Mapping[str, Any], after: str) -> Entry:
    """Make an entry with its id, after another one."""
    chained = {**entry, "after": after}
    return {**chained, "id": _checksum(chained)}


def _line(entry: Entry) -> bytes:
    return json.dumps(entry, ensure_ascii=False).encode() + b"\n"


def _sound(data: bytes) -> list[Entry]:
    """Find the entries of all sound lines, once each, in their first order."""
    found = {
        entry["id"]: entry
        for _, line in _lines(data.replace(b"\0", b""))
        for part in ([line] if _parsed(line) else LINE_END.split(line))
        if (entry := _parsed(part)) is not None and _is_sound(entry)
    }
    following: dict[str, list[Entry]] = {}
    for entry in found.values():
        following.setdefault(entry["after"], []).append(entry)
    ordered: list[Entry] = []
    waiting = [entry for entry in found.values() if entry["after"] not in found][::-1]
    while waiting:
        ordered.append(waiting.pop())
        waiting += following.get(ordered[-1]["id"], [])[::-1]
    return ordered


def _open_alone(path: str, mode: str) -> Any:
    """Open a file that no other process has opened in this way."""
    file = open(path, mode, buffering=0, opener=_for_the_owner)  # noqa: SIM115, the caller closes it
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        file.close()
        raise BlockingIOError(error.errno, "another process has opened it", path) from error
    return file


def _for_the_owner(path: str, flags: int) -> int:
    """Open a file; a new one can be read and written by its owner only."""
    return os.open(path, flags, 0o600)


def _copied(data: bytes, path: str) -> str:
    """Write a new file at a path, or with a number behind it if there is one; return its path."""
    number, found = 1, path
    while os.path.lexists(found):
        number += 1
        found = f"{path}-{number}"
    with open(found, "xb", opener=_for_the_owner) as file:
        try:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        except BaseException:
            os.remove(found)
            raise
    return found
