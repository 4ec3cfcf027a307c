"""The command tag."""

import argparse
import gc
import json
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import IO, Any

from ...datasets.columns import DOCUMENT, Rows
from ...datasets.tables import WORDS
from ...serving import load_tagger
from ...serving.files import is_tagger_file
from ...text.formats import source as document_source
from . import _progress
from ._files import add_files, files_of, outputs_of, texts_of
from ._text import (
    DOCUMENT_FORMATS,
    FORMS,
    ITEMS,
    KNOWN,
    STANDARD,
    UNKNOWN,
    Source,
    Text,
    add_columns,
    add_document_options,
    add_limits,
    begins_with_json,
    check_labelled,
    first_of,
    limits_of,
    observed,
    open_output,
    positive,
    read_source,
    read_text,
    text_of,
)

# Number of sequences that are labelled before they are written.
CHUNK = 500
# Maximum number of labels that a message lists.
MOST = 10
Columns = list[str | None]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    add_files(parser, "words to label, text, or documents")
    parser.add_argument(
        "--text", action="store_true", help="FILE is text as it stands, in which spans are found"
    )
    parser.add_argument(
        "-m",
        "--model",
        metavar="MODEL",
        required=True,
        help="written by train; a compact model, or a file of a tagger, starts at once",
    )
    add_columns(
        parser,
        "names of the columns of the file. A column 'known' holds known labels: a label, several "
        "possible ones joined by |, or _ for unknown. '_' leaves a column out. Default: the "
        "columns of training, with or without the label",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        default="-",
        help="file to write; default: standard output. For several files or a folder: the folder "
        "to write a file of the same name to for each; a part of a file is in memory at a time. "
        "For text: a file that ends in .tsv, .jsonl, .conll or .txt; or spans (the default), "
        "jsonl, conll, or text with the spans in brackets, for standard output",
    )
    parser.add_argument(
        "--keep-label",
        action="store_true",
        help="also write the label in FILE, before the label that was found, as conlleval reads it",
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "-n", "--n-best", type=positive, metavar="K", help="the K best labellings of each sequence"
    )
    how.add_argument(
        "--marginals", action="store_true", help="also the probabilities of all labels of a token"
    )
    add_limits(parser)
    parser.add_argument("--json", action="store_true", help="a line of JSON for each sequence")
    add_document_options(parser)
    _progress.add_options(parser)


def run(options: argparse.Namespace) -> None:
    """Label, and write."""
    is_text = options.text or _are_documents(options)
    needs_model = is_text or options.n_best or KNOWN in (options.columns or ())
    labeller = Labeller(options, needs_model)
    if options.one_segment is not None and (is_text or labeller.text_tagger or options.marginals):
        raise ValueError("--one-segment is for columns, and without --marginals")
    if is_text or labeller.text_tagger is not None:
        from .finding import tag

        tag(options, labeller)
        return
    if options.output in ("spans", "text"):
        raise ValueError(f"--output {options.output} needs --text, or documents with spans")
    if options.output in FORMS:
        options.json, options.output = options.json or options.output == "jsonl", STANDARD
    files = files_of(options.files)
    if options.files == files and len(files) == 1:
        text = labeller.read_to_tag(read_source(files[0], options))
        with (
            open_output(options.output, options.encoding) as out,
            _progress.progress_of(options, "labelling", len(text.X), "sequence") as progress,
        ):
            labeller.write(out, files[0], text, progress)
        return
    outputs = outputs_of(files, options.output)
    with _progress.progress_of(options, "labelling", None, "sequence") as progress:
        for file, output in zip(files, outputs, strict=True):
            with open_output(output, options.encoding) as out:
                for text in texts_of(file, options, labeller.read_to_tag):
                    labeller.write(out, file, text, progress)


def _are_documents(options: argparse.Namespace) -> bool:
    """Say whether the files are documents; their beginnings are looked at."""
    if options.format is not None:
        return options.format in DOCUMENT_FORMATS
    files = [file for file in options.files if os.path.isfile(file)]
    if STANDARD in options.files and begins_with_json():
        return True
    return any(document_source.Source(file, options.encoding).has_records for file in files)


class Labeller:
    """What labels the sequences of a text: the file of a model, or of a tagger.

    ``columns`` and ``separator`` are as in training, ``labels`` are what can be predicted. Lines
    of -DOCSTART- may be tokens, which begin documents for a transformer: then ``has_marks``.
    ``text_tagger`` is the model if it finds spans in text; ``estimator`` labels its tokens.
    """

    def __init__(self, options: argparse.Namespace, needs_model: bool = True):
        self._options, self._tagger, self.has_marks = options, None, False
        self.text_tagger: Any = None
        self.labels: Sequence[Any]
        if is_tagger_file(options.model) and not needs_model:
            tagger = load_tagger(options.model, options.max_bytes)
            self.columns, self.separator = tagger.training_columns, tagger.training_separator
            self.labels = tagger.labels
            self._limits = limits_of(options, self.labels)
            self._tagger = tagger.subject_to(self._limits.get("subject_to", ()))
            return
        with paused_collector():
            from ...model_files import load_model

            model = load_model(options.model, options.max_bytes)
        self.estimator, self.columns = model
        if hasattr(self.estimator, "redact"):
            self.text_tagger, self.estimator = self.estimator, self.estimator.estimator_
        self.separator, self.labels = model.separator, labels_of(self.estimator)
        self._limits = limits_of(options, self.labels)
        params = [it for it in self.estimator.get_params().values() if isinstance(it, str)]
        self.has_marks = DOCUMENT in params

    def read_to_tag(self, source: Source) -> Text:
        """Read the words to label; a label that the model does not know is an error.

        It is a warning if labels are asked for, or can be nothing else.
        """
        text, options = self.read(source), self._options
        if text.known is not None and (options.n_best or options.marginals):
            raise ValueError("--n-best and --marginals cannot be used with a column 'known'")
        known = {UNKNOWN, *map(str, self.labels)}
        unknown: dict[str, tuple[int, int]] = {}
        for number, labels in enumerate(text.y or ()):
            if not known.issuperset(labels):
                for position, label in enumerate(labels):
                    if label not in known:
                        unknown.setdefault(label, (number, position))
        if not unknown:
            return text
        if options.keep_label or text.columns == ITEMS:
            warnings.warn(
                f"{source.name}: the model does not know the labels {named([*unknown])}; it knows "
                f"{named(self.labels)}",
                stacklevel=2,
            )
            return text
        label, place = next(iter(unknown.items()))
        columns = ",".join("_" if name in (None, "label") else name for name in text.columns)
        raise ValueError(
            f"{source.name}: {text.place(*place)}: {label!r} is not among the labels of the model, "
            f"{named(self.labels)}: write one token per line; or say --text if this is text as it "
            f"stands, --columns {columns} to leave the label out, or --sep tab if words hold spaces"
        )

    def read_labelled(self, file: str) -> Text:
        """Read the tokens and labels of a file of columns, or of documents."""
        from . import _documents

        read = partial(self.read, labelled=True)
        return _documents.read_labelled(file, self._options, read, self.text_tagger)

    def read(self, source: Source, labelled: bool = False) -> Text:
        """Read words; by default with the columns of training.

        Parameters
        ----------
        source : Source
        labelled : bool, default=False
            Whether there must be labels.

        Raises
        ------
        ValueError
            If the columns differ from the columns of training.
        """
        columns: Columns | None = self._options.columns
        if self.has_marks:
            source = source._replace(reading=source.reading._replace(conventions=False))
        if ITEMS in (self.columns, columns):
            if self.columns not in (None, ITEMS) or columns not in (None, ITEMS):
                raise ValueError(
                    "the model was trained on columns, or on --format crfsuite: not both"
                )
            return read_text(source, ITEMS, labelled)
        if self.columns is None:
            return read_text(source, columns, labelled)
        wanted = observed(self.columns)
        if columns is not None and set(observed(columns)) != set(wanted):
            raise ValueError(
                f"the model was trained on the columns {', '.join(wanted)}, but --columns names "
                f"{', '.join(observed(columns)) or 'none'}"
            )
        rows = source.rows()
        if rows.header is not None and columns is None:
            return text_of(source, rows, _by_name(source, rows.header.names, wanted, labelled))
        # The columns of training, perhaps without the label or the columns that were left out.
        layouts: list[Columns] = [self.columns, [*wanted, "label"]]
        if not labelled:
            unlabelled: Columns = [name for name in self.columns if name != "label"]
            layouts = [unlabelled, [*wanted], self.columns]
        layouts = layouts if columns is None else [columns]
        rows = self._fitting_rows(source, layouts)
        try:
            text = text_of(source, rows, _layout(rows, layouts))
        except ValueError as error:
            if labelled or len(wanted) > 1:
                raise
            raise ValueError(f"{error}; or say --text if this is text as it stands") from error
        if labelled:
            check_labelled(text, source.name)
        return text

    def _fitting_rows(self, source: Source, layouts: list[Columns]) -> Rows:
        """Return the rows of a text, separated as in training if that makes columns of training.

        Words with spaces in a file without tabs are words, unless all are followed by a label.
        """
        rows, widths = source.rows(), [len(names) for names in layouts]
        if source.is_given or self.separator is None:
            return rows
        as_trained = source.rows(self.separator)
        if not as_trained.has_width(widths):
            return rows if rows.has_width(widths) else as_trained
        if as_trained.width > 1 or not rows.has_width(widths):
            return as_trained
        labels = rows.table(_layout(rows, layouts)).get("label", [None])
        return rows if set(labels) <= set(self.labels) else as_trained

    def write(self, out: IO[str], name: str, text: Text, progress: _progress.ProgressLine) -> None:
        """Write the output for all sequences of a text from a file of this name."""
        options, n_sequences = self._options, len(text.X)
        if options.keep_label and text.y is None:
            raise ValueError(f"{name}: --keep-label needs labels, see --columns")
        write = _write_json if options.json else _write_text
        # Known labels may be impossible: all sequences in one chunk, so that the number of the
        # sequence in the error is right.
        size = CHUNK if text.known is None else max(1, n_sequences)
        for start in range(0, n_sequences, size):
            stop = min(start + size, n_sequences)
            tag = self._tag_each if self._tagger is not None else self._tag
            for number, tagged in enumerate(tag(text, slice(start, stop), name), start):
                if options.keep_label and text.y is not None:
                    tagged["gold"] = text.y[number]
                write(out, tagged)
            progress.advance(stop - start)

    def _tag_each(self, text: Text, chunk: slice, name: str) -> Iterator[dict[str, Any]]:
        """Yield the output of a tagger for each of some sequences."""
        tagger: Any = self._tagger
        for number, tokens in enumerate(text.X[chunk], chunk.start):
            try:
                tagged = {"tokens": tokens, "labels": tagger(tokens)}
                if self._options.marginals:
                    rows = tagger.probabilities(tokens).tolist()
                    tagged["marginals"] = [dict(zip(tagger.labels, r, strict=True)) for r in rows]
            except (TypeError, ValueError) as error:
                raise ValueError(f"{name}, sequence {number}: {error}") from error
            yield tagged

    def _tag(self, text: Text, chunk: slice, name: str) -> Iterator[dict[str, Any]]:
        """Yield the output of an estimator for each of some sequences."""
        from ...base.unwrap import unwrap

        X = text.X[chunk]
        classifier, inner = unwrap(self.estimator, X)
        if self._options.n_best:
            find = _method(classifier, "predict_k_best")
            kept = find(inner, k=self._options.n_best, **self._limits)
            for tokens, paths in zip(X, kept, strict=True):
                found = [{"probability": p, "labels": labels} for labels, p in paths]
                yield {"tokens": tokens, "paths": found}
            return
        try:
            known = {} if text.known is None else {"allowed": text.known[chunk]}
            known |= self._limits
            predicted = [list(labels) for labels in classifier.predict(inner, **known)]
        except ValueError as error:
            if text.known is None:
                raise
            message = str(error).replace("allowed", "column 'known'", 1)
            raise ValueError(f"{name}: {message}") from error
        tagged = [{"tokens": x, "labels": labels} for x, labels in zip(X, predicted, strict=True)]
        if self._options.marginals:
            classes = classifier.classes_.tolist()
            marginals = _method(classifier, "predict_proba")(inner)
            for one, rows in zip(tagged, marginals, strict=True):
                one["marginals"] = [dict(zip(classes, row, strict=True)) for row in rows.tolist()]
        yield from tagged


def labels_of(estimator: Any) -> list:
    """Return the labels that an estimator knows."""
    from ...base.unwrap import unwrap

    return unwrap(estimator)[0].classes_.tolist()


def named(labels: Sequence[Any]) -> str:
    """Return the first of some labels, for messages."""
    return first_of([*map(repr, labels)], MOST)


def _layout(rows: Rows, layouts: list[Columns]) -> Columns:
    """Return the first layout with the number of columns of the rows, or just the first."""
    return next((names for names in layouts if len(names) == rows.width), layouts[0])


def _by_name(source: Source, names: Columns, wanted: list[str], labelled: bool) -> Columns:
    """Find the columns of training in the header of a table; words may be called otherwise."""
    if len(wanted) == 1:
        words = next(name for name in names if name is not None and name.lower() in WORDS)
        names = [wanted[0] if name == words else name for name in names]
    missing = [name for name in [*wanted, *(["label"] * labelled)] if name not in names]
    if missing:
        raise ValueError(f"{source.name}: there is no column {missing[0]!r}; there are {names}")
    return [name if name in (*wanted, "label") else None for name in names]


def _method(classifier: Any, name: str) -> Callable:
    if not hasattr(classifier, name):
        raise ValueError(f"{type(classifier).__name__} has no {name}")
    return getattr(classifier, name)


def _write_json(file: IO[str], tagged: dict[str, Any]) -> None:
    file.write(json.dumps(tagged, ensure_ascii=False, default=str) + "\n")


def _write_text(file: IO[str], tagged: dict[str, Any]) -> None:
    # Attributes with numbers are left out, as CRFsuite does.
    rows = [
        [token] if isinstance(token, str) else [it for it in token.values() if isinstance(it, str)]
        for token in tagged["tokens"]
    ]
    if "gold" in tagged:
        rows = [[*row, str(label)] for row, label in zip(rows, tagged["gold"], strict=True)]
    for number, path in enumerate(tagged.get("paths", ()), 1):
        file.write(f"# {number} {path['probability']:.6f}\n")
        _write_rows(file, rows, [[str(label)] for label in path["labels"]])
    if "labels" in tagged:
        added = [[str(label)] for label in tagged["labels"]]
        for columns, marginals in zip(added, tagged.get("marginals", ()), strict=False):
            columns += [f"{label}/{p:.6f}" for label, p in marginals.items()]
        _write_rows(file, rows, added)


def _write_rows(file: IO[str], rows: list[list[str]], added: list[list[str]]) -> None:
    lines = ["\t".join(row + more) for row, more in zip(rows, added, strict=True)]
    file.write("\n".join(lines) + "\n\n")


@contextmanager
def paused_collector() -> Iterator[None]:
    """Look for no garbage, while modules are imported and a model is loaded.

    All that is made there stays, and to look through it again and again would take a tenth of a
    second.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
