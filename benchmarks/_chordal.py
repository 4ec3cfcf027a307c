"""Made-up chordal graphs, in which two linked labels say something of the third one."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from _common import cpu_seconds

from sklearn_crcrf import EmpiricalCRF, GraphArray

N_TRAIN, N_TEST, N_TOKENS, N_SEEDS = 300, 300, 12, 3
# Shares of labels that follow the rule, and of words that tell the label for certain.
FOLLOWS, CERTAIN = 0.9, 0.5

METHODS = {
    "single nodes": {"exponents": {"edges": 0.0, "cliques": 0.0}},
    "rates of edges, exponent 0.5": {"inference": "loopy"},
    "rates of edges, exponent 1": {"inference": "loopy", "exponents": {"edges": 1.0}},
    "rates of edges and triangles, exact sums": {},
}


def sum_of_both(a: int, b: int, rng: np.random.Generator) -> int:
    """Two labels of a triangle are independent of each other; only all three are not."""
    return (a + b) % 2


def label_of_both(a: int, b: int, rng: np.random.Generator) -> int:
    """The label of both, if these are equal."""
    return a if a == b else int(rng.integers(2))


RULES = {"the sum of both, modulo 2": sum_of_both, "the label of both": label_of_both}


def make_graphs(rule: Callable, n: int, seed: int) -> tuple[GraphArray, list[list[int]]]:
    """Graphs that grow by tokens which are linked to both ends of an edge."""
    rng, words, edges, labels = np.random.default_rng(seed), [], [], []
    for _ in range(n):
        y, ends = rng.integers(2, size=2).tolist(), [(0, 1)]
        for token in range(2, N_TOKENS):
            a, b = ends[rng.integers(len(ends))]
            ends += [(a, token), (b, token)]
            follows = rng.random() < FOLLOWS
            y.append(rule(y[a], y[b], rng) if follows else int(rng.integers(2)))
        seen = np.where(rng.random(N_TOKENS) < CERTAIN, y, rng.integers(2, size=N_TOKENS))
        words.append([f"word {label}" for label in seen])
        edges.append([tuple(rng.permutation(pair).tolist()) for pair in ends])
        labels.append(y)
    return GraphArray.from_edges(words, edges), labels


def chordal_rows() -> Iterator[list[str]]:
    """Mean accuracy, and CPU time of training and labelling."""
    for title, rule in RULES.items():
        parts = [
            (make_graphs(rule, N_TRAIN, seed), make_graphs(rule, N_TEST, N_SEEDS + seed))
            for seed in range(N_SEEDS)
        ]
        for name, parameters in METHODS.items():
            results = [cpu_seconds(partial(accuracy, parameters, *part)) for part in parts]
            seconds, mean = np.mean(results, axis=0)
            yield [title, name, f"{100 * mean:.1f}", f"{seconds:.2f}"]


def accuracy(parameters: dict, train: tuple, test: tuple) -> float:
    """Of the labels of all tokens."""
    return EmpiricalCRF(**parameters).fit(*train).score(*test)
