"""Two corpora of segments with the attributes that suit them, for comparing ways to train."""

import argparse
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from _common import load_splits
from _names import with_found
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import Pipeline, make_pipeline

from sklearn_crcrf import CRF, SequenceArray
from sklearn_crcrf.datasets import fetch_conll2002
from sklearn_crcrf.feature_extraction import SequenceVectorizer, TokenFeatures, Window
from sklearn_crcrf.feature_extraction.presets import SPELLING, preset_templates

NAME_SPELLING = SPELLING["names"]
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
        name of the latter: that is the test part, or parts for tuning.
    attributes : callable
        Returns a transformer of sentences to sparse rows.
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
        rows, known = attributes.fit_transform(X), {token["word"] for s in X for token in s}
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
    """Words with parts of speech, and with what a first model found.

    Its predictions for the training part come from models trained on the other four fifths.
    """
    name = "testa" if args.tune else "testb"
    (X, y), (X_test, y_test) = _name_part("train", args), _name_part(name, args)
    attributes = _name_attributes()
    rows, test_rows = attributes.fit_transform(X), attributes.transform(X_test)
    first = CRF(features="observed", dtype="float32", tol=1e-3)
    found = cross_val_predict(first, rows, y, cv=5), first.fit(rows, y).predict(test_rows)
    return {name: ((with_found(X, found[0]), y), (with_found(X_test, found[1]), y_test))}


def _name_part(part: str, args: argparse.Namespace) -> Part:
    """Without sentences of one token."""
    X, y = fetch_conll2002(part, return_X_y=True, download_if_missing=args.download)
    kept = [i for i, sentence in enumerate(X) if len(sentence) > 1][: args.sentences]
    return [X[i] for i in kept], [y[i] for i in kept]


def _around(columns: Sequence[str], *offsets: int) -> list[str]:
    return [f"{column}[{i}]" for column, i in product(columns, offsets)]


def name_windows(with_tags: bool = True) -> list[str]:
    """Templates of words, their spelling and parts of speech, for names."""
    # Without parts of speech tokens are strings, in the column "token".
    columns = ["word", "pos"] if with_tags else ["token"]
    return preset_templates("names", [*columns, *NAME_SPELLING])


def _chunk_attributes() -> Pipeline:
    spelling = SPELLING["chunks"]
    return _pipeline(spelling, preset_templates("chunks", ["word", "pos", *spelling]))


def _name_attributes(*more: str) -> Pipeline:
    return _pipeline(NAME_SPELLING, [*name_windows(), *more])


def _second_name_attributes() -> Pipeline:
    return _name_attributes(
        *_around(["found"], *range(-2, 3)),
        *_around(["word_in_article", "word_in_text"], -1, 0, 1),
        *_around(["name_in_article", "name_in_text", "longer"], 0),
        *(f"found[0]|{column}[0]" for column in ("word_in_article", "name_in_article", "longer")),
    )


def _pipeline(spelling: Sequence[str], templates: Sequence[str]) -> Pipeline:
    return make_pipeline(
        TokenFeatures(spelling, column="word"),
        Window(templates),
        SequenceVectorizer(dtype=np.float32),
    )


TASKS = {
    "chunking": Task("English chunks", _load_chunking, _chunk_attributes, "all"),
    "ner": Task("Dutch named entities", _load_names, _second_name_attributes, "observed"),
}
