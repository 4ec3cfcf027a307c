"""Counting, separate and joint training, with the same features of the same sentences."""

import argparse
from collections.abc import Iterator
from functools import partial
from typing import Any

from _common import cpu_seconds  # before numpy

# isort: split
import accuracy
import numpy as np
from corpora import kind_of
from exponents import WORDS
from sklearn.pipeline import make_pipeline

from sklearn_crcrf import CRF, EmpiricalCRF, SeparateCRF, text_features
from sklearn_crcrf.datasets import Splits
from sklearn_crcrf.feature_extraction import SequenceVectorizer, TokenFeatures, Window
from sklearn_crcrf.feature_extraction.spelling import SIMPLE_FEATURES

COLUMNS = ["features", "training", "F1", "overall", "known", "unknown", "CPU s of training"]
SETTINGS = {"sigma": 3.0, "dtype": "float32", "tol": 1e-3}


def of_the_papers(*offsets: int) -> Any:
    """The words at these offsets, and their eleven spelling features."""
    names = ["token", *SIMPLE_FEATURES]
    window = Window([f"{name}[{offset}]" for offset in offsets for name in names])
    return make_pipeline(
        TokenFeatures(SIMPLE_FEATURES), window, SequenceVectorizer(dtype=np.float32)
    )


def models(kind: str) -> Iterator[tuple[str, str, Any]]:
    """The features and the title of each row, and what is trained."""
    yield "of the papers", "[ECRN]: EmpiricalCRF.ecrn()", EmpiricalCRF.ecrn()
    mean = EmpiricalCRF.ecrn(spelling="mean")
    yield "of the papers", 'EP1: EmpiricalCRF.ecrn(spelling="mean")', mean
    yield "of the papers", "EP2: EmpiricalCRF.maxent()", EmpiricalCRF.maxent()
    joint = CRF(**SETTINGS)
    yield from _trained("of the papers", of_the_papers(0), joint)
    both = make_pipeline(of_the_papers(-1, 0), joint)
    yield "of the papers, of both words", "CRF", both
    yield from _trained("text_features", text_features(kind), joint.set_params(features="observed"))


def _trained(features: str, transformer: Any, crf: CRF) -> Iterator[tuple[str, str, Any]]:
    """Separate training with counted and with maximum-entropy pairs, and joint training."""
    for pairs in ("counts", "maxent"):
        yield (
            features,
            f'SeparateCRF(pairs="{pairs}")',
            make_pipeline(transformer, SeparateCRF(crf, pairs=pairs)),
        )
    yield features, "CRF", make_pipeline(transformer, crf)


def rows(corpus: str, args: argparse.Namespace) -> Iterator[list[str]]:
    """Train and test each model on a corpus."""
    train, test = WORDS[corpus].load(args)
    splits, segmented = Splits(train, ([], []), test), WORDS[corpus].segments
    for features, title, model in models(kind_of(corpus)):
        seconds, fitted = cpu_seconds(partial(model.fit, *train))
        ours = accuracy.evaluate(splits, fitted.predict(test[0]), segmented)
        figures = (ours.f1, *ours[:3])
        cells = ["" if figure is None else f"{figure:.2f}" for figure in figures]
        yield [features, title, *cells, f"{seconds:.1f}"]
