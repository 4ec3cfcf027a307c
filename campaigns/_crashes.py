"""Traces of crashes, sanitizers and exceptions, as short texts that can be counted."""

import linecache
import os
import re
import signal
import sysconfig
from types import TracebackType

PACKAGE = "sklearn_crcrf/"
SANITIZERS = re.compile(
    r"(?:ERROR|WARNING): (\w+Sanitizer:? (?!failed to allocate)\S+(?: \S+)?)|runtime error: (.*)",
    re.MULTILINE,
)
NATIVE_FRAME = re.compile(r"^\s*#\d+ 0x[0-9a-f]+ in (\S+) (\S+)", re.MULTILINE)
PYTHON_FRAME = re.compile(r'^\s*File "([^"]*)", line (\d+) in', re.MULTILINE)
N_FRAMES = 3
LIBRARY, SITE = sysconfig.get_paths()["stdlib"], "site-packages"
FOLDER = os.path.dirname(os.path.abspath(__file__))


def is_sanitized() -> bool:
    """Whether this process runs under AddressSanitizer or ThreadSanitizer."""
    return re.search("lib[at]san|clang_rt", os.environ.get("LD_PRELOAD", "")) is not None


def reported(text: str) -> str | None:
    """The report of a sanitizer on standard error, in one line; None if there is none."""
    found = SANITIZERS.search(text)
    if found is None:
        return None
    what = found[1] or found[2]
    what = re.sub(r"0x[0-9a-f]+|-?\d{4,}", "N", what)  # addresses and values differ by input
    frames = [_native(*frame) for frame in NATIVE_FRAME.findall(text)]
    ours = [frame for frame in frames if "kernels" in frame or ".pyx" in frame]
    where = " < ".join((ours or frames)[:N_FRAMES])
    return f"{what} in {where}" if where else what


def crash(status: int, text: str) -> str:
    """How a process ended, from its wait status and its standard error."""
    code = os.waitstatus_to_exitcode(status)
    end = signal.Signals(-code).name if code < 0 else f"ended with exit status {code}"
    where = stack(text)
    return reported(text) or (f"{end} at {where}" if where else end)


def place_of(error: BaseException) -> str:
    """The last line of the package that an exception passed through, or the last of all."""
    places = [_python(*place) for place in _lines(error.__traceback__)]
    ours = [place for place in places if place.startswith(PACKAGE)]
    return (ours or places or ["?"])[-1]


def is_from_elsewhere(error: BaseException) -> bool:
    """Whether an exception passed through anything but campaigns and the standard library."""
    return any(
        os.path.dirname(path) != FOLDER and not (path.startswith(LIBRARY) and SITE not in path)
        for path, _ in _lines(error.__traceback__)
    )


def is_raised(error: BaseException) -> bool:
    """Whether an exception comes from a statement that raises it, or from scikit-learn.

    The source of kernels is not available; their exceptions count as raised.
    """
    lines = list(_lines(error.__traceback__))
    path, line = lines[-1]
    if path.endswith((".pyx", ".pxi")):
        return True
    ours = [k for k, place in enumerate(lines) if _python(*place).startswith(PACKAGE)]
    behind = lines[ours[-1] + 1 :] if ours else lines
    if any(f"{os.sep}{SITE}{os.sep}sklearn{os.sep}" in path for path, _ in behind):
        return True
    return linecache.getline(path, line).lstrip().startswith("raise")


def stack(text: str) -> str:
    """The stack of a process, innermost first, from the output of faulthandler."""
    frames = [_python(*frame) for frame in PYTHON_FRAME.findall(text) if not _is_frame(*frame)]
    ours = [frame for frame in frames if frame.startswith(PACKAGE)]
    return " < ".join((ours or frames)[:N_FRAMES])


def _lines(trace: TracebackType | None):
    while trace is not None:
        yield trace.tb_frame.f_code.co_filename, trace.tb_lineno
        trace = trace.tb_next


def _python(path: str, line: int | str) -> str:
    """The path from the package on, or the name of the file."""
    _, package, tail = path.replace(os.sep, "/").rpartition(PACKAGE)
    is_ours = package and not tail.startswith(("campaigns/", "tests/"))
    return f"{package + tail if is_ours else os.path.basename(path)}:{line}"


def _is_frame(path: str, line: str) -> bool:
    """Whether this is a line of code that all campaigns share."""
    return os.path.dirname(path) == FOLDER and os.path.basename(path).startswith("_")


def _native(function: str, place: str) -> str:
    """A function of a kernel, without what Cython puts before its name."""
    name = re.sub(r".*_kernels_(?:\d+[a-z]+_(?=\d))?\d*_?|_(?:baseline|avx2|avx512)$", "", function)
    return f"{name} ({os.path.basename(place)})"
