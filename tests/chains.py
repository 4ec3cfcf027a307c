"""Random chains and forests for property tests."""

import itertools

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

from sklearn_crcrf.structures import Chain, ScoreGradient, Scores, TokenTransitions

SCALES = (1.0, 30.0, 1000.0, 10_000.0)


@st.composite
def chains(draw, scales=SCALES, dtypes=(np.float64, np.float32), most_labels=4, longest=4):
    """A few short sequences with random scores of a random scale; some edges, some -inf."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_labels = draw(st.integers(1, most_labels))
    lengths = draw(st.lists(st.integers(0, longest), min_size=1, max_size=4))
    scale, dtype = draw(st.sampled_from(scales)), draw(st.sampled_from(dtypes))
    n_tokens, n_rows = sum(lengths), 3

    def scores(*shape):
        values = scale * rng.normal(size=shape)
        values[rng.random(shape) < draw(st.sampled_from([0.0, 0.0, 0.0, 0.3]))] = -np.inf
        return values

    transition = scores(n_labels, n_labels)
    gains = sp.random_array((n_rows, n_labels**2), density=0.5, format="csr", rng=rng)
    gains.data *= 3 * scale
    edges = TokenTransitions.from_gains(rng.integers(-1, n_rows, n_tokens), gains, transition)
    state = scores(n_tokens, n_labels).astype(dtype)
    scores = Scores(state, transition, scores(n_labels), scores(n_labels), edges)
    return np.append(0, np.cumsum(lengths)), scores


@st.composite
def forests(draw, scales=SCALES, dtypes=(np.float64, np.float32)):
    """Offsets, parents and scores of a few small forests: the scores are as of chains."""
    offsets, scores = draw(chains(scales, dtypes, most_labels=3, longest=6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return offsets, random_parents(offsets, rng, draw(st.sampled_from([0.0, 0.3]))), scores


def random_parents(offsets, rng, rootless=0.0):
    """The parents of random trees: any token but the first of a random order may have no parent."""
    parent = np.full(offsets[-1], -1)
    for a, b in itertools.pairwise(offsets):
        order = a + rng.permutation(b - a)
        for k in range(1, b - a):
            if rng.random() >= rootless:
                parent[order[k]] = order[rng.integers(k)]
    return parent


def random_direction(scores, seed=0):
    """Finite values in the shape of the scores."""
    rng = np.random.default_rng(seed)
    shapes = (np.shape(values) for values in ScoreGradient.zeros(scores))
    return ScoreGradient(*(rng.normal(size=shape) for shape in shapes))


def drawn_labels(offsets, scores, random):
    """The best labels of some sequences, and any of the others."""
    y = Chain(offsets).maximum(scores)[1]
    for a, b in itertools.pairwise(offsets):
        if random.random() < 0.5:
            y[a:b] = [random.randrange(len(scores.transition)) for _ in range(a, b)]
    return y


def shifted(scores, direction, step):
    """Scores that are moved some way in a direction."""
    path_scores = (a + step * b for a, b in zip(scores[:4], direction[:4], strict=True))
    return Scores(
        *path_scores,
        scores.token_transitions._replace(
            score=scores.token_transitions.score + step * direction.token_transitions
        ),
    )
