"""A file is replaced by another at once: whoever looks sees the old one or the new one, complete.

The new file is written without a name, where the system can (``O_TMPFILE`` of Linux), so that it
is gone with a process that ends meanwhile, whatever ended it. When it is complete and on the disk,
it takes the place; if there is a file to be replaced, by way of a name of its own, for an instant.

Elsewhere it has that name from the beginning. A process that is killed leaves it behind, and the
next that writes a file to this place removes it: whoever writes holds a lock on what he writes,
and a lock ends with its process.
"""

import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import IO, NamedTuple

try:
    import fcntl
except ImportError:  # Windows, where an open file cannot be removed by others
    fcntl = None

__all__ = ["check_replaceable", "replacing"]

# What systems say that cannot write files without a name, or folders to the disk.
UNSUPPORTED = {errno.EISDIR, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS}
NEW_FILE = 0o666
LONGEST_STEM = 200


class Place(NamedTuple):
    """Where a file is written to.

    Parameters
    ----------
    folder, name : str
    replaced : os.stat_result or None
        Of the file that is there.
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
        """The path of a new file beside it."""
        return os.path.join(self.folder, f".{self._stem}.{secrets.token_hex(8)}.part")

    def is_new_name(self, name: str) -> bool:
        """Whether a file in the folder has a name that :meth:`new_name` could give."""
        return re.fullmatch(rf"\.{re.escape(self._stem)}\.[0-9a-f]{{16}}\.part", name) is not None

    @property
    def _stem(self) -> str:
        """As much of the name as leaves place for more; file systems count bytes."""
        return os.fsdecode(os.fsencode(self.name)[:LONGEST_STEM])


@contextmanager
def replacing(path: str | os.PathLike) -> Iterator[IO[bytes]]:
    """A file to write to, which takes the place of one that is there when all is on the disk.

    Parameters
    ----------
    path : str or path-like
        Links are followed: what they lead to is replaced. The new file has the permissions, and if
        that is possible the owner, of the one that it replaces.

    Yields
    ------
    binary file
        If it cannot be written, or there is any error or interrupt meanwhile, all is as before.

    Raises
    ------
    ValueError
        If there is something else than a regular file: a folder, a device, a pipe.
    OSError
        If it cannot be written.

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
    _remove_abandoned(place)
    with ExitStack() as cleaning:
        fd, name = _open(place, cleaning)
        file = cleaning.enter_context(open(fd, "wb"))
        yield file
        _finish(file, place)
        if name is None:
            name = _give_name(fd, place, cleaning)
        if fcntl is None:  # Windows moves no open files
            file.close()
        os.replace(name, place.path)
    _sync_folder(place.folder)


def check_replaceable(path: str | os.PathLike) -> None:
    """Check that a file can be written, before there is work that would be lost.

    Raises
    ------
    ValueError or OSError
        As :func:`replacing`.
    """
    place = _find(path)
    with ExitStack() as cleaning:
        os.close(_open(place, cleaning)[0])


def _find(path: str | os.PathLike) -> Place:
    """Where a path leads to."""
    target = os.path.realpath(os.fspath(path))
    try:
        replaced = os.stat(target)
    except FileNotFoundError:
        replaced = None
    if replaced is not None and not stat.S_ISREG(replaced.st_mode):
        raise ValueError(f"{os.fspath(path)} is not a regular file, so it is not replaced")
    return Place(*os.path.split(target), replaced)


def _open(place: Place, cleaning: ExitStack) -> tuple[int, str | None]:
    """A new file, and its name, which is removed at the end; None if it has none."""
    fd = _open_unnamed(place)
    if fd is not None:
        return fd, None
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
    while True:
        name = place.new_name()
        cleaning.callback(_remove, name)
        fd = os.open(name, flags, place.mode)
        _lock(fd)
        # Before it was locked, it may have been taken for one that was left behind.
        if fcntl is None or os.fstat(fd).st_nlink:
            return fd, name
        os.close(fd)


def _open_unnamed(place: Place) -> int | None:
    """A new file that has no name; None where there are no such files."""
    if not hasattr(os, "O_TMPFILE") or not os.path.isdir("/proc/self/fd"):
        return None
    try:
        fd = os.open(place.folder, os.O_TMPFILE | os.O_WRONLY, place.mode)
    except OSError as error:
        if error.errno in UNSUPPORTED:
            return None
        raise
    _lock(fd)
    return fd


def _give_name(fd: int, place: Place, cleaning: ExitStack) -> str:
    """The name that a file without one gets, which is removed at the end."""
    name = place.new_name()
    cleaning.callback(_remove, name)
    # Any folder will do for the path, which is absolute; with one Python follows the link.
    os.link(f"/proc/self/fd/{fd}", name, src_dir_fd=fd)
    return name


def _lock(fd: int) -> None:
    """Show others that this file is being written, where the file system has locks."""
    if fcntl is not None:
        with suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_EX)


def _finish(file: IO[bytes], place: Place) -> None:
    """Bring all to the disk, with the permissions and the owner of the replaced file."""
    file.flush()
    if place.replaced is not None and hasattr(os, "fchown"):
        with suppress(PermissionError):
            os.fchown(file.fileno(), place.replaced.st_uid, place.replaced.st_gid)
        os.fchmod(file.fileno(), place.mode)
    os.fsync(file.fileno())


def _remove_abandoned(place: Place) -> None:
    """Remove what processes that were killed have left behind here."""
    if fcntl is None:
        return
    with os.scandir(place.folder) as entries:
        left = [entry.path for entry in entries if place.is_new_name(entry.name)]
    for path in left:
        with suppress(OSError):  # it is being written, or somebody else was faster
            fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with open(fd, "rb"):
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.remove(path)


def _remove(path: str) -> None:
    with suppress(FileNotFoundError):
        os.remove(path)


def _sync_folder(folder: str) -> None:
    """Make names in a folder last, where systems can."""
    if fcntl is None:
        return
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise
    finally:
        os.close(fd)
