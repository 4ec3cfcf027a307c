"""Random chains for property tests."""

import itertools

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

from sklearn_crcrf.structures import Chain, Edges, PartCounts, Parts

SCALES = (1.0, 30.0, 1000.0, 10_000.0)


@st.composite
def chains(draw, scales=SCALES, dtypes=(np.float64, np.float32)):
    """A few short sequences with random scores of a random scale; some edges, some -inf."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_labels = draw(st.integers(1, 4))
    lengths = draw(st.lists(st.integers(0, 4), min_size=1, max_size=4))
    scale, dtype = draw(st.sampled_from(scales)), draw(st.sampled_from(dtypes))
    n_tokens, n_rows = sum(lengths), 3

    def scores(*shape):
        values = scale * rng.normal(size=shape)
        values[rng.random(shape) < draw(st.sampled_from([0.0, 0.0, 0.0, 0.3]))] = -np.inf
        return values

    transition = scores(n_labels, n_labels)
    gains = sp.random_array((n_rows, n_labels**2), density=0.5, format="csr", rng=rng)
    gains.data *= 3 * scale
    edges = Edges.from_gains(rng.integers(-1, n_rows, n_tokens), gains, transition)
    state = scores(n_tokens, n_labels).astype(dtype)
    parts = Parts(state, transition, scores(n_labels), scores(n_labels), edges)
    return np.append(0, np.cumsum(lengths)), parts


def random_direction(parts, seed=0):
    """Finite values in the shape of the parts."""
    rng = np.random.default_rng(seed)
    shapes = (np.shape(values) for values in PartCounts.zeros(parts))
    return PartCounts(*(rng.normal(size=shape) for shape in shapes))


def drawn_labels(offsets, parts, random):
    """The best labels of some sequences, and any of the others."""
    y = Chain(offsets).maximum(parts)[1]
    for a, b in itertools.pairwise(offsets):
        if random.random() < 0.5:
            y[a:b] = [random.randrange(len(parts.transition)) for _ in range(a, b)]
    return y


def shifted(parts, direction, step):
    """Parts that are moved some way in a direction."""
    scores = (a + step * b for a, b in zip(parts[:4], direction[:4], strict=True))
    return Parts(*scores, parts.edges._replace(score=parts.edges.score + step * direction.edges))
