"""Logs of annotations: kills, full disks, and other programs that change the file meanwhile.

What was acknowledged is in the file at the path, or was there until another program removed it, and
a repair keeps it. Once another program has changed the file, no more is acknowledged.
"""

import os
import resource
import shutil
import signal
import time
from contextlib import suppress
from mmap import mmap
from pathlib import Path
from random import Random

from _campaign import Campaign, Outcome, Wrong, show
from _saves import can_mount, mount_small

from sklearn_crcrf.apps.annotation import Log
from sklearn_crcrf.apps.annotation.log import repair_log

N_ENTRIES = 400
LONGEST = 0.06  # seconds until a fault
NAMES = ["ann", "Größe", "a\u2028b", '"', "\\", "\u202ea"]


# How many entries a fault may damage.
FAULTS = {
    "killed": 0,
    "moved": 0,
    "replaced by a copy": 1,  # which may lack the last one
    "deleted": float("inf"),
    "truncated": float("inf"),
    "appended to": 1,
    "a bit flipped": 2,  # or the end of a line, with the next one
    "full": 0,  # before long
}


def _damage(rng: Random, fault: str, path: Path, pid: int) -> None:
    """Let the fault happen to the log, or to the process that writes it."""
    if fault == "killed":
        os.kill(pid, signal.SIGKILL)
    elif fault == "moved":
        os.rename(path, path.with_name("moved"))
    elif fault == "replaced by a copy":
        # Nothing is acknowledged in between, which the copy could not have.
        os.kill(pid, signal.SIGSTOP)
        copy = shutil.copyfile(path, path.with_name("copy"))
        os.replace(copy, path)
        os.kill(pid, signal.SIGCONT)
    elif fault == "deleted":
        os.remove(path)
    elif fault == "truncated":
        os.truncate(path, rng.randrange(path.stat().st_size + 1))
    elif fault == "appended to":
        with path.open("ab") as file:
            file.write(rng.choice([b"{}\n", b"\0" * 512, b"a line\n", b"half", b"\xff\n"]))
    elif fault == "a bit flipped":
        with path.open("r+b") as file, mmap(file.fileno(), 0) as content:
            content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)


def write_meanwhile(rng: Random, number: int) -> Outcome:
    """A process writes entries until a fault; what it acknowledged is looked for."""
    name = list(FAULTS)[number % len(FAULTS)]
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
    _damage(rng, name, path, pid)
    os.set_blocking(reader, False)
    with suppress(BlockingIOError):
        before += os.read(reader, 1 << 16).split()
    os.set_blocking(reader, True)
    time.sleep(rng.uniform(0, LONGEST))
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    after = b"".join(iter(lambda: os.read(reader, 1 << 16), b"")).split()
    os.close(reader)
    _check(name, path, [*before, *after], len(before), FAULTS[name])
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
