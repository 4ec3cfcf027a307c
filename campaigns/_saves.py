"""Models are saved while processes are killed, disks are full, and others save to the same path.

What is there is always the old model or the new one, complete. Nothing else is in its folder, but
where a process was killed while the new file had a name of its own: a single file is left there.
"""

import ctypes
import os
import resource
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from _campaign import Campaign, Outcome, Wrong, show

from sklearn_crcrf import HMM
from sklearn_crcrf.model_files import load_model, save_model
from sklearn_crcrf.utils import replacing

N_WORDS = {"old": 20, "new": 5_000, "other": 500}
STEPS = ("open", "fchmod", "fsync", "link", "replace", "close")

NEW_NAMESPACE = 0x20000
RECURSIVE, PRIVATE = 1 << 14, 1 << 18

_libc = ctypes.CDLL(None, use_errno=True)
_models: dict[str, HMM] = {}
_duration = 0.0  # of a save, in seconds
_size = 0  # of a file, in bytes


def prepare() -> None:
    """Make distinguishable models, and measure the time of a save."""
    global _duration, _size
    rng = np.random.default_rng(0)
    for name, n_words in N_WORDS.items():
        X = [[f"{name} {i}"] for i in range(n_words)]
        y = [[f"{name} {label}"] for label in rng.integers(3, size=n_words)]
        _models[name] = HMM().fit(X, y, rng.random(n_words))
    for _ in range(2):  # at the first time much is imported
        start = time.perf_counter()
        save_model(_models["new"], "model")
        _duration, _size = time.perf_counter() - start, os.path.getsize("model")
    os.remove("model")


def kills(rng: Random, number: int) -> str:
    """A process that saves is killed, at any time or at one of the steps of replacing a file."""
    path, is_named = _place(), rng.random() < 0.5
    if rng.random() < 0.9:
        save_model(_models["old"], path)
    step = rng.randrange(24) if rng.random() < 0.3 else None
    ending = rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM])
    show("without unnamed files" if is_named else "as the system can", step, ending)
    pid = _fork(partial(_save, "new", path, is_named, step))
    if step is None:
        time.sleep(rng.uniform(0, 2.5 * _duration))
        os.kill(pid, ending)
    os.waitpid(pid, 0)
    found = _complete(path, {"old", "new"})
    others = [name for name in os.listdir(path.parent) if name != path.name]
    if len(others) > 1 or not all(name.endswith(".part") for name in others):
        raise Wrong("more is left behind", others)
    save_model(_models["other"], path)
    _complete(path, {"other"})
    when = "at any time" if step is None else "at a step"
    how = " of a file with a name" if is_named else ""
    return f"{when}{how}: {found}" + " and one more file" * bool(others)


def concurrent(rng: Random, number: int) -> Outcome:
    """Threads of several processes save to one path, while it is loaded again and again."""
    path = _place()
    save_model(_models["old"], path)
    n_saves, n_loads = rng.randint(1, 3), 0
    n_threads = [rng.randint(1, 4) for _ in range(rng.randint(1, 4))]
    show(n_saves, "saves of each of", n_threads, "threads")
    pids = [_fork(partial(_save_in_threads, path, n, n_saves, rng.random())) for n in n_threads]
    while pids:
        _complete(path, set(_models))
        n_loads += 1
        pids = [pid for pid in pids if not _has_ended(pid)]
    _complete(path, {"new", "other"})
    _require_alone(path)
    return Outcome("complete", {"saves": sum(n_threads) * n_saves, "loads": n_loads})


def disks(rng: Random, number: int) -> str:
    """The disk has too little space, or just enough."""
    path, way = _place(), "a limit on the size of files"
    n_bytes = int(_size * rng.uniform(0, 2.5))
    if rng.random() < 0.7 and can_mount():
        way, n_bytes = "a small disk", n_bytes + (64 << 10)
        mount_small(path.parent.resolve(), n_bytes)
    with _named(rng.random() < 0.5):
        save_model(_models["old"], path)
        if way != "a small disk":
            resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, resource.RLIM_INFINITY))
        show(way, n_bytes)
        return f"{way}: {_try(path)}"


def can_mount() -> bool:
    """Give this process its own mounts; False if it lacks permission."""
    return _libc.unshare(NEW_NAMESPACE) == 0 and _mount(b"none", b"/", None, RECURSIVE | PRIVATE)


def mount_small(folder: Path, n_bytes: int) -> None:
    """Mount a file system in memory, of limited size, on a folder."""
    if not _mount(b"tmpfs", os.fsencode(folder), b"tmpfs", 0, f"size={n_bytes}".encode()):
        raise OSError(ctypes.get_errno(), "cannot mount a file system in memory", str(folder))


def _mount(source: bytes, target: bytes, kind: bytes | None, flags: int, *more: bytes) -> bool:
    return _libc.mount(source, target, kind, ctypes.c_ulong(flags), *(more or [None])) == 0


def _place() -> Path:
    """The path of models, in a separate folder."""
    Path("models").mkdir()
    return Path("models") / "model"


def _complete(path: Path, expected: set[str]) -> str:
    """The name of the stored model, one of the expected ones, or "none"."""
    if not path.exists():
        return "none"
    try:
        loaded = load_model(path).estimator
    except ValueError as error:
        raise Wrong("not a complete model", error) from error
    name = loaded.classes_[0].split()[0]
    if name not in expected or not np.array_equal(loaded.coef_.data, _models[name].coef_.data):
        raise Wrong("another model than expected", f"{name}, not {expected}")
    return name


def _require_alone(path: Path) -> None:
    names = os.listdir(path.parent)
    if names != [path.name]:
        raise Wrong("something is left behind", names)


def _try(path: Path) -> str:
    """Save the new model, or be refused, in which case the old one is still there."""
    try:
        save_model(_models["new"], path)
    except OSError as error:
        show(repr(error))
        _complete(path, {"old"})
        found = "refused"
    else:
        found = _complete(path, {"new"})
    _require_alone(path)
    return found


@contextmanager
def _named(is_named: bool) -> Iterator[None]:
    """Whether files have a name while they are written, as on systems that know no others."""
    unnamed = replacing._open_unnamed
    if is_named:
        replacing._open_unnamed = lambda place: None
    try:
        yield
    finally:
        replacing._open_unnamed = unnamed


def _fork(function: Callable[[], None]) -> int:
    # Not in the midst of what Python does after a fork, which would only report it.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
            function()
            status = 0
        finally:
            os._exit(status)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    return pid


def _has_ended(pid: int) -> bool:
    ended, status = os.waitpid(pid, os.WNOHANG)
    if ended and status:
        raise Wrong("a save failed", Path(f"error {pid}").read_text())
    return bool(ended)


def _save(name: str, path: Path, is_named: bool, step: int | None) -> None:
    with _named(is_named):
        if step is not None:
            _die_at(step)
        save_model(_models[name], path)


def _die_at(step: int) -> None:
    """Kill this process before or after one of the system calls of a save."""
    place = [step]

    def dying(function: Callable) -> Callable:
        def called(*args: Any, **options: Any) -> Any:
            for act in (lambda: None, lambda: function(*args, **options)):
                result = act()
                if place[0] == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                place[0] -= 1
            return result

        return called

    for name in STEPS:
        if hasattr(os, name):
            setattr(os, name, dying(getattr(os, name)))


def _save_in_threads(path: Path, n_threads: int, n_saves: int, seed: float) -> None:
    def save(k: int) -> None:
        rng = Random(f"{seed} {k}")
        for _ in range(n_saves):
            save_model(_models[rng.choice(["new", "other"])], path)

    try:
        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(save, range(n_threads)))
    except Exception as error:
        Path(f"error {os.getpid()}").write_text(repr(error))
        os._exit(1)


CAMPAIGNS = [
    Campaign("kills", kills, prepare=prepare, n=1000, limit=60.0),
    Campaign("concurrent", concurrent, prepare=prepare, n=1000, limit=120.0),
    Campaign("disks", disks, prepare=prepare, n=300, limit=60.0),
]
