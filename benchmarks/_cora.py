"""Topics of the papers of Cora, which cite each other: collective classification."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from _common import corpus_file, cpu_seconds, yes_or_no
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize

from sklearn_crcrf import AssociativeMarkovNetwork, EmpiricalCRF, GraphArray, GraphCRF, SeparateCRF

# Least accuracy, and most seconds of a split.
TARGETS = {
    "SeparateCRF": (87.2, 10.0),
    "GraphCRF, pseudo-likelihood": (85.0, np.inf),
    "AssociativeMarkovNetwork": (85.0, np.inf),
}
# What is tried as C of logistic regression, whose rows sum to 1.
STRENGTHS = (30.0, 100.0, 300.0, 1000.0)


class Cora(NamedTuple):
    """The papers: their words, citations, topics, and the parts of each split."""

    graph: GraphArray
    y: np.ndarray
    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray


def load_cora() -> Cora:
    """The corpus."""
    arrays = np.load(corpus_file("cora.npz"))
    ones = np.ones(len(arrays["indices"]))
    words = sp.csr_array((ones, arrays["indices"], arrays["indptr"]), tuple(arrays["shape"]))
    graph = GraphArray.from_edges([words], [arrays["edges"]])
    parts = (arrays[f"split_{part}"] for part in ("train", "val", "test"))
    return Cora(graph, arrays["y"], *parts)


def methods() -> dict[str, Callable[[], Any]]:
    """Estimators of graphs, with their defaults but for what edges mean."""
    return {
        "SeparateCRF": SeparateCRF,
        "GraphCRF, pseudo-likelihood": lambda: GraphCRF(symmetric=True),
        "GraphCRF, pseudo-likelihood, associative": lambda: GraphCRF(associative=True),
        "AssociativeMarkovNetwork": AssociativeMarkovNetwork,
        "EmpiricalCRF": EmpiricalCRF,
    }


def cora_rows(n_splits: int) -> Iterator[list[str]]:
    """Mean accuracy of test papers, given the topics of training papers; CPU time of a split."""
    cora = load_cora()
    alone = [words_alone(cora, k) for k in range(n_splits)]
    yield row("logistic regression, C chosen on validation", alone)
    for name, make in methods().items():
        yield row(name, [with_citations(cora, k, make) for k in range(n_splits)])


def words_alone(cora: Cora, split: int) -> tuple[float, float]:
    """CPU seconds and accuracy of a classifier that sees no citations.

    All papers weigh the same, and C is chosen on the validation part.
    """
    train, validation, test = cora.train[split], cora.validation[split], cora.test[split]
    words = normalize(cora.graph.data, norm="l1")

    def fit_best() -> LogisticRegression:
        models = [
            LogisticRegression(C=c, max_iter=1000).fit(words[train], cora.y[train])
            for c in STRENGTHS
        ]
        return max(models, key=lambda model: model.score(words[validation], cora.y[validation]))

    seconds, model = cpu_seconds(fit_best)
    return seconds, 100 * float(model.score(words[test], cora.y[test]))


def with_citations(cora: Cora, split: int, make: Callable[[], Any]) -> tuple[float, float]:
    """CPU seconds and accuracy of an estimator of graphs."""
    train, test = cora.train[split], cora.test[split]
    known = [[int(topic) if t else None for topic, t in zip(cora.y, train, strict=True)]]

    def label() -> np.ndarray:
        return make().fit(cora.graph, known).predict(cora.graph, allowed=known)[0]

    seconds, found = cpu_seconds(label)
    return seconds, 100 * float((found == cora.y)[test].mean())


def row(name: str, results: list[tuple[float, float]]) -> list[str]:
    seconds, accuracy = np.mean(results, axis=0)
    cells = [name, f"{accuracy:.2f}", f"{seconds:.1f}"]
    if name not in TARGETS:
        return [*cells, "", ""]
    least, most = TARGETS[name]
    limit = f", <= {most:.0f} s" if np.isfinite(most) else ""
    return [*cells, f">= {least}{limit}", yes_or_no(accuracy >= least and seconds <= most)]
