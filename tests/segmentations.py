"""All segmentations of tiny sequences, one by one: the reference for semi-Markov chains."""

from itertools import pairwise

import numpy as np
from scipy.special import logsumexp

from sklearn_crcrf.labels import roles_of
from sklearn_crcrf.structures import ScoreGradient, Scores, SemiMarkovChain, Spans

CLASSES = {
    "IOB2": ["B-X", "B-Y", "I-X", "I-Y", "O"],
    "IOBES": ["B-X", "E-X", "I-X", "O", "S-X", "S-Y"],
}


def random_case(seed, scheme="IOB2", max_length=2, lengths=(4, 0, 1, 5), scale=1.0, dtype=float):
    """A structure and scores with lengths and spans."""
    rng = np.random.default_rng(seed)
    offsets = np.append(0, np.cumsum(lengths))
    roles = roles_of(CLASSES[scheme], scheme)
    n, n_labels = offsets[-1], len(CLASSES[scheme])
    spans = random_spans(rng, offsets, max_length)
    structure = SemiMarkovChain(offsets, roles, max_length, spans)
    scores = Scores.of(
        scale * rng.normal(size=(n, n_labels)).astype(dtype),
        *(scale * rng.normal(size=shape) for shape in [(n_labels, n_labels), n_labels, n_labels]),
    )
    layout = structure.layout
    size = layout.n_types * (layout.n_lengths + layout.n_spans)
    return structure, scores._replace(own=scale * rng.normal(size=size))


def random_spans(rng, offsets, max_length):
    indptr, length = [0], []
    for start, stop in pairwise(offsets):
        for t in range(start, stop):
            fitting = np.arange(1, min(max_length, t - start + 1) + 1)
            length += fitting[rng.random(len(fitting)) < 0.6].tolist()
            indptr.append(len(length))
    return Spans(np.array(indptr), np.array(length, dtype=np.int32))


def segmentations(n, types):
    """Tuples of (start, stop, type); type -1 - i is the i-th label between segments."""
    if n == 0:
        return [()]
    found = []
    for start in range(n):
        for rest in segmentations(start, types):
            found += [(*rest, (start, n, k)) for k in types if k >= 0 or start == n - 1]
    return found


def labelling(roles, segments):
    """The labels that spell a segmentation, None if a label is missing."""
    y = []
    for start, stop, k in segments:
        if k < 0:
            y.append(roles.outside()[-1 - k])
        elif stop - start == 1:
            y.append(roles.single[k])
        else:
            y += [roles.first[k], *[roles.inside[k]] * (stop - start - 2), roles.last[k]]
    return None if min(y, default=0) < 0 else [int(label) for label in y]


def enumerated(structure, scores):
    """For each sequence: labellings, scores, and the use of all scores by each."""
    roles, L = structure.roles, structure.max_length
    types = [*range(len(roles.types)), *(-1 - i for i in range(len(roles.outside())))]
    by_length, by_span = structure.layout.split(scores.own)
    span_of = {
        (int(t) - int(d) + 1, int(t) + 1): r
        for r, (t, d) in enumerate(
            zip(structure.spans.last_tokens(), structure.spans.length, strict=True)
        )
    }
    result = []
    for a, b in pairwise(structure.offsets.tolist()):
        paths, values, uses = [], [], []
        for segments in segmentations(b - a, types):
            y = labelling(roles, segments)
            if y is None:
                continue
            use = ScoreGradient.zeros(
                scores._replace(own=np.zeros(by_length.size + by_span.size)),
                np.zeros(scores.state.shape),
            )
            lengths, spans = structure.layout.split(use.own)
            for t, label in enumerate(y):
                use.state[a + t, label] += 1
                if t:
                    edges = scores.token_transitions
                    token = np.array([a + t])
                    use.add_transitions(
                        scores, token, np.array([y[t - 1]]), np.array([label]), np.ones(1)
                    )
                    assert len(edges.row) == len(scores.state)
            if y:
                use.begin[y[0]] += 1
                use.end[y[-1]] += 1
            for start, stop, k in segments:
                if k >= 0:
                    lengths[k, min(stop - start, L + 1) - 1] += 1
                    if (a + start, a + stop) in span_of:
                        spans[span_of[a + start, a + stop], k] += 1
            paths.append(y)
            uses.append(use)
            values.append(value_of(use, scores))
        result.append((np.array(paths, dtype=int).reshape(len(paths), b - a), values, uses))
    return result


def value_of(use, scores):
    given = [*scores[:4], scores.token_transitions.score, scores.own]
    total = 0.0
    for count, score in zip(use, given, strict=True):
        if score.size:
            used = count != 0
            total += (count[used] * np.asarray(score, dtype=float)[used]).sum()
    return total


def log_sums(found):
    return np.array([logsumexp(values) if len(values) else -np.inf for _, values, _ in found])


def expected(found, weight, scores):
    """The expected use of all scores, times the weights of sequences."""
    total = None
    for (_, values, uses), w in zip(found, weight, strict=True):
        if not len(values) or np.isneginf(logsumexp(values)):
            continue
        p = w * np.exp(np.array(values) - logsumexp(values))
        parts = [
            sum(q * np.asarray(use[i]) for q, use in zip(p, uses, strict=True)) for i in range(6)
        ]
        total = parts if total is None else [a + b for a, b in zip(total, parts, strict=True)]
    return ScoreGradient(*total)
