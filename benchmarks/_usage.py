"""Encoding and labelling, which users wait for too; and the memory of training."""

import argparse
import re
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from _common import cpu_seconds, in_fresh_process, load_splits, n_tokens
from _crfsuite import Peer, tag
from _features import columns_of, encode, python_attributes
from _verdicts import cost_row, rate_row
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline, make_pipeline

from sklearn_crcrf import CRF
from sklearn_crcrf.data.sums import state_scores
from sklearn_crcrf.datasets import Splits
from sklearn_crcrf.structures import Chain, Scores

# Iterations after which training needs no more memory, and any model labels equally fast.
FEW_ITERATIONS = 10
ENCODING_SECONDS, MEGABYTES = 0.8, 1000


class Labelling(NamedTuple):
    """A corpus to label, and the target in thousands of tokens per second.

    Parameters
    ----------
    title, corpus : str
    from_raw, from_scores : int
        From raw tokens to labels, and from scores to label ids.
    """

    title: str
    corpus: str
    from_raw: int
    from_scores: int


LABELLINGS = [
    Labelling("chunking", "chunking", 500, 15_000),
    Labelling("Brown 1000-4000", "1000-4000", 400, 3_000),
]


def encoding_rows(args: argparse.Namespace) -> Iterator[list[str]]:
    """Time from lists of dicts to the first iteration."""
    X, y = load_splits("chunking", args).train
    attributes_of = python_attributes("chunking")
    theirs, _ = cpu_seconds(lambda: Peer(attributes_of(X), y))
    ours, _ = cpu_seconds(lambda: fit("chunking", X, y, max_iter=0), args.runs)
    yield cost_row(
        "chunking: from rows to the first iteration", theirs, ours, ENCODING_SECONDS, "s"
    )


def decoding_rows(args: argparse.Namespace) -> Iterator[list[str]]:
    """From raw tokens to labels, and from scores to label ids."""
    for labelling in LABELLINGS:
        splits = load_splits(labelling.corpus, args)
        X = splits.test[0]
        thousands = n_tokens(X) / 1e3
        model = fit(labelling.corpus, *splits.train)
        what = f"{labelling.title}: labelling, {len(model[-1].classes_)} labels"
        theirs = thousands / peer_seconds(labelling.corpus, splits, args.runs)
        seconds, _ = cpu_seconds(lambda model=model, X=X: model.predict(X), args.runs)
        yield rate_row(f"{what}, from raw tokens", theirs, thousands / seconds, labelling.from_raw)
        chain, scores = scores_of(model, labelling.corpus, args)
        seconds, _ = cpu_seconds(
            lambda chain=chain, scores=scores: chain.maximum(scores), args.runs
        )
        yield rate_row(
            f"{what}, from scores to paths", None, thousands / seconds, labelling.from_scores
        )


def peer_seconds(corpus: str, splits: Splits, runs: int) -> float:
    """Seconds in which python-crfsuite labels the test part."""
    attributes_of = python_attributes(corpus)
    X, y = splits.train
    model = Peer(attributes_of(X), y).model(max_iterations=FEW_ITERATIONS)
    seconds, _ = cpu_seconds(lambda: tag(model, attributes_of(splits.test[0])), runs)
    return seconds


def scores_of(model: Pipeline, corpus: str, args: argparse.Namespace) -> tuple[Chain, Scores]:
    """All scores of the test part."""
    encoded, crf = encode(corpus, args), model[-1]
    state = state_scores(encoded.X_test, crf.coef_, 0, encoded.X_test.shape[0])
    return Chain(encoded.test_offsets), Scores.of(state, crf.transitions_)


def memory_rows(args: argparse.Namespace) -> Iterator[list[str]]:
    """Peak memory of a process that only trains."""
    theirs, ours = (in_fresh_process(peak, train, args) for train in (train_peer, train_crf))
    what = "chunking, all features: memory of a process that trains"
    yield cost_row(what, theirs, ours, MEGABYTES, "MB")


def peak(train: Any, args: argparse.Namespace) -> float:
    """Megabytes, from the beginning of the process, with the corpus and all libraries."""
    train(*load_splits("chunking", args).train)
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s*(\d+) kB", status)[1]) / 1024


def train_peer(X: Sequence, y: Sequence) -> None:
    attributes_of = python_attributes("chunking")
    attributes = (attributes_of([sentence])[0] for sentence in X)  # never all at once
    Peer(attributes, y, features="all").train(max_iterations=FEW_ITERATIONS)


def train_crf(X: Sequence, y: Sequence) -> None:
    fit("chunking", X, y, features="all", max_iter=FEW_ITERATIONS)


def fit(corpus: str, X: Sequence, y: Sequence, **options: Any) -> Pipeline:
    """A fitted CRF, perhaps stopped early."""
    model = make_pipeline(columns_of(corpus), CRF(**{"features": "observed", **options}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)
