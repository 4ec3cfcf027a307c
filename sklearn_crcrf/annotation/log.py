"""An append-only file of JSON lines, each of which is on disk before it is acknowledged."""

import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["Log", "read_entries"]


class Log:
    """Entries in a file, one line of JSON each, which are only ever added.

    Parameters
    ----------
    path : str or path-like
        The file, which is made if it is missing. One process at a time can open it.
    notice : callable
        Called with a sentence if the last line was half-written, and has been removed.

    Raises
    ------
    BlockingIOError
        If another process has opened it.
    ValueError
        If a line is no JSON object; the message names the line.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn_crcrf.annotation import Log
    >>> with TemporaryDirectory() as folder:
    ...     with Log(Path(folder, "log.jsonl")) as log:
    ...         log.append({"do": "skip", "sentence": 3})
    ...     with Log(Path(folder, "log.jsonl")) as log:
    ...         log.entries
    [{'do': 'skip', 'sentence': 3}]
    """

    def __init__(self, path: str | os.PathLike, notice: Callable[[str], None] = print):
        self.path = os.fspath(path)
        is_new = not os.path.exists(self.path)
        self._file = open(self.path, "a+b", buffering=0)  # noqa: SIM115, closed by close()
        try:
            self._lock()
            self._file.seek(0)
            data = self._file.read()
            complete = data.rfind(b"\n") + 1
            self.entries = read_entries(data[:complete], self.path)
            self._repair(complete, data[complete:], notice)
            if is_new:
                _sync_folder(self.path)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "Log":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, which ends the lock."""
        self._file.close()

    def append(self, entry: Mapping[str, Any]) -> None:
        """Add an entry; when this returns, it is on disk.

        Raises
        ------
        OSError
            If it cannot be written, for example on a full disk; then the file is as before.
        """
        line = json.dumps(entry, ensure_ascii=False).encode() + b"\n"
        size = os.fstat(self._file.fileno()).st_size
        try:
            written = self._file.write(line)
            if written != len(line):
                raise OSError(f"only {written} of {len(line)} bytes could be written")
            os.fsync(self._file.fileno())
        except BaseException:
            with suppress(OSError):
                self._file.truncate(size)
            raise
        self.entries.append(dict(entry))

    def _lock(self) -> None:
        if fcntl is None:
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BlockingIOError(
                error.errno, "another process has opened it", self.path
            ) from error

    def _repair(self, complete: int, rest: bytes, notice: Callable[[str], None]) -> None:
        """Remove a last line that a process did not finish: it was never acknowledged."""
        if not rest.strip():
            return
        if not rest.startswith(b"{"):
            raise ValueError(f"{self.path}: the last line is not the beginning of a JSON object")
        try:
            self.entries += read_entries(rest, self.path)
            self._file.write(b"\n")
        except ValueError:
            self._file.truncate(complete)
            notice(f"{self.path}: the last line was half-written, and has been removed")
        os.fsync(self._file.fileno())


def read_entries(data: bytes, name: str) -> list[dict[str, Any]]:
    """The entries of a log.

    Parameters
    ----------
    data : bytes
        The content of the file.
    name : str
        Its name for messages.

    Raises
    ------
    ValueError
        If a line is no JSON object; the message names the line.
    """
    entries = []
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            entry = None
        if not isinstance(entry, dict):
            raise ValueError(f"{name}, line {number}: not a JSON object")
        entries.append(entry)
    return entries


def _sync_folder(path: str) -> None:
    """Write the name of a new file to disk, where the system can."""
    with suppress(OSError):
        folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
