"""Training on files that need not fit into memory."""

import argparse
import inspect
import os
import tempfile
from typing import Any

from sklearn.pipeline import Pipeline

from ...out_of_core.writing import write_parts
from ._files import check_trainable, first_text
from ._text import ITEMS, Text, reading_of

__all__ = ["add_out_of_core", "fit_out_of_core"]


def add_out_of_core(parser: argparse.ArgumentParser) -> None:
    """Add the option --out-of-core."""
    parser.add_argument(
        "--out-of-core",
        action="store_true",
        help="keep one part of the text in memory at a time, and the rest in a folder beside MODEL "
        "while training lasts; for estimators that count, CRF and online trainers",
    )


def fit_out_of_core(estimator: Any, files: list[str], options: argparse.Namespace) -> Text:
    """Fit an estimator, and return the first part of the text.

    Raises
    ------
    ValueError
        If a file is not valid, or the estimator cannot be fitted out of core.
    """
    is_pipeline = isinstance(estimator, Pipeline)
    *transformers, (_, classifier) = estimator.steps if is_pipeline else [("", estimator)]
    # What is fitted from a folder, which has the labels too, does not need y.
    if inspect.signature(classifier.fit).parameters["y"].default is inspect.Parameter.empty:
        raise ValueError(f"--out-of-core: {type(classifier).__name__} needs all data in memory")
    if options.columns == ITEMS:
        raise ValueError("--out-of-core needs columns, not --format crfsuite")
    text = first_text(files, options)
    check_trainable(text)
    folder = os.path.dirname(os.path.abspath(options.model))
    with tempfile.TemporaryDirectory(dir=folder, prefix=".corpus-") as temporary:
        corpus = write_parts(
            files,
            os.path.join(temporary, "corpus"),
            text.columns,
            reading_of(options),
            options.encoding,
            Pipeline(transformers) if transformers else None,
        )
        classifier.fit(corpus)
    return text
