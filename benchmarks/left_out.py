"""Counts that are subtracted: learning, forgetting, settings, wrong labels; and annotators."""

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median
from typing import Any, NamedTuple

from _common import begin, corpus_file, cpu_seconds, load_splits, yes_or_no  # before numpy

# isort: split
import _annotators
import _unlabelled
import numpy as np
from sklearn.metrics import average_precision_score
from sklearn.model_selection import GridSearchCV, LeaveOneOut

from sklearn_crcrf import EmpiricalCRF, EmpiricalCRFCV, find_label_issues
from sklearn_crcrf.datasets import fetch_conll2002, read_conll
from sklearn_crcrf.labels import Segments, segments_to_labels, to_segments
from sklearn_crcrf.metrics import get_sequence_scorer, segment_f1, token_accuracy

Sentences = tuple[list, list]

SIZES = (500, 2_000, 15_000, 150_000)
N_TIMES = 20
MOST_MS = 1.0
# Of how many sentences the predictions left out are compared with fits without them, and how close
# they must be.
N_FITS, CLOSE = 200, 1e-10
GRID = {"sigma": [0.5, 1.0, 2.0], "mu_oov": [0.5, 1.0, 2.0]}
TYPES = ("PER", "LOC", "ORG", "MISC")
SPOILED = 0.03


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("left_out.py", description=__doc__)
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=[*TABLES], help="all")
    parser.add_argument(
        "--sizes", nargs="+", type=int, default=SIZES, help="of models that learn a sentence"
    )
    parser.add_argument("--fits", type=int, default=N_FITS, help="that are compared")
    args = begin(
        parser, argv, "Sentences are of the Dutch part of CoNLL-2002, unless a row names a corpus."
    )
    for name in args.tables:
        TABLES[name](args)


def one_by_one(args: argparse.Namespace) -> None:
    """A model learns, or forgets, one sentence, and labels one."""
    columns = [
        "sentences",
        "fit and label, ms",
        "learn one and label one, ms",
        "forget one and label one, ms",
        f"target: {MOST_MS:.0f} ms",
    ]
    args.report.table("One sentence at a time", columns, map(partial(at_once, args), args.sizes))


def at_once(args: argparse.Namespace, n: int) -> list[str]:
    """Milliseconds of a fit, and medians of learning and of forgetting."""
    X, y = repeated(dutch("train", args), n + N_TIMES)
    crf = EmpiricalCRF()
    fitted = seconds_until_labelled(crf.fit, X[:n], y[:n])
    learned, forgotten = (
        median(seconds_until_labelled(change, [X[i]], [y[i]]) for i in range(n, n + N_TIMES))
        for change in (crf.partial_fit, crf.forget)
    )
    met = yes_or_no(1000 * max(learned, forgotten) <= MOST_MS)
    return [f"{n:,}", *(f"{1000 * t:.2f}" for t in (fitted, learned, forgotten)), met]


def seconds_until_labelled(change: Callable[..., EmpiricalCRF], X: list, y: list) -> float:
    """CPU time of a change of a model, and of labelling a sentence."""
    return cpu_seconds(lambda: change(X, y).predict(X[:1]))[0]


def repeated(corpus: Sentences, n: int) -> Sentences:
    """The first n sentences; after the last one, the first follow again with other rare words."""
    X, y = corpus
    words, counts = np.unique(np.concatenate(X), return_counts=True)
    rare = set(words[counts <= 2].tolist())
    copies = [divmod(i, len(X)) for i in range(n)]
    return [
        [f"{word}{copy}" if copy and word in rare else word for word in X[i]] for copy, i in copies
    ], [y[i] for _, i in copies]


def all_left_out(args: argparse.Namespace) -> None:
    """Each sentence left out by itself: probabilities of all labels."""
    X, y = dutch("train", args)
    columns = ["folds", "CPU s", "F1 of these labels", "largest difference from fits", "fits"]
    args.report.table(
        "Probabilities of all labels, by models of the other folds",
        columns,
        (labels_of_folds(args, (X, y), name, cv) for name, cv in FOLDS.items()),
    )


FOLDS: dict[str, Any] = {"five": 5, "each sentence by itself": LeaveOneOut()}


def labels_of_folds(args: argparse.Namespace, corpus: Sentences, name: str, cv: Any) -> list[str]:
    """A row: CPU time, F1, and whether fits without the sentences say the same."""
    X, y = corpus
    left_out = partial(EmpiricalCRF().predict_out_of_fold, X, y, cv)
    seconds, probabilities = cpu_seconds(partial(left_out, method="predict_proba"))
    f1 = f"{100 * segment_f1(y, left_out()):.2f}"
    if not isinstance(cv, LeaveOneOut):
        return [name, f"{seconds:.1f}", f1, "", ""]
    classes = np.unique(np.concatenate(y))
    chosen = np.linspace(0, len(X) - 1, min(args.fits, len(X))).astype(int).tolist()
    differences = [0.0]
    for i in chosen:
        crf = EmpiricalCRF().fit(X[:i] + X[i + 1 :], y[:i] + y[i + 1 :])
        own = np.array([*probabilities[i]])[:, np.isin(classes, crf.classes_)]
        differences.append(np.abs(own - crf.predict_proba([X[i]])[0]).max(initial=0.0))
    return [name, f"{seconds:.1f}", f1, f"{max(differences):.0e}", str(len(chosen))]


def grid(args: argparse.Namespace) -> None:
    """Settings chosen by sentences left out, and by folds."""
    train, test = dutch("train", args), dutch("testb", args)
    scoring = get_sequence_scorer("segment_f1")
    settings = {f"{name}s": values for name, values in GRID.items()}
    searches = {
        "EmpiricalCRFCV, each sentence left out": EmpiricalCRFCV(**settings, scoring=scoring),
        "EmpiricalCRFCV, five folds": EmpiricalCRFCV(**settings, scoring=scoring, cv=5),
        "GridSearchCV, five folds": GridSearchCV(EmpiricalCRF(), GRID, scoring=scoring, cv=5),
    }
    columns = ["search", "CPU s", "sigma", "mu_oov", "F1 of the search", "F1 on testb"]
    rows = (searched(name, search, train, test) for name, search in searches.items())
    args.report.table("Nine settings, by the F1 of names", columns, rows)
    found = [
        segment_f1(test[1], EmpiricalCRF(sigma=sigma, mu_oov=mu_oov).fit(*train).predict(test[0]))
        for sigma in GRID["sigma"]
        for mu_oov in GRID["mu_oov"]
    ]
    least, most = 100 * min(found), 100 * max(found)
    args.report.remark(f"On testb the nine settings have an F1 of {least:.2f} to {most:.2f}.")


def searched(name: str, search: Any, train: Sentences, test: Sentences) -> list[str]:
    """A row: CPU time, and what was chosen."""
    seconds, search = cpu_seconds(partial(search.fit, *train))
    best = search.cv_results_["params"][int(np.argmax(search.cv_results_["mean_test_score"]))]
    f1 = segment_f1(test[1], search.predict(test[0]))
    chosen = [f"{best[name]:g}" for name in GRID]
    scores = [f"{100 * value:.2f}" for value in (search.best_score_, f1)]
    return [name, f"{seconds:.1f}", *chosen, *scores]


class Spoiled(NamedTuple):
    """Sentences, some of which have wrong labels."""

    X: list[list[str]]
    y: list[list[str]]
    is_wrong: np.ndarray


def wrong_labels(args: argparse.Namespace) -> None:
    """Sentences with a wrong label are found by the least probability of their labels."""
    corpus = spoiled(dutch("train", args))
    n = int(corpus.is_wrong.sum())
    columns = ["by", "CPU s", "average precision", f"wrong of the first {n}", f"found in {2 * n}"]
    title = f"{n} of {len(corpus.X):,} sentences with a wrong label"
    args.report.table(title, columns, (found_by(by, corpus) for by in FINDERS))


def spoiled(corpus: Sentences) -> Spoiled:
    """One name of some sentences has a wrong type or end, is missing, or none."""
    X, y = corpus
    rng, z = np.random.default_rng(0), [list(labels) for labels in y]
    have = [i for i, labels in enumerate(y) if {*labels} != {"O"} and labels]
    for i in rng.choice(have, int(SPOILED * len(X)), replace=False):
        _, start, end, kind = (values.tolist() for values in to_segments([y[i]]))
        names = [*zip(start, end, kind, strict=True)]
        k, how = rng.integers(len(names)), rng.integers(4)
        begin, stop, own = names[k]
        if how == 1:
            del names[k]
        elif how == 2 and stop - begin > 1:
            names[k] = (begin + 1, stop, own) if rng.random() < 0.5 else (begin, stop - 1, own)
        elif how < 3:
            names[k] = begin, stop, rng.choice([other for other in TYPES if other != own])
        else:
            free = [
                t
                for t, (word, label) in enumerate(zip(X[i], y[i], strict=True))
                if label == "O" and word.isalpha()
            ]
            if not free:
                continue
            t = rng.choice(free)
            names = sorted([*names, (t, t + 1, rng.choice(TYPES))])
        columns = [np.array(values) for values in zip(*names, strict=True)] or [np.empty(0)] * 3
        z[i] = segments_to_labels(
            Segments(np.zeros(len(names), dtype=int), *columns), [len(X[i])]
        ).tolist()[0]
    return Spoiled(X, z, np.array([a != list(b) for a, b in zip(z, y, strict=True)]))


def found_by(by: str, corpus: Spoiled) -> list[str]:
    """A row: the quality of a ranking of sentences."""
    seconds, doubt = cpu_seconds(partial(FINDERS[by], corpus))
    n, order = int(corpus.is_wrong.sum()), np.argsort(-doubt, kind="stable")
    found = corpus.is_wrong[order]
    shares = (
        average_precision_score(corpus.is_wrong, doubt),
        found[:n].mean(),
        found[: 2 * n].sum() / n,
    )
    return [by, f"{seconds:.1f}", *(f"{100 * share:.1f}" for share in shares)]


def doubt_in_sample(corpus: Spoiled) -> np.ndarray:
    """By a model that has seen the labels."""
    crf = EmpiricalCRF().fit(corpus.X, corpus.y)
    place = {label: j for j, label in enumerate(crf.classes_.tolist())}
    probabilities = crf.predict_proba(corpus.X)
    return np.array(
        [
            -min((p[j] for p, j in zip(own, map(place.get, labels), strict=True)), default=1.0)
            for own, labels in zip(probabilities, corpus.y, strict=True)
        ]
    )


def doubt_out_of_fold(cv: Any, corpus: Spoiled) -> np.ndarray:
    """By models of the other folds."""
    crf = EmpiricalCRF()
    given = crf.predict_out_of_fold(corpus.X, corpus.y, cv, method="log_proba")
    return np.array([-min(own, default=0.0) for own in given.tokens])


def doubt_of_issues(corpus: Spoiled) -> np.ndarray:
    """By the least probable label, segment or missing segment of each sentence."""
    issues = find_label_issues(EmpiricalCRF(), corpus.X, corpus.y)
    doubt = np.full(len(corpus.X), -np.inf)
    np.maximum.at(doubt, issues.sequence, -issues.probability)
    return np.maximum(doubt, -1.0)


FINDERS: dict[str, Callable[[Spoiled], np.ndarray]] = {
    "a model that has seen the labels": doubt_in_sample,
    "five folds": partial(doubt_out_of_fold, 5),
    "each sentence left out": partial(doubt_out_of_fold, LeaveOneOut()),
    "find_label_issues": doubt_of_issues,
}


def dutch(part: str, args: argparse.Namespace) -> Sentences:
    """Words and labels."""
    X, y = fetch_conll2002(part, return_X_y=True, download_if_missing=args.download)
    words = [[token["word"] for token in sentence] for sentence in X[: args.sentences]]
    return words, y[: args.sentences]


def german(part: str, args: argparse.Namespace) -> Sentences:
    """Words and labels."""
    X, y = read_conll(corpus_file(f"germeval2014-{part}.tsv.gz"), ["word", "label"])
    assert y is not None
    return X[: args.sentences], y[: args.sentences]


def annotators(args: argparse.Namespace) -> None:
    """Labels of several annotators."""
    corpora = {
        "Dutch": (dutch("train", args), dutch("testb", args)),
        "German": (german("dev", args), german("test", args)),
    }
    _annotators.compare(args.report, corpora)


def unlabelled(args: argparse.Namespace) -> None:
    """A few labelled sentences, and many without labels."""
    brown = load_splits("17311-16312", args)
    corpora: dict[str, tuple[Sentences, Sentences, Callable]] = {
        "Dutch names": (dutch("train", args), dutch("testb", args), segment_f1),
        "English tags": (english("train", args), english("test", args), token_accuracy),
        "Brown tags": (brown.train, brown.test, token_accuracy),
    }
    _unlabelled.compare(args.report, corpora)


def english(part: str, args: argparse.Namespace) -> Sentences:
    """Words and parts of speech."""
    columns = ["word", "label", None, None]
    X, y = read_conll(corpus_file(f"ud-en_ewt-{part}.tsv.gz"), columns)
    assert y is not None
    return X[: args.sentences], y[: args.sentences]


TABLES: dict[str, Callable[[argparse.Namespace], None]] = {
    "one_by_one": one_by_one,
    "left_out": all_left_out,
    "grid": grid,
    "wrong_labels": wrong_labels,
    "annotators": annotators,
    "unlabelled": unlabelled,
}


if __name__ == "__main__":
    main()
