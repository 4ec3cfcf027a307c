"""The command convert."""

import argparse
import io
import warnings
from typing import Any

from ...estimators.crfsuite import CRFsuiteCRF
from ...feature_extraction import SequenceVectorizer
from ...model_files import save_model
from ...model_files.conversion.registry import FORMATS as MODELS
from ...text import read_spans
from ...text.formats.registry import AUTO, FORMATS
from . import _documents
from ._text import (
    STANDARD,
    add_alignment,
    add_column_names,
    add_file,
    add_offsets,
    check_output,
    first_of,
    naming,
    read_content,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    add_file(
        parser,
        "documents with spans, in any format of an annotation tool, columns, or a folder; or, "
        "with --model, a model of CRFsuite, CRF++ or Wapiti, or its text",
    )
    parser.add_argument("-m", "--model", metavar="MODEL", help="write this file of a model")
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        help="write the documents to this file, or, for brat, folder; or in the format of this "
        "name to standard output",
    )
    parser.add_argument(
        "--to", choices=FORMATS, help="format of OUT; default: as its name says, else jsonl"
    )
    parser.add_argument("--format", choices=[*MODELS, *FORMATS], help="default: detected")
    add_column_names(parser, "names of the columns of the files to label, as for train")
    add_offsets(parser)
    add_alignment(parser, "strict")


def run(options: argparse.Namespace) -> None:
    """Read a model of another program, and write a model; or documents."""
    if (options.model is None) == (options.output is None):
        raise ValueError("convert needs --output OUT for documents, or --model MODEL for a model")
    if options.output is not None:
        _convert_documents(options)
        return
    if options.format is not None and options.format not in MODELS:
        raise ValueError(f"--format {options.format} has documents: say --output")
    check_output(options.model)
    name, data = read_content(options.file, options.max_bytes)
    model, how = MODELS[options.format or _format_of(name, data)], {"max_bytes": options.max_bytes}
    if model.has_encoding:
        how["encoding"] = options.encoding
    with naming(name):
        estimator = model.read(io.BytesIO(data), **how)
    if isinstance(estimator, CRFsuiteCRF):
        _check_columns(estimator.vectorizer_, options.columns)
    save_model(estimator, options.model, options.columns)


def _convert_documents(options: argparse.Namespace) -> None:
    if options.format in MODELS:
        raise ValueError(f"--format {options.format} is a model: say --model")
    path: Any = options.file
    if path == STANDARD:
        name, data = read_content(path, options.max_bytes, options.encoding)
        path = _documents.named_file(name, data)
    read: Any = {"max_bytes": options.max_bytes, "encoding": options.encoding}
    documents = read_spans(path, options.format or AUTO, offsets=options.offsets, **read)
    _documents.write(documents, options.output, options.to, options)


def _check_columns(vectorizer: SequenceVectorizer, columns: list[str | None] | None) -> None:
    """Compare attributes with the columns of the files to label, whose names are their keys.

    Raises ValueError if the columns make none of the attributes, and warns if they make only some.
    Without names of columns, every attribute that has a key may be made by a column.
    """
    names = vectorizer.vocabulary_.symbols
    keys = [name.partition(vectorizer.separator)[0] for name in names]
    if columns is None:
        others = [name for name, key in zip(names, keys, strict=True) if name == key]
    else:
        others = [name for name, key in zip(names, keys, strict=True) if key not in columns]
    if not others:
        return
    shown = first_of(others)
    if columns is not None and len(others) == len(names):
        raise ValueError(
            f"--columns: none of the columns makes an attribute of the model; its attributes are "
            f"{shown}, and a column makes attributes like {columns[0]}{vectorizer.separator}..."
        )
    share = f"{len(others) / len(names):.1%}"
    text = f"no column of a file makes {share} of the attributes of the model: {shown}"
    warnings.warn(text, stacklevel=2)


def _format_of(name: str, data: bytes) -> str:
    start = data.lstrip()
    found = [format for format, model in MODELS.items() if start.startswith(model.begins)]
    if not found:
        raise ValueError(f"{name} is neither a model of CRFsuite nor of CRF++ or Wapiti")
    return found[0]
