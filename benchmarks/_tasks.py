"""Two corpora of segments with the attributes that suit them, for comparing ways to train."""

import argparse
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from _common import load_splits
from sklearn.pipeline import Pipeline, make_pipeline

from sklearn_crcrf import CRF, FoundLabels, SequenceArray, text_features
from sklearn_crcrf.datasets import fetch_conll2002

# Sentences of a part for tuning, where a corpus has none.
N_TUNING = 2000

Part = tuple[Sequence, Sequence]


class Task(NamedTuple):
    """A corpus, the attributes of its tokens, and which of their pairs with labels have weights.

    Parameters
    ----------
    title : str
    load : callable
        Takes the options of the command line. Returns what to train on and what to test on, by the
        name of what to test on: the test part, or parts for tuning.
    attributes : callable
        Returns a transformer of sentences to sparse rows, which may learn from labels.
    features : {"all", "observed"}
    """

    title: str
    load: Callable[[argparse.Namespace], dict[str, tuple[Part, Part]]]
    attributes: Callable[[], Pipeline]
    features: str


class Rows(NamedTuple):
    """A part of a corpus, encoded: rows, labels, and which tokens are known."""

    X: SequenceArray
    y: Sequence[Sequence[str]]
    is_known: list[list[bool]]


def encoded(task: Task, args: argparse.Namespace) -> Iterator[tuple[str, Rows, Rows]]:
    """The name of a test part, the training part and the test part, both encoded.

    A word is known if it occurs in the training part.
    """
    for name, ((X, y), (X_test, y_test)) in task.load(args).items():
        attributes = task.attributes()
        rows, known = attributes.fit_transform(X, y), {token["word"] for s in X for token in s}
        is_known = [[token["word"] in known for token in sentence] for sentence in X_test]
        yield name, Rows(rows, y, []), Rows(attributes.transform(X_test), y_test, is_known)


def _load_chunking(args: argparse.Namespace) -> dict[str, tuple[Part, Part]]:
    """For tuning: two parts of the training part, the last one and the one before."""
    (X, y), _, test = load_splits("chunking", args)
    if not args.tune:
        return {"test": ((X, y), test)}
    n = min(N_TUNING, len(X) // 4)
    return {
        f"{n} training sentences, {n_after} before the end": _apart(X, y, slice(end - n, end))
        for n_after, end in ((0, len(X)), (n, len(X) - n))
    }


def _apart(X: list, y: list, held_out: slice) -> tuple[Part, Part]:
    before, after = slice(held_out.start), slice(held_out.stop, None)
    return (X[before] + X[after], y[before] + y[after]), (X[held_out], y[held_out])


def _load_names(args: argparse.Namespace) -> dict[str, tuple[Part, Part]]:
    """Words with parts of speech."""
    name = "testa" if args.tune else "testb"
    return {name: (_name_part("train", args), _name_part(name, args))}


def _name_part(part: str, args: argparse.Namespace) -> Part:
    """Without sentences of one token."""
    X, y = fetch_conll2002(part, return_X_y=True, download_if_missing=args.download)
    kept = [i for i, sentence in enumerate(X) if len(sentence) > 1][: args.sentences]
    return [X[i] for i in kept], [y[i] for i in kept]


def _chunk_attributes() -> Pipeline:
    return text_features("chunks")


def _name_attributes() -> Pipeline:
    """With what a first model finds; on the training part, models of the other four fifths."""
    crf = CRF(features="observed", dtype="float32", tol=1e-3)
    first = make_pipeline(text_features("names"), crf)
    return make_pipeline(FoundLabels(first), text_features("names"))


TASKS = {
    "chunking": Task("English chunks", _load_chunking, _chunk_attributes, "all"),
    "ner": Task("Dutch named entities", _load_names, _name_attributes, "observed"),
}
