"""The command convert."""

import argparse
import io
import warnings
from collections.abc import Callable
from typing import Any

from ..conversion import read_crfpp_model, read_crfsuite_dump
from ..crf import CRFsuiteCRF
from ..feature_extraction import SequenceVectorizer
from ..model_files import require_skops, save_model
from ._text import Source, add_columns, add_file, check_output, read_source

__all__ = ["add_arguments", "run"]

READERS: dict[str, Callable[..., Any]] = {
    "crfsuite": read_crfsuite_dump,
    "crf++": read_crfpp_model,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    add_file(parser, "a text that crfsuite dump, pycrfsuite.Tagger.dump or crf_learn -t wrote")
    parser.add_argument("--model", metavar="MODEL", required=True, help="file to write")
    parser.add_argument("--format", choices=READERS, help="default: detected from the text")
    add_columns(parser, "names of the columns of the files to label, as for train")


def run(options: argparse.Namespace) -> None:
    """Read the text, and write a model."""
    require_skops()
    check_output(options.model)
    source = read_source(options.file, options.max_bytes)
    read = READERS[options.format or _format_of(source)]
    try:
        estimator = read(io.BytesIO(source.data), max_bytes=options.max_bytes)
    except ValueError as error:
        raise ValueError(f"{source.name}: {error}") from error
    save_model(estimator, options.model, options.columns)
    if isinstance(estimator, CRFsuiteCRF):
        _warn_of_attributes_without_columns(estimator.vectorizer_)


def _warn_of_attributes_without_columns(vectorizer: SequenceVectorizer) -> None:
    """Warn of attributes without a key: tokens of files are columns, which have names."""
    names = vectorizer.vocabulary_.symbols
    others = [name for name in names if vectorizer.separator not in name]
    if others:
        shown = ", ".join(others[:5]) + ", ..." * (len(others) > 5)
        text = f"no column of a file makes the attributes {shown}, as tokens in Python may"
        warnings.warn(text, stacklevel=2)


def _format_of(source: Source) -> str:
    start = source.data.lstrip()
    if start.startswith(b"FILEHEADER"):
        return "crfsuite"
    if start.startswith(b"version:"):
        return "crf++"
    raise ValueError(f"{source.name} is neither a dump of CRFsuite nor a text model of CRF++")
