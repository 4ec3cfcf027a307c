"""The command serve."""

import argparse

from ..web import tagging_app
from . import _listening
from ._text import add_max_bytes

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("--model", metavar="MODEL", required=True, help="written by train")
    add_max_bytes(parser)
    _listening.add_options(parser)


def run(options: argparse.Namespace) -> None:
    """Open the page."""
    from ..model_files import load_model

    estimator = load_model(options.model, options.max_bytes).estimator
    _listening.listen(tagging_app(estimator), options)
