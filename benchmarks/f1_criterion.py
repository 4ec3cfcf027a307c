"""F1 of segments as the criterion of training: what it gains over the log loss, and how surely."""

import argparse
import warnings
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

from _common import begin, weights_of  # before numpy

# isort: split
import numpy as np
from corpora import CORPORA, kind_of
from exponents import Part
from sklearn.exceptions import ConvergenceWarning

from sklearn_crcrf import CRF, SequenceArray, text_features
from sklearn_crcrf.criteria import MCEF1
from sklearn_crcrf.labels import to_segments
from sklearn_crcrf.metrics import segment_f1, sequence_accuracy

TESTED = ("Dutch names", "German names", "chunks", "Dutch names, tags", "chunks, tags")
# Settings of "mce_f1", among which held-out sentences choose, as they do for the log loss.
SIGMAS, ITERATIONS, LOG_LOSS_SIGMAS = (1.0, 3.0, 10.0), (8, 16, 60), (1.0, 3.0)
N_TRAIN, HELD_OUT = 5000, 0.2
# Sentences that are drawn together, as a document would be, and number of draws.
BLOCK, N_DRAWS = 20, 2000
COLUMNS = ["corpus", "log loss", "mce_f1", "difference", "95 % of draws", "sentences", "settings"]


class Settings(NamedTuple):
    """The prior of both criteria, and the iterations of "mce_f1"."""

    log_loss_sigma: float
    sigma: float
    max_iter: int


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("f1_criterion.py", description=__doc__)
    parser.add_argument("--corpora", nargs="+", choices=TESTED, default=[*TESTED], help="all")
    note = (
        f"at most {N_TRAIN:,} sentences for training; settings are chosen on a fifth of them; "
        f"draws are of blocks of {BLOCK} sentences"
    )
    args = begin(parser, argv, note)
    warnings.simplefilter("ignore", ConvergenceWarning)
    args.report.table("F1, and right sentences", COLUMNS, rows(args))


def rows(args: argparse.Namespace) -> Iterator[list[str]]:
    """Choose settings, train on all, and compare on the test part."""
    for name in args.corpora:
        (X, y), test = CORPORA[name].load(args)
        train = X[:N_TRAIN], y[:N_TRAIN]
        settings = chosen(name, *split(train))
        found = [model for model, _ in candidates(name, train, test, [settings])]
        first, second = (predictions for predictions in found)
        scores = [100 * segment_f1(test[1], predicted) for predicted in (first, second)]
        low, high = interval(test[1], first, second)
        right = [100 * sequence_accuracy(test[1], predicted) for predicted in (first, second)]
        yield [
            name,
            *(f"{score:.2f}" for score in scores),
            f"{scores[1] - scores[0]:+.2f}",
            f"{low:+.2f} to {high:+.2f}",
            f"{right[0]:.2f}, {right[1]:.2f}",
            f"sigma {settings.log_loss_sigma:g}, {settings.sigma:g}; {settings.max_iter}",
        ]


def split(part: Part) -> tuple[Part, Part]:
    """The first sentences, and the last fifth."""
    n = int((1 - HELD_OUT) * len(part[0]))
    return (part[0][:n], part[1][:n]), (part[0][n:], part[1][n:])


def chosen(name: str, train: Part, held_out: Part) -> Settings:
    """The settings with the best F1 on held-out sentences."""
    every = [Settings(*s) for s in product(LOG_LOSS_SIGMAS, SIGMAS, ITERATIONS)]
    best: dict[str, tuple[float, Settings]] = {}
    for predicted, (criterion, settings) in candidates(name, train, held_out, every):
        score = segment_f1(held_out[1], predicted)
        if criterion not in best or score > best[criterion][0]:
            best[criterion] = score, settings
    of_log_loss, of_f1 = best["log_loss"][1], best["mce_f1"][1]
    return of_f1._replace(log_loss_sigma=of_log_loss.log_loss_sigma)


def candidates(
    name: str, train: Part, test: Part, every: Sequence[Settings]
) -> Iterator[tuple[Any, tuple[str, Settings]]]:
    """Predictions by the log loss, and by F1 from its weights with sigma=1, with settings."""
    attributes = text_features(kind_of(name))
    rows, test_rows = attributes.fit_transform(train[0]), attributes.transform(test[0])
    options = {"features": "observed", "dtype": "float32", "tol": 1e-4}
    starts: dict[float, CRF] = {}
    for sigma in {1.0, *(settings.log_loss_sigma for settings in every)}:
        starts[sigma] = CRF(sigma=sigma, **options).fit(rows, train[1])
    for settings in {s.log_loss_sigma: s for s in every}.values():
        yield starts[settings.log_loss_sigma].predict(test_rows), ("log_loss", settings)
    for settings in {(s.sigma, s.max_iter): s for s in every}.values():
        crf = CRF(MCEF1(), settings.sigma, max_iter=settings.max_iter, **options)
        crf.set_params(init=weights_of(starts[1.0]))
        yield crf.fit(rows, train[1]).predict(test_rows), ("mce_f1", settings)


def interval(y: Any, first: Any, second: Any) -> tuple[float, float]:
    """Bounds of the difference of F1 in 95 % of draws of blocks of sentences."""
    n_blocks = max(1, len(y) // BLOCK)
    block = np.minimum(np.arange(len(y)) // BLOCK, n_blocks - 1)
    counts = [counts_by_block(y, predicted, block, n_blocks) for predicted in (first, second)]
    draws = np.random.default_rng(0).integers(n_blocks, size=(N_DRAWS, n_blocks))
    scores = []
    for right, n_gold, n_found in counts:
        sums = [values[draws].sum(axis=1) for values in (right, n_gold, n_found)]
        scores.append(200 * sums[0] / np.maximum(sums[1] + sums[2], 1))
    low, high = np.percentile(scores[1] - scores[0], [2.5, 97.5])
    return float(low), float(high)


def counts_by_block(
    y: Any, predicted: Any, block: np.ndarray, n_blocks: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Right, gold and found segments in each block."""
    found = [
        set(zip(*(part.tolist() for part in to_segments(labels)), strict=True))
        for labels in (y, [list(labels) for labels in _lists(predicted)])
    ]
    gold, others = found
    counted = (gold & others, gold, others)
    return tuple(  # type: ignore[return-value]
        np.bincount(block[[s for s, *_ in segments]], minlength=n_blocks)
        if segments
        else np.zeros(n_blocks, dtype=int)
        for segments in counted
    )


def _lists(predicted: Any) -> list:
    return predicted.tolist() if isinstance(predicted, SequenceArray) else list(predicted)


if __name__ == "__main__":
    main()
