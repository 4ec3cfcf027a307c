"""Copies of the checkout whose kernels are built with sanitizers or checks."""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

__all__ = ["CHECKOUT", "Build", "Result"]

CHECKOUT = Path(__file__).resolve().parent.parent
ENVIRONMENT = {
    # No reports of leaks: at its end the interpreter frees little. Huge arrays are a MemoryError.
    "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    # Small objects get separate memory, so that reads beyond them are detected.
    "PYTHONMALLOC": "malloc",
    "OMP_NUM_THREADS": "1",
}


class Result(NamedTuple):
    """The result of a process: exit status, output, and reports of sanitizers."""

    status: int
    output: str
    reports: str


@dataclass(frozen=True)
class Build:
    """A copy of the checkout with its own kernels.

    Parameters
    ----------
    name : str
        Of its folder, in ``build/campaigns`` of the checkout.
    sanitizers : str
        As gcc calls them, with commas between them; empty for none.
    libraries : tuple of str
        What must be loaded before Python.
    environment : mapping of str to str
        For ``setup.py``.
    flags : str
        More flags of the compiler.
    """

    name: str
    sanitizers: str = ""
    libraries: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    flags: str = ""

    @property
    def folder(self) -> Path:
        """The folder of the copy."""
        return CHECKOUT / "build" / "campaigns" / self.name

    def make(self) -> None:
        """Copy what is under version control, and build what has changed since the last time."""
        listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        paths = subprocess.run(listed, cwd=CHECKOUT, check=True, capture_output=True, text=True)
        for path in filter(None, paths.stdout.split("\0")):
            source, copy = CHECKOUT / path, self.folder / path
            if source.exists() and not (copy.exists() and _is_same(source, copy)):
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, copy)
        flags = f"-fsanitize={self.sanitizers} " * bool(self.sanitizers) + self.flags
        options = {
            "SKLEARN_CRCRF_CFLAGS": f"-O1 -g -fno-omit-frame-pointer -fno-math-errno {flags}",
            "LDFLAGS": flags,
            **self.environment,
        }
        build = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
        subprocess.run(
            build, cwd=self.folder, env={**os.environ, **options}, check=True, capture_output=True
        )

    def run(self, arguments: list[str], instructions: str | None = None) -> Result:
        """Run Python with the package of this build, and perhaps one instruction set."""
        environment = {**os.environ, **ENVIRONMENT, "LD_PRELOAD": self._preloaded}
        paths = os.fspath(self.folder), environment.get("PYTHONPATH")
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
        if instructions is not None:
            environment["SKLEARN_CRCRF_INSTRUCTIONS"] = instructions
        with tempfile.TemporaryDirectory() as logs:
            for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"):
                given = environment.get(name, "")
                environment[name] = f"{given}:log_path={logs}/report".removeprefix(":")
            process = subprocess.run(
                [sys.executable, *arguments],
                cwd=self.folder,
                env=environment,
                capture_output=True,
                text=True,
                errors="replace",
                preexec_fn=_lift_limits,
            )
            reports = [log.read_text(errors="replace") for log in sorted(Path(logs).iterdir())]
        return Result(process.returncode, process.stdout + process.stderr, "\n".join(reports))

    @cached_property
    def _preloaded(self) -> str:
        """The libraries of the compiler that must come first."""
        finders = (["gcc", f"-print-file-name={name}"] for name in self.libraries)
        paths = [subprocess.check_output(finder) for finder in finders]
        return os.fsdecode(b" ".join(path.strip() for path in paths))


def _is_same(source: Path, copy: Path) -> bool:
    return source.stat().st_mtime == copy.stat().st_mtime


def _lift_limits() -> None:
    """Sanitizers map more memory than any machine has."""
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
