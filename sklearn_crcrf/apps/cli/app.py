"""The parser of all commands, and the handling of errors."""

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import Any, NoReturn

from ..._version import __version__
from ...utils import interruption

# What a command does, and the module that does it.
COMMANDS = {
    "train": ("training", "train, and write a model"),
    "tag": ("tagging", "label the words of a file"),
    "redact": ("redaction", "replace the spans that a model finds in text"),
    "evaluate": (
        "evaluation",
        "print the accuracy: of a model, or of one that is trained on a part of the file",
    ),
    "check": ("checking", "list the labels of a file that are probably wrong"),
    "inspect": ("inspection", "print what a model has learned"),
    "convert": (
        "conversion",
        "write documents in another format, or read a model of CRFsuite or CRF++",
    ),
    "annotate": ("annotation", "label text in a browser, while a model learns"),
    "export": ("exporting", "write the labels of annotate in columns"),
    "serve": ("service", "a page and a JSON service that label text with a model"),
    "demo": ("demonstration", "train on made-up addresses; needs no file"),
}
BAD_INPUT, BUG, BROKEN_PIPE = 2, 1, 141
DEBUG = "SKLEARN_CRCRF_DEBUG"


class Parser(argparse.ArgumentParser):
    """A parser that reports errors in one line.

    The module of a command is imported when the command is given.
    """

    module: str | None = None

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"sklearn-crcrf: error: {message} (see {self.prog} --help)\n")

    def parse_known_args(self, *args: Any, **options: Any) -> Any:
        """Parse, with the arguments of the command."""
        if self.module is not None:
            module, self.module = _module(self.module), None
            module.add_arguments(self)
            self.set_defaults(run=module.run)
        return super().parse_known_args(*args, **options)


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
    >>> from sklearn_crcrf.apps.cli import main
    >>> status = main(["demo"])
    Made-up postal addresses: 3,000 lines, 32,331 tokens, 17 labels
    ...
    >>> status
    0
    """
    try:
        # Ctrl-C ends the process while modules are imported, and is an exception from then on.
        options = _parser().parse_args(argv)
        run = options.run or _module("demonstration").run
        with interruption.raised(), warnings.catch_warnings():
            warnings.showwarning = _show_warning
            status = run(options) or 0
            sys.stdout.flush()
            return status
    except KeyboardInterrupt:
        return _fail("interrupted", interruption.STATUS)
    except BrokenPipeError:
        # At exit, Python flushes standard output, which would raise the error again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except Exception as error:
        if DEBUG in os.environ:
            raise
        if isinstance(error, OSError) and error.filename is not None:
            return _fail(f"{error.filename}: {error.strerror}", BAD_INPUT)
        if isinstance(error, OSError | ValueError | ImportError):
            return _fail(str(error), BAD_INPUT)
        kind = type(error).__name__
        return _fail(f"{kind}: {error} (all of it: {DEBUG}=1)", BUG)


def _module(name: str) -> ModuleType:
    return import_module(f".{name}", __package__)


def _parser() -> Parser:
    parser = Parser(
        prog="sklearn-crcrf",
        description="Label sequences with conditional random fields. Without a command: train on "
        "made-up postal addresses, and show the accuracy.",
    )
    parser.add_argument("--version", action="version", version=__version__)
    parser.set_defaults(run=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for name, (module, text) in COMMANDS.items():
        commands.add_parser(name, help=text).module = module
    return parser


def _fail(message: str, status: int) -> int:
    print(f"sklearn-crcrf: error: {' '.join(message.split())}", file=sys.stderr)
    return status


def _show_warning(message, category, filename, lineno, file=None, line=None) -> None:
    print(f"sklearn-crcrf: warning: {' '.join(str(message).split())}", file=sys.stderr)
