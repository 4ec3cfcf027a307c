"""Random labelled units, and every labelling of theirs with its features, by definition."""

from itertools import pairwise, product
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from enumerated import Enumerated
from hypothesis import strategies as st

from sklearn_crcrf.linear.corpus import Corpus
from sklearn_crcrf.linear.examples import Coefficients, Examples
from sklearn_crcrf.linear.message_order import MessageOrder
from sklearn_crcrf.structures import Chain


class Case(NamedTuple):
    """Units, what has weights, and what is impossible."""

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
        """How often a labelling uses each weight, in one dimension."""
        X, n, start = self.corpus.X.toarray(), self.n_labels, self.corpus.offsets[s]
        links, first, last = self.links(s)
        state = np.zeros((X.shape[1] + 2 * self.boundaries, n))
        pairs = np.zeros((1 + len(self.edge_attributes), n, n))
        for t, j in enumerate(path):
            x = X[start + t]
            state[: len(x), j] += x
            if self.boundaries:
                state[len(x) :, j] += [t in first, t in last]
        for a, b in links:
            pairs[:, path[b], path[a]] += [1.0, *X[start + b, self.edge_attributes]]
        return np.concatenate([state.ravel(), pairs.ravel()])

    def gold(self, s):
        return tuple(self.corpus.y[self.corpus.offsets[s] : self.corpus.offsets[s + 1]])

    def links(self, s):
        """The links of a unit, by positions, and the tokens without a link into or out of them."""
        start, stop = self.corpus.offsets[s : s + 2]
        structure = self.corpus.structure
        links = [(a - start, b - start) for a, b in zip(*structure.links(), strict=True)]
        ends = (structure.first_tokens() - start, structure.last_tokens() - start)
        inside = range(stop - start)
        return [pair for pair in links if pair[0] in inside], *(set(inside) & set(e) for e in ends)

    def paths(self, s):
        """The possible labellings of a unit."""
        (transition, begin, end), (links, first, last) = self.forbidden, self.links(s)
        for path in product(range(self.n_labels), repeat=len(self.gold(s))):
            scores = [transition[path[a], path[b]] for a, b in links]
            scores += [begin[path[t]] for t in first] + [end[path[t]] for t in last]
            if not np.isneginf(scores).any():
                yield path

    def taken(self, s, paths):
        """Which of equally good labellings a search takes: lowest labels from the last to the first
        token of a chain, from the roots to the leaves of a tree."""
        order = MessageOrder.of(self.corpus.structure).order
        last_first = order[self.corpus.offsets[s] : self.corpus.offsets[s + 1]][::-1]
        return min(paths, key=lambda path: [path[t] for t in last_first])

    def wrong(self, s, path):
        return sum(a != b for a, b in zip(path, self.gold(s), strict=True))

    def best(self, s, w, cost):
        """The best labellings of a unit with the cost of wrong labels, and their value."""
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


def make_links(rng, kind, offsets):
    """Links of a kind between the tokens of each unit, as a structure."""
    if kind == "chain":
        return Chain(offsets)
    links = []
    for start, stop in pairwise(offsets):
        tokens = rng.permutation(np.arange(start, stop))
        if kind == "tree":
            # Each token but the first one has a parent among the tokens before it, or none.
            pairs = [(tokens[rng.integers(i)], b) for i, b in enumerate(tokens) if i]
        else:
            pairs = [(a, b) for i, b in enumerate(tokens) for a in tokens[:i]]
        links += [pair for pair in pairs if rng.random() < 0.9]
    previous, current = np.reshape(links, (-1, 2)).astype(int).T
    order = np.argsort(current, kind="stable")
    return Enumerated(offsets, previous[order], current[order])


def make_case(
    rng,
    n_labels,
    lengths,
    n_attributes,
    *,
    links="chain",
    edges=0.0,
    boundaries=False,
    constrained=False,
    dtype,
):
    """Units of small whole numbers, so that sums are exact."""
    offsets, shape = np.append(0, np.cumsum(lengths)), (sum(lengths), n_attributes)
    X = rng.integers(-2, 3, size=shape) * (rng.random((shape[0], 1)) < 0.8)
    y = rng.integers(n_labels, size=shape[0]).astype(np.int32)
    forbidden = np.zeros((n_labels, n_labels)), np.zeros(n_labels), np.zeros(n_labels)
    weight = rng.integers(1, 4, size=len(lengths)).astype(float)
    structure = make_links(rng, links, offsets)
    if constrained:
        _forbid(rng, forbidden, y, structure)
    corpus = Corpus(sp.csr_array(X.astype(dtype)), y, structure, weight)
    return Case(corpus, np.flatnonzero(rng.random(n_attributes) < edges), boundaries, forbidden)


@st.composite
def cases(draw, dtypes=(np.float64, np.float32), links=("chain", "tree")):
    """A few small units."""
    return make_case(
        np.random.default_rng(draw(st.integers(0, 2**32 - 1))),
        draw(st.integers(1, 3)),
        draw(st.lists(st.integers(0, 3), min_size=1, max_size=5)),
        draw(st.integers(1, 4)),
        links=draw(st.sampled_from(links)),
        edges=draw(st.sampled_from([0.0, 0.5])),
        boundaries=draw(st.booleans()),
        constrained=draw(st.booleans()),
        dtype=draw(st.sampled_from(dtypes)),
    )


def _forbid(rng, forbidden, y, structure):
    """Some transitions and ends, but none of the gold labellings."""
    used = [np.zeros(scores.shape, dtype=bool) for scores in forbidden]
    previous, current = structure.links()
    used[0][y[previous], y[current]] = True
    used[1][y[structure.first_tokens()]] = used[2][y[structure.last_tokens()]] = True
    for scores, needed in zip(forbidden, used, strict=True):
        scores[~needed & (rng.random(scores.shape) < 0.4)] = -np.inf
