"""The command serve."""

import argparse

from ..web import tagging_app
from . import _listening
from ._text import add_limits, add_max_bytes, limits_of
from .tagging import labels_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("--model", metavar="MODEL", required=True, help="written by train")
    add_limits(parser)
    add_max_bytes(parser)
    _listening.add_options(parser)


def run(options: argparse.Namespace) -> None:
    """Open the page."""
    from ...model_files import load_model

    estimator, columns = load_model(options.model, options.max_bytes)
    observed = [name for name in columns or () if name not in (None, "label")]
    if len(observed) > 1:
        raise ValueError(
            f"{options.model}: serve labels plain words, but the model needs the columns "
            f"{', '.join(map(str, observed))}"
        )
    limits = limits_of(options, labels_of(estimator))
    _listening.listen(tagging_app(estimator, **limits), options)
