"""Training on files that need not fit into memory."""

import argparse
import inspect
import os
import tempfile
from typing import Any

from sklearn.pipeline import Pipeline

from ..out_of_core import write_corpus
from ..utils.names import default_columns
from ._files import first_source
from ._text import ITEMS, KNOWN

__all__ = ["add_out_of_core", "fit_out_of_core"]


def add_out_of_core(parser: argparse.ArgumentParser) -> None:
    """Add the option --out-of-core."""
    parser.add_argument(
        "--out-of-core",
        action="store_true",
        help="keep one part of the text in memory at a time, and the rest in a folder beside MODEL "
        "while training lasts; for estimators that count, CRF and online trainers",
    )


def fit_out_of_core(
    estimator: Any, files: list[str], options: argparse.Namespace
) -> list[str | None]:
    """Fit an estimator, and return the columns of the files.

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
    source = first_source(files, options.encoding)
    columns = default_columns(source.width) if options.columns is None else options.columns
    if KNOWN in columns:
        raise ValueError("a column 'known' is for tag; train uses the column 'label'")
    folder = os.path.dirname(os.path.abspath(options.model))
    with tempfile.TemporaryDirectory(dir=folder, prefix=".corpus-") as temporary:
        corpus = write_corpus(
            files,
            os.path.join(temporary, "corpus"),
            columns,
            sep=source.separator,
            encoding=options.encoding,
            transformer=Pipeline(transformers) if transformers else None,
        )
        classifier.fit(corpus)
    return list(columns)
