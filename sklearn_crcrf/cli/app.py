"""The parser of all commands, and the handling of errors."""

import argparse
import os
import sys
import warnings
from collections.abc import Sequence

from sklearn.exceptions import ConvergenceWarning

from .._version import __version__
from ..utils import interruption
from . import conversion, demonstration, evaluation, inspection, tagging, training

__all__ = ["main"]

GROUPS = (training, tagging, evaluation, inspection, conversion, demonstration)
BAD_INPUT, BUG, BROKEN_PIPE = 2, 1, 141
DEBUG = "SKLEARN_CRCRF_DEBUG"


class Parser(argparse.ArgumentParser):
    """A parser that reports errors in one line."""

    def error(self, message: str) -> None:
        self.exit(BAD_INPUT, f"sklearn-crcrf: error: {message} (see {self.prog} --help)\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments; by default the arguments of the process.

    Returns
    -------
    int
        Exit status: 0; 2 if files or arguments are not valid; 130 after Ctrl-C; 141 if nobody
        reads the output; 1 after any other error. With the environment variable
        SKLEARN_CRCRF_DEBUG, errors are raised instead.

    Examples
    --------
    >>> from sklearn_crcrf.cli import main
    >>> status = main(["demo"])
    Made-up postal addresses: 3,000 lines, 32,331 tokens, 17 labels
    ...
    >>> status
    0
    """
    try:
        with interruption.raised():
            return _run(argv)
    except KeyboardInterrupt:
        return _fail("interrupted", interruption.STATUS)
    except BrokenPipeError:
        # At exit, Python flushes standard output, which would raise the error again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except Exception as error:
        if DEBUG in os.environ:
            raise
        if isinstance(error, OSError | ValueError | ImportError):
            return _fail(_described(error), BAD_INPUT)
        kind = type(error).__name__
        return _fail(f"{kind}: {error} (all of it: {DEBUG}=1)", BUG)


def _run(argv: Sequence[str] | None) -> int:
    options = _parser().parse_args(argv)
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        warnings.simplefilter("always", ConvergenceWarning)
        status = options.run(options) or 0
        sys.stdout.flush()
    return status


def _parser() -> Parser:
    parser = Parser(
        prog="sklearn-crcrf",
        description="Label sequences with conditional random fields. Without a command: train on "
        "made-up postal addresses, and show the accuracy.",
    )
    parser.add_argument("--version", action="version", version=__version__)
    parser.set_defaults(run=demonstration.run)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=Parser)
    for group in GROUPS:
        group.add_parser(commands)
    return parser


def _described(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def _fail(message: str, status: int) -> int:
    print(f"sklearn-crcrf: error: {' '.join(message.split())}", file=sys.stderr)
    return status


def _show_warning(message, category, filename, lineno, file=None, line=None) -> None:
    print(f"sklearn-crcrf: warning: {' '.join(str(message).split())}", file=sys.stderr)
