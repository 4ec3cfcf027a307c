"""Programs that label sequences, each as its tutorial does, compared on three corpora."""

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from _common import begin, cpu_seconds  # before numpy

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
N_TAGGED = 1000  # sentences that are labelled one by one
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
        "weights, and see the training part ten times; not compared are CRF++ and Wapiti, which no "
        "index of packages has, and hmmlearn, which does not learn from labels"
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
        try:
            seconds, trained = cpu_seconds(partial(program, *train))
        except ImportError as error:
            yield [name, *[""] * 4, f"not run: {error}"]
            continue
        start = time.process_time()
        predicted = [[*trained.tag(sentence)] for sentence in X[:N_TAGGED]]
        each = (time.process_time() - start) / len(predicted)
        predicted += [[*trained.tag(sentence)] for sentence in X[N_TAGGED:]]
        f1 = f"{100 * segment_f1(y, predicted):.2f}" if segments else ""
        figures = [f"{seconds:.1f}", f"{trained.size / 1e6:.1f}", f"{1e6 * each:.0f}"]
        yield [name, f"{100 * token_accuracy(y, predicted):.2f}", f1, *figures]


if __name__ == "__main__":
    main()
