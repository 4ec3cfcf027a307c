"""The command tag."""

import argparse
import gc
import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from ...datasets.columns import DOCUMENT, Rows
from ...serving import Tagger, load_tagger
from ...serving.files import is_tagger_file
from . import _progress
from ._files import add_files, files_of, outputs_of, texts_of
from ._numbers import positive
from ._text import (
    ITEMS,
    KNOWN,
    UNKNOWN,
    Source,
    Text,
    add_columns,
    check_labelled,
    open_output,
    read_source,
    read_text,
    text_of,
)

if TYPE_CHECKING:
    from ...model_files import StoredModel

__all__ = [
    "Trained",
    "add_arguments",
    "labels_of",
    "named",
    "paused_collector",
    "read_words",
    "run",
]

# Number of sequences that are labelled before they are written.
CHUNK = 500
# Maximum number of labels that a message lists.
MOST = 10
Tagged = Iterator[dict[str, Any]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    add_files(parser, "words to label")
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
        "to write a file of the same name to for each; a part of a file is in memory at a time",
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
    parser.add_argument("--json", action="store_true", help="a line of JSON for each sequence")
    _progress.add_options(parser)


def run(options: argparse.Namespace) -> None:
    """Label, and write."""
    labeller = Labeller(options)
    files = files_of(options.files)
    if options.files == files and len(files) == 1:
        text = labeller.read(read_source(files[0], options))
        with (
            open_output(options.output, options.encoding) as out,
            _progress.progress_of(options, "labelling", len(text.X), "sequence") as progress,
        ):
            _write(out, labeller, files[0], text, options, progress)
        return
    outputs = outputs_of(files, options.output)
    with _progress.progress_of(options, "labelling", None, "sequence") as progress:
        for file, output in zip(files, outputs, strict=True):
            with open_output(output, options.encoding) as out:
                for text in texts_of(file, options, labeller.read):
                    _write(out, labeller, file, text, options, progress)


class Trained(NamedTuple):
    """What is known of the training of a model.

    ``has_marks`` says whether lines of -DOCSTART- are tokens, which begin documents for a
    transformer.
    """

    columns: list[str | None] | None
    separator: str | None
    labels: Sequence[Any]
    has_marks: bool = False

    @classmethod
    def of(cls, model: "StoredModel") -> "Trained":
        """What a model file says."""
        estimator, columns = model
        params = [it for it in estimator.get_params().values() if isinstance(it, str)]
        return cls(columns, model.separator, labels_of(estimator), DOCUMENT in params)


class Labeller:
    """What labels the sequences of a text: the file of a model, or of a tagger."""

    def __init__(self, options: argparse.Namespace):
        self._options = options
        needs_model = options.n_best or KNOWN in (options.columns or ())
        self._tagger: Tagger | None = None
        if is_tagger_file(options.model) and not needs_model:
            tagger = self._tagger = load_tagger(options.model, options.max_bytes)
            columns, separator = tagger.training_columns, tagger.training_separator
            self._trained = Trained(columns, separator, tagger.labels)
            return
        with paused_collector():
            from ...model_files import load_model

            model = load_model(options.model, options.max_bytes)
        self._estimator, self._trained = model.estimator, Trained.of(model)

    def read(self, source: Source) -> Text:
        """Read the words, with the columns of training."""
        text, options = _read_to_tag(source, self._trained, self._options), self._options
        if text.known is not None and (options.n_best or options.marginals):
            raise ValueError("--n-best and --marginals cannot be used with a column 'known'")
        return text

    def tag(self, text: Text, chunk: slice, name: str) -> Tagged:
        """The output for each of some sequences; ``name`` is the name of the file."""
        if self._tagger is not None:
            return _tag_each(self._tagger, text.X[chunk], chunk.start, name, self._options)
        if text.known is None:
            return _tag(self._estimator, text.X[chunk], {}, self._options)
        try:
            allowed = {"allowed": text.known[chunk]}
            return iter([*_tag(self._estimator, text.X[chunk], allowed, self._options)])
        except ValueError as error:
            message = str(error).replace("allowed", "column 'known'", 1)
            raise ValueError(f"{name}: {message}") from error


def _write(
    out: IO[str],
    labeller: Labeller,
    name: str,
    text: Text,
    options: argparse.Namespace,
    progress: _progress.ProgressLine,
) -> None:
    """Write the output for all sequences of a text."""
    if options.keep_label and text.y is None:
        raise ValueError(f"{name}: --keep-label needs labels, see --columns")
    write, n_sequences = _write_json if options.json else _write_text, len(text.X)
    # Known labels may be impossible: all sequences in one chunk, so that the number of the sequence
    # in the error is right.
    size = CHUNK if text.known is None else max(1, n_sequences)
    for start in range(0, n_sequences, size):
        stop = min(start + size, n_sequences)
        for number, tagged in enumerate(labeller.tag(text, slice(start, stop), name), start):
            if options.keep_label and text.y is not None:
                tagged["gold"] = text.y[number]
            write(out, tagged)
        progress.advance(stop - start)


def labels_of(estimator: Any) -> list:
    """The labels that an estimator knows."""
    from ...base.unwrap import unwrap

    return unwrap(estimator)[0].classes_.tolist()


def named(labels: Sequence[Any]) -> str:
    """The first of some labels, for messages."""
    return ", ".join(map(repr, labels[:MOST])) + ", ..." * (len(labels) > MOST)


def read_words(
    source: Source, trained: Trained, columns: list[str | None] | None, labelled: bool = False
) -> Text:
    """Read the words that a model is to label; by default with the columns of training.

    Parameters
    ----------
    source : Source
    trained : Trained
    columns : list of str or None, optional
    labelled : bool, default=False
        Whether there must be labels.

    Raises
    ------
    ValueError
        If the columns differ from the columns of training.
    """
    if trained.has_marks:
        source = source._replace(reading=source.reading._replace(conventions=False))
    if ITEMS in (trained.columns, columns):
        if trained.columns not in (None, ITEMS) or columns not in (None, ITEMS):
            raise ValueError("the model was trained on columns, or on --format crfsuite: not both")
        return read_text(source, ITEMS, labelled)
    if trained.columns is None:
        return read_text(source, columns, labelled)
    wanted = _observed(trained.columns)
    if columns is not None and set(_observed(columns)) != set(wanted):
        raise ValueError(
            f"the model was trained on the columns {', '.join(wanted)}, but --columns names "
            f"{', '.join(_observed(columns)) or 'none'}"
        )
    layouts = _layouts(trained.columns, labelled) if columns is None else [columns]
    rows = _fitting_rows(source, trained, layouts)
    text = text_of(source, rows, _layout(rows, layouts))
    if labelled:
        check_labelled(text, source.name)
    return text


def _layouts(trained: list[str | None], labelled: bool) -> list[list[str | None]]:
    """The columns of training, perhaps without the label or the columns that were left out."""
    unlabelled: list[str | None] = [name for name in trained if name != "label"]
    observed: list[str | None] = [*_observed(trained)]
    return [trained, [*observed, "label"]] if labelled else [unlabelled, observed, trained]


def _layout(rows: Rows, layouts: list[list[str | None]]) -> list[str | None]:
    """The first layout with the number of columns of the rows, or just the first."""
    return next((names for names in layouts if len(names) == rows.width), layouts[0])


def _fitting_rows(source: Source, trained: Trained, layouts: list[list[str | None]]) -> Rows:
    """The rows of a text, separated as in training if that makes columns of training.

    Words with spaces in a file without tabs are words, unless all are followed by a label.
    """
    rows, widths = source.rows(), [len(names) for names in layouts]
    if source.is_given or trained.separator is None:
        return rows
    as_trained = source.rows(trained.separator)
    if not as_trained.has_width(widths):
        return rows if rows.has_width(widths) else as_trained
    if as_trained.width > 1 or not rows.has_width(widths):
        return as_trained
    labels = rows.table(_layout(rows, layouts)).get("label", [None])
    return rows if set(labels) <= set(trained.labels) else as_trained


def _read_to_tag(source: Source, trained: Trained, options: argparse.Namespace) -> Text:
    """Read the words to label; a label that the model does not know is an error.

    It is a warning if labels are asked for, or can be nothing else.
    """
    text = read_words(source, trained, options.columns)
    known = {UNKNOWN, *map(str, trained.labels)}
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
            f"{named(trained.labels)}",
            stacklevel=2,
        )
        return text
    number, position = next(iter(unknown.values()))
    columns = ",".join("_" if name in (None, "label") else name for name in text.columns)
    raise ValueError(
        f"{source.name}: {text.place(number, position)}: {text.y[number][position]!r} is not among "
        f"the labels of the model, {named(trained.labels)}: write one token per line; or say "
        f"--columns {columns} to leave the label out, or --sep tab if words hold spaces"
    )


def _observed(columns: list[str | None]) -> list[str]:
    return [name for name in columns if name is not None and name not in ("label", KNOWN)]


def _tag_each(
    tagger: Tagger, X: list, first: int, name: str, options: argparse.Namespace
) -> Tagged:
    """The output of a tagger for each sequence, of which the first has this number."""
    for number, tokens in enumerate(X, first):
        try:
            tagged = {"tokens": tokens, "labels": tagger(tokens)}
            if options.marginals:
                rows = tagger.probabilities(tokens).tolist()
                tagged["marginals"] = [dict(zip(tagger.labels, r, strict=True)) for r in rows]
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name}, sequence {number}: {error}") from error
        yield tagged


def _tag(estimator: Any, X: list, allowed: dict[str, Any], options: argparse.Namespace) -> Tagged:
    """The output for each sequence."""
    from ...base.unwrap import unwrap

    classifier, inner = unwrap(estimator, X)
    if options.n_best:
        kept = _method(classifier, "predict_k_best")(inner, k=options.n_best)
        for tokens, paths in zip(X, kept, strict=True):
            found = [{"probability": p, "labels": labels} for labels, p in paths]
            yield {"tokens": tokens, "paths": found}
        return
    predicted = map(list, classifier.predict(inner, **allowed))
    if not options.marginals:
        for tokens, labels in zip(X, predicted, strict=True):
            yield {"tokens": tokens, "labels": labels}
        return
    classes = classifier.classes_.tolist()
    marginals = _method(classifier, "predict_proba")(inner)
    for tokens, labels, rows in zip(X, predicted, marginals, strict=True):
        by_label = [dict(zip(classes, row, strict=True)) for row in rows.tolist()]
        yield {"tokens": tokens, "labels": labels, "marginals": by_label}


def _method(classifier: Any, name: str) -> Callable:
    if not hasattr(classifier, name):
        raise ValueError(f"{type(classifier).__name__} has no {name}")
    return getattr(classifier, name)


def _write_json(file: IO[str], tagged: dict[str, Any]) -> None:
    file.write(json.dumps(tagged, ensure_ascii=False, default=str) + "\n")


def _write_text(file: IO[str], tagged: dict[str, Any]) -> None:
    rows = [_row(token) for token in tagged["tokens"]]
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


def _row(token: str | dict[str, Any]) -> list[str]:
    """The columns of a token; attributes with numbers are left out, as CRFsuite does."""
    if isinstance(token, str):
        return [token]
    return [value for value in token.values() if isinstance(value, str)]


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
