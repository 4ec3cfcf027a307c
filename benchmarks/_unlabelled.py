"""What unlabelled sentences add to a few labelled ones."""

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from _report import Report

from sklearn_crcrf import HMM, EmpiricalCRF, SemiSupervisedClassifier

Corpus = tuple[list, list]

LABELLED, N_UNLABELLED, N_TEST = (100, 300, 1_000), 2_000, 1_000
ESTIMATORS: dict[str, Callable[[], Any]] = {"EmpiricalCRF": EmpiricalCRF, "HMM": HMM}
WAYS: dict[str, dict[str, Any]] = {
    "best, 1": {"fill": "best", "n_iter": 1},
    "best, 3": {"fill": "best", "n_iter": 3},
    "expected, 1": {"fill": "expected", "n_iter": 1},
    "expected, 3": {"fill": "expected", "n_iter": 3},
}


def compare(report: Report, corpora: dict[str, tuple[Corpus, Corpus, Callable]]) -> None:
    """Labelled sentences alone, and with others that have no labels.

    Parameters
    ----------
    report : Report
    corpora : dict
        A training part, a test part and a metric.
    """
    columns = ["corpus", "estimator", "labelled sentences", "alone", *WAYS]
    title = f"Per cent right, with {N_UNLABELLED:,} unlabelled sentences, by fill and n_iter"
    report.table(title, columns, (row for name in corpora for row in rows(name, *corpora[name])))


def rows(name: str, train: Corpus, test: Corpus, metric: Callable) -> Iterator[list[str]]:
    """Rows of a corpus, whose sentences are in random order."""
    order = np.random.default_rng(0).permutation(len(train[0])).tolist()
    X, y = ([part[i] for i in order] for part in train)
    X_test, y_test = (part[:N_TEST] for part in test)
    for of_estimator, make in ESTIMATORS.items():
        for n in (n for n in LABELLED if n < len(X)):
            end = n + N_UNLABELLED
            known = y[:n] + [[None] * len(labels) for labels in y[n:end]]
            figures = [make().fit(X[:n], y[:n])]
            with warnings.catch_warnings():  # of what is measured here
                warnings.simplefilter("ignore", UserWarning)
                figures += [
                    SemiSupervisedClassifier(make(), **way).fit(X[:end], known)
                    for way in WAYS.values()
                ]
            scores = [100 * metric(y_test, model.predict(X_test)) for model in figures]
            yield [name, of_estimator, f"{n:,}", *(f"{score:.2f}" for score in scores)]
