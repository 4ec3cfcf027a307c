"""Two corpora of segments with the attributes that suit them, for comparing ways to train."""

import argparse
from collections.abc import Callable, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from _common import load_splits
from sklearn.pipeline import Pipeline, make_pipeline

from sklearn_crcrf import SequenceArray
from sklearn_crcrf.datasets import Splits, fetch_conll2002
from sklearn_crcrf.feature_extraction import SequenceVectorizer, TokenFeatures, Window

AFFIXES = [f"{kind}{k}" for kind in ("prefix", "suffix") for k in range(1, 5)]
SPELLING = [*AFFIXES, "shape", "long_shape"]
NAME_SPELLING = [*SPELLING, "lower", "capitalisation", "hyphen_part"]
# The last sentences of the training part, where a corpus has no part for tuning.
N_TUNING = 2000


class Task(NamedTuple):
    """A corpus, and the attributes of its tokens.

    Parameters
    ----------
    title : str
    load : callable
        Takes the options of the command line.
    attributes : callable
        Returns a transformer of sentences to sparse rows.
    """

    title: str
    load: Callable[[argparse.Namespace], Splits]
    attributes: Callable[[], Pipeline]


class Rows(NamedTuple):
    """The parts of a corpus, encoded: rows, labels, and which tokens are known."""

    X: SequenceArray
    y: Sequence[Sequence[str]]
    is_known: list[list[bool]]


def encode(task: Task, args: argparse.Namespace, tuning: bool) -> tuple[Rows, Rows]:
    """What is trained on, and what is tested on: the tuning part, or the test part.

    A word is known if the training part has it.
    """
    splits = task.load(args)
    (X, y), test = splits.train, splits.tuning if tuning else splits.test
    attributes = task.attributes()
    rows, known = attributes.fit_transform(X), {token["word"] for s in X for token in s}
    return Rows(rows, y, []), Rows(
        attributes.transform(test[0]),
        test[1],
        [[token["word"] in known for token in sentence] for sentence in test[0]],
    )


def _load_chunking(args: argparse.Namespace) -> Splits:
    """The tuning part is the end of the training part, which is trained on too for the test."""
    (X, y), _, test = load_splits("chunking", args)
    if not args.tune:
        return Splits((X, y), ([], []), test)
    n = len(X) - min(N_TUNING, len(X) // 4)
    return Splits((X[:n], y[:n]), (X[n:], y[n:]), test)


def _load_ner(args: argparse.Namespace) -> Splits:
    """Words with parts of speech, without sentences of one token."""
    return Splits(*(_ner_part(part, args) for part in ("train", "testa", "testb")))


def _ner_part(part: str, args: argparse.Namespace) -> tuple[list, list]:
    X, y = fetch_conll2002(part, return_X_y=True, download_if_missing=args.download)
    kept = [i for i, sentence in enumerate(X) if len(sentence) > 1][: args.sentences]
    return [X[i] for i in kept], [y[i] for i in kept]


def _around(columns: Sequence[str], *offsets: int) -> list[str]:
    return [f"{column}[{i}]" for column, i in product(columns, offsets)]


def _runs(column: str, length: int, first: int, last: int) -> list[str]:
    """Joins of neighbouring symbols that begin from ``first`` to ``last``."""
    return ["|".join(f"{column}[{i + k}]" for k in range(length)) for i in range(first, last + 1)]


def _chunk_attributes() -> Pipeline:
    words_with_tags = [f"word[{i}]|pos[{j}]" for i, j in product((-1, 0, 1), repeat=2) if i != j]
    templates = [
        *_around(["word", "pos"], *range(-2, 3)),
        *_runs("word", 2, -1, 0),
        *_runs("pos", 2, -2, 1),
        *_runs("pos", 3, -2, 0),
        "word[0]|pos[0]",
        *words_with_tags,
        *_around(SPELLING, 0),
        *_around(["suffix2", "suffix3", "shape"], -1, 1),
    ]
    return _pipeline(SPELLING, templates)


def _name_attributes() -> Pipeline:
    templates = [
        *_around(["word", "pos"], *range(-2, 3)),
        *_runs("word", 2, -1, 0),
        *_runs("pos", 2, -2, 1),
        *_around(NAME_SPELLING, 0),
        *_around(["lower", "shape", "long_shape", "capitalisation"], -2, -1, 1, 2),
        *_around(["prefix3", "suffix2", "suffix3", "suffix4"], -1, 1),
        *_runs("shape", 2, -1, 0),
        *_runs("shape", 3, -1, -1),
    ]
    return _pipeline(NAME_SPELLING, templates)


def _pipeline(spelling: Sequence[str], templates: Sequence[str]) -> Pipeline:
    return make_pipeline(
        TokenFeatures(spelling, column="word"),
        Window(templates),
        SequenceVectorizer(dtype=np.float32),
    )


TASKS = {
    "chunking": Task("English chunks", _load_chunking, _chunk_attributes),
    "ner": Task("Dutch named entities", _load_ner, _name_attributes),
}
