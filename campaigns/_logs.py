"""Logs of annotations: kills, full disks, and other programs that change the file meanwhile.

What was acknowledged is in the file at the path, or was there until another program removed it, and
a repair keeps it. Once another program has changed the file, no more is acknowledged.
"""

import os
import resource
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random

from _campaign import Campaign, Outcome, Wrong, show
from _mounts import can_mount, mount_small

from sklearn_crcrf.apps.annotation import Log
from sklearn_crcrf.apps.annotation.log import repair_log

__all__ = ["CAMPAIGNS"]

N_ENTRIES = 400
LONGEST = 0.06  # seconds until a fault
NAMES = ["ann", "Größe", "a\u2028b", '"', "\\", "\u202ea"]


def _kill(rng: Random, path: Path, pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def _move(rng: Random, path: Path, pid: int) -> None:
    os.rename(path, path.with_name("moved"))


def _replace(rng: Random, path: Path, pid: int) -> None:
    # Nothing is acknowledged in between, which the copy could not have.
    os.kill(pid, signal.SIGSTOP)
    copy = path.with_name("copy")
    copy.write_bytes(path.read_bytes())
    os.replace(copy, path)
    os.kill(pid, signal.SIGCONT)


def _delete(rng: Random, path: Path, pid: int) -> None:
    os.remove(path)


def _truncate(rng: Random, path: Path, pid: int) -> None:
    os.truncate(path, rng.randrange(path.stat().st_size + 1))


def _append(rng: Random, path: Path, pid: int) -> None:
    with open(path, "ab") as file:
        file.write(rng.choice([b"{}\n", b"\0" * 512, b"a line\n", b"half", b"\xff\n"]))


def _flip(rng: Random, path: Path, pid: int) -> None:
    with open(path, "r+b") as file:
        place = rng.randrange(path.stat().st_size)
        file.seek(place)
        byte = file.read(1)[0]
        file.seek(place)
        file.write(bytes([byte ^ 1 << rng.randrange(8)]))


def _nothing(rng: Random, path: Path, pid: int) -> None:
    """The disk is full, before long."""


# And how many entries a fault may damage.
FAULTS: dict[str, tuple[Callable[[Random, Path, int], None], float]] = {
    "killed": (_kill, 0),
    "moved": (_move, 0),
    "replaced by a copy": (_replace, 1),  # which may lack the last one
    "deleted": (_delete, float("inf")),
    "truncated": (_truncate, float("inf")),
    "appended to": (_append, 1),
    "a bit flipped": (_flip, 2),  # or the end of a line, with the next one
    "full": (_nothing, 0),
}


def write_meanwhile(rng: Random, number: int) -> Outcome:
    """A process writes entries until a fault; what it acknowledged is looked for."""
    name = list(FAULTS)[number % len(FAULTS)]
    fault, n_damaged = FAULTS[name]
    show(name)
    folder = Path("log")
    folder.mkdir()
    path = folder / "log.jsonl"
    if name == "full" and can_mount():
        mount_small(folder.resolve(), rng.randrange(1 << 12, 1 << 16))
    elif name == "full":
        resource.setrlimit(resource.RLIMIT_FSIZE, (rng.randrange(1 << 14), resource.RLIM_INFINITY))
    with Log(path) as log:
        log.append({"do": "skip", "sentence": N_ENTRIES, "by": "ann"})
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        _write(rng, path, writer)
    os.close(writer)
    before = os.read(reader, 1 << 16).split()
    time.sleep(rng.uniform(0, LONGEST))
    fault(rng, path, pid)
    os.set_blocking(reader, False)
    with suppress(BlockingIOError):
        before += os.read(reader, 1 << 16).split()
    os.set_blocking(reader, True)
    time.sleep(rng.uniform(0, LONGEST))
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    after = b"".join(iter(lambda: os.read(reader, 1 << 16), b"")).split()
    os.close(reader)
    _check(name, path, [*before, *after], len(before), n_damaged)
    return Outcome(name, {"acknowledged": len(before) + len(after)})


def _write(rng: Random, path: Path, writer: int) -> None:
    status = 1
    try:
        with Log(path) as log:
            for k in range(N_ENTRIES):
                entry = log.append({"do": "skip", "sentence": k, "by": rng.choice(NAMES)})
                os.write(writer, entry["id"].encode() + b"\n")
        status = 0
    except OSError:
        status = 2
    finally:
        os._exit(status)


def _check(name: str, path: Path, acknowledged: list, n_before: int, n_damaged: float) -> None:
    """Look for the ids of what was acknowledged, in the file as it is, and after a repair."""
    there = path.read_bytes() if path.exists() else b""
    late = [entry for entry in acknowledged[n_before + 1 :] if entry not in there]
    if late:  # one may have been about to be acknowledged at the fault
        raise Wrong(f"{name}: acknowledged after the fault, and lost", len(late))
    moved = path.with_name("moved")
    target = moved if moved.exists() else path
    if not target.exists():
        return
    try:
        with Log(target, lambda text: show(text)) as log:
            n_kept = len(log.entries)
        found = target.read_bytes()
    except ValueError as error:
        show(error)
        n_kept = _repaired(target)
        lost = len(acknowledged) + 1 - n_kept
    else:
        lost = sum(entry not in found for entry in acknowledged)
    show(n_kept, "kept of", len(acknowledged), "acknowledged")
    if lost > n_damaged:
        raise Wrong(f"{name}: acknowledged entries are lost", f"{lost} of {len(acknowledged)}")


def _repaired(path: Path) -> int:
    """The number of entries that a repair keeps."""
    try:
        repair_log(path)
    except ValueError as error:  # no line is sound
        show(error)
        return 0
    with Log(path) as log:
        return len(log.entries)


CAMPAIGNS = [Campaign("logs", write_meanwhile, n=1000, allowed=(), limit=60.0)]
