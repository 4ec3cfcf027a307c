"""The conditions of the greatest likelihood, [EP] eqs. 16 and 17, against enumerated labellings."""

from collections import Counter, defaultdict
from itertools import pairwise, product

import numpy as np
import pytest
from cases import for_each
from numpy.testing import assert_allclose
from toy import make_corpus

from sklearn_crcrf import (
    CRF,
    HMM,
    EmpiricalCRF,
    GraphArray,
    SemiMarkovCRF,
    SequenceVectorizer,
    Window,
    make_sequence_pipeline,
    mle_conditions,
)

X, Y = make_corpus(seed=3, n_sequences=12)
SHORT = [i for i, x in enumerate(X) if 0 < len(x) < 6]
X, Y = [X[i] for i in SHORT], [Y[i] for i in SHORT]
# Eight sequences of two words, which occur next to each other in any order.
REPEATED = [list("aba")] * 3 + [list("bab")] * 3 + [list("abb")] * 2
LABELS = [[0, 1, 0], [0, 1, 1], [1, 0, 0], [1, 0, 1], [1, 1, 1], [0, 0, 1], [0, 1, 1], [1, 0, 0]]


def with_pairs(sequences):
    """Tokens with their word, and the pair of words that a transition leads into."""
    return [
        [{"word": x[0]}, *({"word": b, "pair": a + b} for a, b in pairwise(x))] for x in sequences
    ]


def standard(X, y):
    """A CRF with the factors of the closed form, and the greatest likelihood."""
    crf = CRF(sigma=np.inf, edge_columns=["pair"], tol=1e-12, max_iter=5000)
    return crf.fit(with_pairs(X), y)


def enumerated(crf, X, y, links, weights):
    """Expected and observed frequencies of labels by word, and of label pairs by pair of words."""
    expected, observed = defaultdict(Counter), defaultdict(Counter)
    total = 0.0
    for sample, (words, labels, weight) in enumerate(zip(X, y, weights, strict=True)):
        graph = X[sample : sample + 1]
        (paths,) = crf.predict_k_best(graph, k=len(crf.classes_) ** len(words))
        total += weight * np.log({tuple(path): p for path, p in paths}[tuple(labels)])
        for table, path, p in [(observed, labels, 1.0), *((expected, q, p) for q, p in paths)]:
            for word, label in zip(words, path, strict=True):
                table[word][label] += p * weight
            for a, b in links[sample]:
                table[words[a], words[b]][path[a], path[b]] += p * weight
    return expected, observed, total


def agree(condition, expected, observed, classes, n):
    for k, key in enumerate(condition.observations):
        weight = sum(observed[key].values())
        assert_allclose(condition.weight[k], weight)
        for side, table in ((condition.found, expected), (condition.wanted, observed)):
            labels = classes if n == 1 else product(classes, classes)
            p = [table[key][label] / weight for label in labels]
            assert_allclose(side[k].ravel(), p, atol=1e-9)


@for_each(
    "crf",
    [
        EmpiricalCRF(),
        EmpiricalCRF.ecrn(),
        EmpiricalCRF.ecrn(zeros="exact", spelling="mean", known_neighbour="word"),
        CRF(),
        HMM(),
        make_sequence_pipeline(Window(), SequenceVectorizer(), CRF(dtype="float32")),
    ],
)
@for_each("data", [(X, Y), (REPEATED, LABELS)])
@for_each("heaviest", [1.0, 3.0])
def test_frequencies_are_those_of_the_enumerated_labellings(crf, data, heaviest):
    X, Y = data
    weights = np.linspace(1.0, heaviest, len(X))
    crf.fit(X, Y)
    found = mle_conditions(crf, X, Y, weights)
    links = [[*pairwise(range(len(x)))] for x in X]
    expected, observed, total = enumerated(crf, X, Y, links, weights)
    classes = sorted({label for labels in Y for label in labels})
    agree(found.unary, expected, observed, classes, 1)
    agree(found.pairs, expected, observed, classes, 2)
    assert {*found.unary.observations, *found.pairs.observations} == observed.keys()
    assert_allclose(found.log_likelihood, total, rtol=1e-6, atol=1e-12)
    assert found.gap == max(abs(c.found - c.wanted).max() for c in (found.unary, found.pairs))


def test_words_in_pairs():
    conditions = mle_conditions(EmpiricalCRF.ecrn().fit(REPEATED, LABELS), REPEATED, LABELS)
    pairs, words = defaultdict(Counter), defaultdict(Counter)
    for x, labels in zip(REPEATED, LABELS, strict=True):
        for word, label in zip(x, labels, strict=True):
            words[word][label] += 1
        for (a, b), (i, j) in zip(pairwise(x), pairwise(labels), strict=True):
            pairs[a, (a, b), 0][i] += 1
            pairs[b, (a, b), 1][j] += 1
    part = conditions.in_pairs
    for k, (word, pair) in enumerate(part.observations):
        in_pair, own = pairs[word, pair, k % 2], words[word]
        assert_allclose(part.found[k], [in_pair[y] / in_pair.total() for y in (0, 1)])
        assert_allclose(part.wanted[k], [own[y] / own.total() for y in (0, 1)])
        assert part.weight[k] == in_pair.total()
    assert_allclose(part.distances, abs(part.found - part.wanted)[:, 0])
    assert_allclose(part.mean_distance, np.average(part.distances, weights=part.weight))


def test_the_closed_form_is_not_the_best_where_words_differ_in_their_neighbours():
    closed = mle_conditions(
        EmpiricalCRF.ecrn(zeros="exact").fit(REPEATED, LABELS), REPEATED, LABELS
    )
    tokens = with_pairs(REPEATED)
    best = mle_conditions(standard(REPEATED, LABELS), tokens, LABELS, observation="word")
    assert closed.in_pairs.gap > 0.1
    assert closed.gap > 0.05
    assert best.gap < 1e-4
    assert_allclose([closed.log_likelihood, best.log_likelihood], [-9.672, -7.978], atol=1e-3)


@for_each("seed", range(5))
def test_theorem_1(seed):
    """Where words have the same labels in all pairs, eqs. 16 and 17 hold: "w" is like itself."""
    rng, x = np.random.default_rng(seed), ["v", "w", "w", "w", "u"]
    # Labels that are drawn as a chain in which each label of "w" has the same distribution.
    joint = rng.dirichlet(np.ones(4)).reshape(2, 2)
    joint = (joint + joint.T) / 2
    step, start = joint / joint.sum(axis=1, keepdims=True), joint.sum(axis=1)
    paths = [*product((0, 1), repeat=3)]
    weights = [start[a] * step[a, b] * step[b, c] for a, b, c in paths]
    y = [[2, *path, 3] for path in paths]
    crf = EmpiricalCRF.ecrn(zeros="exact").fit([x] * 8, y, sample_weight=weights)
    conditions = mle_conditions(crf, [x] * 8, y, weights)
    assert conditions.in_pairs.gap < 1e-12
    assert conditions.gap < 1e-12
    assert_allclose(conditions.log_likelihood, np.dot(weights, np.log(weights)), rtol=1e-12)


def test_trees_and_graphs():
    words = [["a", "b", "c", "d"], ["b", "a", "c", "c"], ["d", "c", "a", "a"]]
    rng = np.random.default_rng(0)
    y = rng.choice(["x", "y"], (3, 4)).tolist()
    trees = GraphArray.from_parents(words, [[-1, 0, 0, 1]] * 3)
    rings = GraphArray.from_edges(words, [[(0, 1), (1, 2), (2, 3), (0, 3)]] * 3)
    for samples, crf in ((trees, EmpiricalCRF.ecrn()), (rings, EmpiricalCRF(inference="exact"))):
        conditions = mle_conditions(crf.fit(samples, y), samples, y)
        marginals, keys = crf.predict_proba(samples).data, np.concatenate(words)
        for k, word in enumerate(conditions.unary.observations):
            mean = marginals[keys == word].mean(axis=0)
            assert_allclose(conditions.unary.found[k], mean, atol=1e-9)
        # The marginals of a link are those of its tokens.
        n_links = 9 if samples is trees else 12
        assert conditions.pairs.weight.sum() == n_links
        assert_allclose(conditions.pairs.found.sum(axis=(1, 2)), 1.0)
    single = mle_conditions(EmpiricalCRF.ecrn().fit([["a"], ["a"]], [[0], [1]]), [["a"]], [[0]])
    assert single.pairs.observations == []
    assert (single.pairs.gap, single.in_pairs.mean_distance, single.unary.gap) == (0.0, 0.0, 0.5)


def test_errors():
    crf = EmpiricalCRF.ecrn().fit(X, Y)
    with pytest.raises(ValueError, match="y, sequence 1, position 0: 'new' is no label"):
        mle_conditions(crf, X[:2], [Y[0], ["new", *Y[1][1:]]])
    with pytest.raises(ValueError, match="y, sequence 0, position 0: None is no label"):
        mle_conditions(crf, X[:1], [[None, *Y[0][1:]]])
    with pytest.raises(ValueError, match="X has numbers only"):
        rows = [np.eye(2)]
        mle_conditions(CRF().fit(rows, [[0, 1]]), rows, [[0, 1]])
    segments = SemiMarkovCRF().fit([["a", "b"]], [["B-x", "O"]])
    for model in (segments, EmpiricalCRF(order=2).fit(X, Y)):
        with pytest.raises(ValueError, match="other scores than of labels and pairs of labels"):
            labels = [["B-x", "O"]] if model is segments else Y
            mle_conditions(model, [["a", "b"]] if model is segments else X, labels)
    with pytest.raises(ValueError, match="no path of sequence 0 is possible"):
        exact = EmpiricalCRF.ecrn(zeros="exact").fit([["a", "b"], ["b", "a"]], [[0, 1], [1, 0]])
        mle_conditions(exact, [["b", "b"]], [[1, 1]])
