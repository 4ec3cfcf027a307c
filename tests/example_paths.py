"""Random labelled sequences, and every path of theirs with its features, by definition."""

from itertools import pairwise, product
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

from sklearn_crcrf.linear import Coefficients, Corpus, Examples
from sklearn_crcrf.structures import Chain


class Case(NamedTuple):
    """Sequences, what has weights, and what is impossible."""

    corpus: Corpus
    edge_attributes: np.ndarray
    boundaries: bool
    forbidden: tuple

    @property
    def n_labels(self):
        return len(self.forbidden[1])

    def examples(self):
        return Examples.of(*self)

    def features(self, s, path):
        """How often a path uses each weight, in one dimension."""
        X, n = self.corpus.X.toarray(), self.n_labels
        start, length = self.corpus.offsets[s], len(path)
        state = np.zeros((X.shape[1] + 2 * self.boundaries, n))
        pairs = np.zeros((1 + len(self.edge_attributes), n, n))
        for t, j in enumerate(path):
            x = X[start + t]
            state[: len(x), j] += x
            if self.boundaries:
                state[len(x) :, j] += [t == 0, t == length - 1]
            if t:
                pairs[:, j, path[t - 1]] += [1.0, *x[self.edge_attributes]]
        return np.concatenate([state.ravel(), pairs.ravel()])

    def gold(self, s):
        return tuple(self.corpus.y[self.corpus.offsets[s] : self.corpus.offsets[s + 1]])

    def paths(self, s):
        """The possible paths of a sequence."""
        transition, begin, end = self.forbidden
        for path in product(range(self.n_labels), repeat=len(self.gold(s))):
            scores = [transition[pair] for pair in pairwise(path)]
            if path:
                scores += [begin[path[0]], end[path[-1]]]
            if not np.isneginf(scores).any():
                yield path

    def wrong(self, s, path):
        return sum(a != b for a, b in zip(path, self.gold(s), strict=True))

    def best(self, s, w, cost):
        """The best paths of a sequence with the cost of wrong labels, and their value."""
        paths = list(self.paths(s))
        values = [self.features(s, path) @ w + cost * self.wrong(s, path) for path in paths]
        top = max(values)
        return [p for p, v in zip(paths, values, strict=True) if np.isclose(v, top)], top


def flat(coefficients):
    """All weights in one dimension."""
    return np.concatenate([part.ravel() for part in coefficients]).astype(float)


def shaped(w, like):
    """The inverse."""
    size = like.state.size
    state = w[:size].reshape(like.state.shape).astype(like.state.dtype)
    return Coefficients(state, w[size:].reshape(like.pairs.shape).copy())


def make_case(
    rng, n_labels, lengths, n_attributes, *, edges=0.0, boundaries=False, constrained=False, dtype
):
    """Sequences of small whole numbers, so that sums are exact."""
    offsets, shape = np.append(0, np.cumsum(lengths)), (sum(lengths), n_attributes)
    X = rng.integers(-2, 3, size=shape) * (rng.random((shape[0], 1)) < 0.8)
    y = rng.integers(n_labels, size=shape[0]).astype(np.int32)
    forbidden = np.zeros((n_labels, n_labels)), np.zeros(n_labels), np.zeros(n_labels)
    if constrained:
        _forbid(rng, forbidden, y, offsets)
    weight = rng.integers(1, 4, size=len(lengths)).astype(float)
    corpus = Corpus(sp.csr_array(X.astype(dtype)), y, Chain(offsets), weight)
    return Case(corpus, np.flatnonzero(rng.random(n_attributes) < edges), boundaries, forbidden)


@st.composite
def cases(draw, dtypes=(np.float64, np.float32)):
    """A few short sequences."""
    return make_case(
        np.random.default_rng(draw(st.integers(0, 2**32 - 1))),
        draw(st.integers(1, 3)),
        draw(st.lists(st.integers(0, 3), min_size=1, max_size=5)),
        draw(st.integers(1, 4)),
        edges=draw(st.sampled_from([0.0, 0.5])),
        boundaries=draw(st.booleans()),
        constrained=draw(st.booleans()),
        dtype=draw(st.sampled_from(dtypes)),
    )


def _forbid(rng, forbidden, y, offsets):
    """Some transitions and ends, but none of the gold paths."""
    used = [np.zeros(scores.shape, dtype=bool) for scores in forbidden]
    for start, stop in pairwise(offsets):
        for pair in pairwise(y[start:stop]):
            used[0][pair] = True
        if start < stop:
            used[1][y[start]] = used[2][y[stop - 1]] = True
    for scores, needed in zip(forbidden, used, strict=True):
        scores[~needed & (rng.random(scores.shape) < 0.4)] = -np.inf
