"""python-crfsuite with the features of the papers, for comparison."""

import os
import sys
import tempfile
from collections.abc import Sequence

from _common import cpu_seconds

from sklearn_crcrf.spelling import SIMPLE_FEATURES, spelling_table


def train_crfsuite(
    X: Sequence[Sequence[str]], y: Sequence[Sequence[str]], sigma: float = 1.0
) -> tuple[float, bytes]:
    """CPU seconds of L-BFGS with a Gaussian prior, without the making of features; the model."""
    trainer = _import_crfsuite().Trainer(verbose=False)
    trainer.select("lbfgs")
    trainer.set_params({"c1": 0.0, "c2": 0.5 / sigma**2})
    for attributes, labels in zip(simple_attributes(X), y, strict=True):
        trainer.append(attributes, labels)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model")
        seconds, _ = cpu_seconds(lambda: trainer.train(path))
        with open(path, "rb") as file:
            return seconds, file.read()


def predict_crfsuite(model: bytes, X: Sequence[Sequence[str]]) -> list[list[str]]:
    """Labels of all tokens."""
    tagger = _import_crfsuite().Tagger()
    tagger.open_inmemory(model)
    return [tagger.tag(attributes) for attributes in simple_attributes(X)]


def simple_attributes(X: Sequence[Sequence[str]]) -> list[list[list[str]]]:
    """The word, and those of the eleven binary features of the papers that hold, per token."""
    words = sorted({word for sentence in X for word in sentence})
    holds = spelling_table(words, SIMPLE_FEATURES).codes == 1
    attributes = {
        word: [f"word={word}", *(f for f, held in zip(SIMPLE_FEATURES, row, strict=True) if held)]
        for word, row in zip(words, holds, strict=True)
    }
    return [[attributes[word] for word in sentence] for sentence in X]


def _import_crfsuite():
    try:
        import pycrfsuite
    except ImportError:
        sys.exit("The comparison needs python-crfsuite: pip install python-crfsuite")
    return pycrfsuite
