"""Accuracy by the number of sentences: models that are counted, and models that are iterated."""

import argparse
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from _common import begin  # before numpy

# isort: split
import numpy as np
from _crfsuite import simple_attributes
from corpora import kind_of
from exponents import WORDS, Part
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sklearn_crcrf import CRF, CRFsuiteCRF, EmpiricalCRF, text_features
from sklearn_crcrf.metrics import segment_f1, token_accuracy

SIZES = (250, 500, 1000, 2000, 4000, 8000, 16000)


def of_the_papers(sigma: float) -> Callable[[str], Any]:
    """An iterated CRF with the word and the spelling features of the papers."""
    crf = CRFsuiteCRF(c1=0.0, c2=0.5 / sigma**2)
    return lambda kind: make_pipeline(FunctionTransformer(simple_attributes), crf)


def rich(sigma: float) -> Callable[[str], Any]:
    """An iterated CRF with the attributes that suit a kind of labels."""
    crf = CRF(features="observed", dtype="float32", sigma=sigma)
    return lambda kind: make_pipeline(text_features(kind), crf)


COUNTED = {
    "EmpiricalCRF.ecrn()": lambda kind: EmpiricalCRF.ecrn(),
    "EmpiricalCRF()": lambda kind: EmpiricalCRF(),
}
ITERATED = {
    "CRF, features of the papers, sigma=1": of_the_papers(1.0),
    "CRF, features of the papers, sigma=5": of_the_papers(5.0),
    "CRF, text_features, sigma=1": rich(1.0),
    "CRF, text_features, sigma=5": rich(5.0),
}
Curves = dict[str, list[float]]


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("learning_curves.py", description=__doc__)
    parser.add_argument("--corpora", nargs="+", choices=WORDS, default=[*WORDS], help="all")
    parser.add_argument("--sizes", nargs="+", type=int, default=[*SIZES], help="sentences")
    note = "all parameters have their defaults, unless a row says otherwise; nothing is tuned"
    args = begin(parser, argv, note)
    for name in args.corpora:
        train, test = WORDS[name].load(args)
        sizes = [n for n in args.sizes if n < len(train[0])] + [len(train[0])]
        score = segment_f1 if WORDS[name].segments else token_accuracy
        curves = {
            title: [100 * score(test[1], _fitted(model, n, train).predict(test[0])) for n in sizes]
            for title, model in models(kind_of(name))
        }
        title = f"{name}: {'F1 of segments' if score is segment_f1 else 'accuracy'}"
        columns = ["model", *(f"{n:,} sentences" for n in sizes)]
        args.report.table(title, columns, curve_rows(curves))
        columns = ["iterated model", *(f"overtakes {counted} at" for counted in COUNTED)]
        title = f"{name}: where iterated models overtake"
        args.report.table(title, columns, meetings(curves, sizes))


def models(kind: str) -> Iterator[tuple[str, Any]]:
    """All models, with their titles."""
    for title, model in (COUNTED | ITERATED).items():
        yield title, model(kind)


def _fitted(model: Any, n: int, train: Part) -> Any:
    return model.fit(train[0][:n], train[1][:n])


def curve_rows(curves: Curves) -> Iterator[list[str]]:
    """A row for each model."""
    for title, scores in curves.items():
        yield [title, *(f"{score:.2f}" for score in scores)]


def meetings(curves: Curves, sizes: Sequence[int]) -> Iterator[list[str]]:
    """From where on each iterated model is better than each counted model."""
    for title in ITERATED:
        better = (np.subtract(curves[title], curves[counted]) for counted in COUNTED)
        yield [title, *(meeting(gain, sizes) for gain in better)]


def meeting(gain: np.ndarray, sizes: Sequence[int]) -> str:
    """The number of sentences from which on a gain is positive.

    Between two sizes the gain is taken to change linearly with the logarithm of the size.
    """
    if gain[-1] <= 0:
        return f"not with {sizes[-1]:,} sentences"
    worse = np.flatnonzero(gain <= 0)
    if len(worse) == 0:
        return f"{sizes[0]:,} sentences or fewer"
    k = worse[-1]
    low, high = np.log(sizes[k : k + 2])
    size = np.exp(low + (high - low) * -gain[k] / (gain[k + 1] - gain[k]))
    return f"{round(size, -1):,.0f} sentences"


if __name__ == "__main__":
    main()
