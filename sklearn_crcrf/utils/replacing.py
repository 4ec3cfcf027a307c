"""Atomic replacement of files: a reader sees either the old or the new file, always complete.

Where the system allows it (``O_TMPFILE`` of Linux), the new file is written without a name, so it
vanishes if the process ends early, for any reason. When it is complete and on disk, it gets a
temporary name for an instant and then replaces the old file.

Elsewhere it has the temporary name from the beginning, which a killed process leaves behind.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import IO, NamedTuple

# Errors of systems that cannot open files without a name, or cannot sync folders.
UNSUPPORTED = {errno.EISDIR, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS}
NEW_FILE = 0o666
LONGEST_STEM = 200


class Place(NamedTuple):
    """Where a file is written to.

    Parameters
    ----------
    folder, name : str
    replaced : os.stat_result or None
        Status of the existing file.
    """

    folder: str
    name: str
    replaced: os.stat_result | None

    @property
    def path(self) -> str:
        """The path of the file."""
        return os.path.join(self.folder, self.name)

    @property
    def mode(self) -> int:
        """The permissions that a file is created with."""
        return NEW_FILE if self.replaced is None else stat.S_IMODE(self.replaced.st_mode) & 0o777

    def new_name(self) -> str:
        """Return a temporary path for a new file in the same folder."""
        # Cut to leave room for a suffix; file systems count bytes.
        stem = os.fsdecode(os.fsencode(self.name)[:LONGEST_STEM])
        return os.path.join(self.folder, f".{stem}.{os.urandom(8).hex()}.part")


@contextmanager
def replacing(path: str | os.PathLike) -> Iterator[IO[bytes]]:
    """Return a file to write to, which replaces the file at ``path`` once it is completely on disk.

    Parameters
    ----------
    path : str or path-like
        Links are followed: their target is replaced. The new file has the permissions, and if
        possible the owner, of the old one.

    Yields
    ------
    binary file
        After any error or interrupt in this context, the old file is unchanged.

    Raises
    ------
    ValueError
        If ``path`` is something other than a regular file: a folder, a device, a pipe.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "file"
    ...     with replacing(path) as file:
    ...         n_written = file.write(b"new")
    ...     path.read_bytes(), len(list(path.parent.iterdir()))
    (b'new', 1)
    """
    place = _find(path)
    with ExitStack() as cleaning:
        fd, name = _open(place, cleaning)
        file = cleaning.enter_context(open(fd, "wb"))
        yield file
        _finish(file, place)
        if name is None:
            name = _give_name(fd, place, cleaning)
        if os.name == "nt":  # Windows moves no open files
            file.close()
        os.replace(name, place.path)
    sync_folder(place.folder)


def check_replaceable(path: str | os.PathLike) -> None:
    """Check that a file can be written, before long work whose result would be lost.

    Raises
    ------
    ValueError or OSError
        As in :func:`replacing`.
    """
    place = _find(path)
    with ExitStack() as cleaning:
        os.close(_open(place, cleaning)[0])


def _find(path: str | os.PathLike) -> Place:
    """Return the target of a path."""
    target = os.path.realpath(os.fspath(path))
    try:
        replaced = os.stat(target)
    except FileNotFoundError:
        replaced = None
    if replaced is not None and not stat.S_ISREG(replaced.st_mode):
        raise ValueError(f"{os.fspath(path)} is not a regular file, so it is not replaced")
    return Place(*os.path.split(target), replaced)


def _open(place: Place, cleaning: ExitStack) -> tuple[int, str | None]:
    """Return a new file, and its name or None if it has no name; cleaning removes the name."""
    fd = _open_unnamed(place)
    if fd is not None:
        return fd, None
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
    name = place.new_name()
    cleaning.callback(_remove, name)
    return os.open(name, flags, place.mode), name


def _open_unnamed(place: Place) -> int | None:
    """Return a new file without a name; None if the system has no such files."""
    if not hasattr(os, "O_TMPFILE") or not os.path.isdir("/proc/self/fd"):
        return None
    try:
        return os.open(place.folder, os.O_TMPFILE | os.O_WRONLY, place.mode)
    except OSError as error:
        if error.errno in UNSUPPORTED:
            return None
        raise


def _give_name(fd: int, place: Place, cleaning: ExitStack) -> str:
    """Give a temporary name to a file without one; cleaning removes the name."""
    name = place.new_name()
    cleaning.callback(_remove, name)
    # The path is absolute, so src_dir_fd is ignored; but with it Python follows the link.
    os.link(f"/proc/self/fd/{fd}", name, src_dir_fd=fd)
    return name


def _remove(name: str) -> None:
    with suppress(FileNotFoundError):
        os.remove(name)


def _finish(file: IO[bytes], place: Place) -> None:
    """Sync the file to disk, with the permissions and the owner of the replaced file."""
    file.flush()
    if place.replaced is not None and hasattr(os, "fchown"):
        with suppress(PermissionError):
            os.fchown(file.fileno(), place.replaced.st_uid, place.replaced.st_gid)
        os.fchmod(file.fileno(), place.mode)
    os.fsync(file.fileno())


def sync_folder(folder: str) -> None:
    """Sync the names in a folder to disk, if the system can."""
    if os.name == "nt":
        return
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise
    finally:
        os.close(fd)
