"""The command serve."""

import argparse
from typing import Any

from ...text.tokens import TOKENIZERS
from ..web import tagging_app
from . import _listening
from ._text import add_limits, add_max_bytes, limits_of, observed
from .tagging import labels_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument("-m", "--model", metavar="MODEL", required=True, help="written by train")
    add_limits(parser)
    parser.add_argument(
        "--tokenizer",
        choices=TOKENIZERS,
        help="how text is cut into tokens; default: as in training, or into words",
    )
    add_max_bytes(parser)
    _listening.add_options(parser)


def run(options: argparse.Namespace) -> None:
    """Open the page."""
    from ...model_files import load_model

    estimator, columns = load_model(options.model, options.max_bytes)
    names = observed(columns or ())
    if names == ["*"]:
        raise ValueError(f"{options.model}: serve labels words, but the model needs attributes")
    how: dict[str, Any] = limits_of(options, labels_of(estimator))
    how["columns"] = names if len(names) > 1 else None
    app = tagging_app(estimator, tokenizer=options.tokenizer, **how)
    _listening.listen(app, options)
