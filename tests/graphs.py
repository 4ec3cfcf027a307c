"""Random graphs for property tests."""

import itertools

import numpy as np
import scipy.sparse as sp
from enumerated import Enumerated
from hypothesis import strategies as st

from sklearn_crcrf.structures import Scores, TokenTransitions


@st.composite
def graphs(draw, scales=(1.0, 30.0), n_labels=(1, 2, 3), forbids=True, with_rows=True):
    """Offsets, edges and random scores of a few small graphs; some scores are -inf.

    Some links have scores of their own. Some graphs are empty, some have several components.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    lengths = draw(st.lists(st.integers(0, 5), min_size=1, max_size=3))
    density = draw(st.sampled_from([0.2, 0.5, 0.9]))
    offsets, edges = np.append(0, np.cumsum(lengths)), []
    for n, origin in zip(lengths, offsets, strict=False):
        pairs = [pair for pair in itertools.combinations(range(n), 2) if rng.random() < density]
        edges += [rng.permutation(pair) + origin for pair in pairs]
    edges = np.array(edges, dtype=np.int64).reshape(-1, 2)
    scale, n = draw(st.sampled_from(scales)), draw(st.sampled_from(n_labels))
    share = draw(st.sampled_from([0.0, 0.0, 0.2])) if forbids else 0.0
    return offsets, edges, random_scores(rng, offsets[-1], len(edges), n, scale, share, with_rows)


def random_scores(rng, n_tokens, n_links, n_labels, scale=1.0, share=0.0, with_rows=True):
    """Scores of a scale; a share of them is -inf, and some links have scores of their own."""

    def scores(*shape):
        values = scale * rng.normal(size=shape)
        values[rng.random(shape) < share] = -np.inf
        return values

    transition, rows = scores(n_labels, n_labels), 3
    gains = sp.random_array((rows, n_labels**2), density=0.5, format="csr", rng=rng)
    gains.data *= 3 * scale
    row = rng.integers(-1, rows, n_links) if with_rows else np.full(n_links, -1)
    edges = TokenTransitions.from_gains(row, gains, transition)
    return Scores(scores(n_tokens, n_labels), transition, scores(n_labels), scores(n_labels), edges)


def cyclic_labels(n=200, n_edges=400, n_labels=3, directed=True, noise=1.0, seed=0):
    """One graph in which label k is linked to label k + 1 mostly, and the last one to the first.

    Returns
    -------
    X : list of one ndarray of shape (n, n_labels)
        Noisy attributes of the nodes.
    edges : list of one list of pairs
        If they are not directed, the first end is the lower one.
    ids : ndarray of shape (n,)
        The labels.
    """
    rng = np.random.default_rng(seed)
    ids, edges = rng.integers(n_labels, size=n), set()
    while len(edges) < n_edges:
        a, b = (int(end) for end in rng.integers(n, size=2))
        follows = ids[b] == (ids[a] + 1) % n_labels
        if a != b and (b, a) not in edges and follows == (rng.random() < 0.9):
            edges.add((a, b))
    if not directed:
        edges = {(min(edge), max(edge)) for edge in edges}
    return [np.eye(n_labels)[ids] + noise * rng.normal(size=(n, n_labels))], [sorted(edges)], ids


def enumerated(graph):
    """The same graph, by enumeration."""
    return Enumerated(graph.offsets, *graph.links(), by_link=True)
