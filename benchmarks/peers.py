"""Programs that label sequences, each as its tutorial does, compared on three corpora."""

import argparse
import os
from collections.abc import Callable, Iterator, Sequence

from _common import begin  # before numpy

# isort: split
import _peers
from _peers import Trained, with_size
from corpora import lattice
from exponents import TAGGED, WORDS, Part
from sklearn.base import BaseEstimator

from sklearn_crcrf import CRF, EmpiricalCRF, make_sequence_pipeline, text_features
from sklearn_crcrf.metrics import segment_f1, token_accuracy

CORPORA = {
    "Dutch names, tags": (TAGGED["Dutch names, tags"], "names"),
    "chunks, tags": (TAGGED["chunks, tags"], "chunks"),
    "Brown": (WORDS["Brown"], "tags"),
}
COLUMNS = ["program", "accuracy", "F1", "CPU s of training", "MB of model", "us per sentence"]


def crf(kind: str) -> BaseEstimator:
    """A CRF with the attributes that suit a kind of labels."""
    options = {"features": "observed", "sigma": 5.0, "dtype": "float32"}
    return make_sequence_pipeline(text_features(kind), CRF(**options))


def ours(model: Callable[[str], BaseEstimator], kind: str) -> Callable[..., Trained]:
    """Train a model of this package on the tokens as they are."""
    return lambda X, y: with_size(model(kind).fit(X, y))


OURS = {
    "EmpiricalCRF()": lambda kind: EmpiricalCRF(),
    'EmpiricalCRF(exponents="fit")': lambda kind: EmpiricalCRF(exponents="fit"),
    "text_features, CRF": crf,
    "LatticeCRF": lattice,
}
PEERS: dict[str, Callable[[Sequence, Sequence], Trained]] = {
    "python-crfsuite, its example": _peers.python_crfsuite,
    "sklearn-crfsuite, its tutorial": _peers.sklearn_crfsuite,
    "CRFsuiteCRF, the same": _peers.drop_in,
    "spaCy, blank": _peers.spacy_blank,
    "CRF++": _peers.crfpp,
    "Wapiti": _peers.wapiti,
    "BiLSTM, pytorch-crf": _peers.bilstm_crf,
    "NLTK, perceptron": _peers.nltk_perceptron,
}


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("peers.py", description=__doc__)
    parser.add_argument("--corpora", nargs="+", choices=CORPORA, default=[*CORPORA], help="all")
    parser.add_argument("--programs", nargs="+", choices=OURS | PEERS, default=[*OURS, *PEERS])
    note = (
        "features and parameters of the programs that derive from CRFsuite are those of their "
        "tutorials: the word in lower case, two suffixes, case, digits, the part of speech if the "
        "corpus has one, and the same of both neighbours; neural networks begin with random "
        "weights, and see the training part ten times; CRF++ and Wapiti have the templates of the "
        "chunks of CRF++; hmmlearn does not learn from labels, and is not compared; sentences are "
        "labelled one by one, by CRF++, Wapiti and LatticeCRF all at once"
    )
    args = begin(parser, argv, note)
    for name in args.corpora:
        corpus, kind = CORPORA[name]
        train, test = corpus.load(args)
        title = f"{name}, {sum(map(len, train[0])):,} tokens for training"
        programs = {**{n: ours(model, kind) for n, model in OURS.items()}, **PEERS}
        chosen = {n: program for n, program in programs.items() if n in args.programs}
        args.report.table(title, COLUMNS, rows(chosen, train, test, corpus.segments))


def rows(
    programs: dict[str, Callable[..., Trained]], train: Part, test: Part, segments: bool
) -> Iterator[list[str]]:
    """Train and test each program that is installed."""
    X, y = test
    for name, program in programs.items():
        start = cpu()
        try:
            trained = program(*train)
        except ImportError as error:
            yield [name, *[""] * 4, f"not run: {error}"]
            continue
        except TimeoutError as error:
            yield [name, "", "", str(error), "", ""]
            continue
        seconds, start = cpu() - start, cpu()
        predicted = trained.label(X)
        each = (cpu() - start) / len(X)
        f1 = f"{100 * segment_f1(y, predicted):.2f}" if segments else ""
        figures = [f"{seconds:.1f}", f"{trained.size / 1e6:.1f}", f"{1e6 * each:.0f}"]
        yield [name, f"{100 * token_accuracy(y, predicted):.2f}", f1, *figures]


def cpu() -> float:
    """Return the CPU seconds of this process and of the programs that it ran."""
    return sum(os.times()[:4])


if __name__ == "__main__":
    main()
