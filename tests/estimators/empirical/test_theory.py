"""What the papers prove of empirical training, and the examples that they work out.

[EP] is Zhu, Hiemstra, Apers, Wombacher, "Closed Form Maximum Likelihood Estimator of Conditional
Random Fields", 2013; [ECRN] is Zhu et al., "Empirical Co-occurrence Rate Networks for Sequence
Labeling", ICMLA 2013.
"""

from collections import Counter
from itertools import pairwise, product

import numpy as np
import oracle
import pytest
from cases import for_each
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from sklearn_crcrf import CRF, EmpiricalCRF, GraphArray, as_sequences, mle_conditions
from sklearn_crcrf.datasets import make_label_bias
from sklearn_crcrf.linear import Weights
from sklearn_crcrf.structures import Chain, structure_of

PAPER_MODES = [
    pytest.param({"spelling": spelling, "zeros": zeros}, id=f"{spelling}-{zeros}")
    for spelling in ("joint", "mean", "maxent")
    for zeros in ("floored", "exact")
]


def path_probabilities(crf, x):
    """The probability of every path that has one above zero."""
    n_paths = len(crf.classes_) ** len(x)
    (paths,) = crf.predict_k_best([x], n_paths)
    return {tuple(path): p for path, p in paths if p > 0}


def rib_rob():
    X = [list("rib")] * 11 + [list("rob")] * 10
    return X, [list("XIB")] * 11 + [list("YOB")] * 9 + [list("XIB")]


@for_each("mode", PAPER_MODES)
def test_rib_and_rob(mode):
    """[ECRN] II-B3 and III-C, where p(YOB | rob) is 9/10."""
    crf = EmpiricalCRF.ecrn(**mode).fit(*rib_rob())
    rob = path_probabilities(crf, list("rob"))
    assert rob.keys() == {tuple("YOB"), tuple("XIB")}
    assert_allclose(rob[tuple("YOB")], 9 / 10, rtol=1e-11)
    assert_allclose(rob[tuple("XIB")], 1 / 10, rtol=1e-11)
    assert_allclose(path_probabilities(crf, list("rib"))[tuple("XIB")], 1.0, rtol=1e-11)
    assert crf.predict([list("rob")])[0] == list("YOB")


def test_rib_and_rob_are_normalised_locally():
    crf = EmpiricalCRF.ecrn().fit(*rib_rob())
    sequences = as_sequences([list("rob"), list("rib")]).X
    scores = crf.model_.scores(crf._prepare(sequences))
    log_z, _ = Chain(sequences.offsets).marginals(scores)
    assert_allclose(log_z, 0.0, atol=1e-11)


@for_each("mode", PAPER_MODES)
def test_the_test_time_problem(mode):
    """[EP] 3.4.3 and 4.1 to 4.3, where the standard training may label [b, c] as [1, 1]."""
    y = [[0, 0, 0, 0]] * 4 + [[0, 1, 1, 0]]
    crf = EmpiricalCRF.ecrn(**mode).fit([list("abcd")] * 5, y)
    assert crf.predict([list("bc")])[0] == [0, 0]
    probability = path_probabilities(crf, list("abcd"))
    log_likelihood = sum(np.log(probability[tuple(labels)]) for labels in y)
    assert_allclose(log_likelihood, -2.50202, atol=1e-5)
    assert_allclose(log_likelihood, 4 * np.log(0.8) + np.log(0.2), rtol=1e-11)
    assert_allclose(path_probabilities(crf, list("bc"))[0, 0], 0.8, rtol=1e-11)


def bayes_optimal_labels(X, noise=3 / 32):
    """The likelier of the two label sequences, given how the data is made."""
    paths = [["R1", "I", "B"], ["R2", "O", "B"]]
    designated = {"R1": "r", "R2": "r", "I": "i", "O": "o", "B": "b"}

    def likelihood(path, symbols):
        return np.prod(
            [
                1 - noise if designated[label] == symbol else noise / 3
                for label, symbol in zip(path, symbols, strict=True)
            ]
        )

    return [max(paths, key=lambda path: likelihood(path, symbols)) for symbols in X]


@pytest.mark.parametrize("make", [EmpiricalCRF, EmpiricalCRF.ecrn, EmpiricalCRF.maxent])
def test_no_label_bias(make):
    """[EP] 4.4 and [ECRN] IV-A: as accurate as the best decoding there is."""
    scores, best = [], []
    for k in range(10):
        X, y = make_label_bias(2000, random_state=k)
        X_test, y_test = make_label_bias(500, random_state=100 + k)
        scores.append(make().fit(X, y).score(X_test, y_test))
        best.append(np.mean(np.array(bayes_optimal_labels(X_test)) == np.array(y_test)))
    assert abs(100 * np.mean(best) - 95.8) < 1.0
    assert abs(100 * np.mean(scores) - 100 * np.mean(best)) < 0.5


# Theorem 1 of [EP]: the empirical estimate satisfies the conditions of a maximum of the standard
# likelihood, marginals as in the data (eqs. 16 and 17). This holds if a word has the same
# distribution of labels next to each of its neighbours as on its own.


def corpus_of_separate_words(rng, n_kinds=3):
    """Kinds of sentences that share no word; the labelling of each is drawn anew."""
    X, y = [], []
    for kind in range(n_kinds):
        length = rng.integers(2, 5)
        words = [f"w{kind}{t}" for t in range(length)]
        for _ in range(rng.integers(1, 12)):
            X.append(words)
            # Labels that tell the position keep the pairs of different positions apart.
            y.append([f"{label}{t}" for t, label in enumerate(rng.choice(["A", "B"], length))])
    return X, y


def expected_pairs(crf, X):
    """Expected label pairs of all sequences, taken together."""
    sequences = as_sequences(X).X
    scores = crf.model_.scores(crf._prepare(sequences))
    log_z, pullback = Chain(sequences.offsets).log_partition(scores)
    counts = pullback(np.ones_like(log_z))
    np.add.at(
        counts.transition,
        (scores.token_transitions.previous, scores.token_transitions.current),
        counts.token_transitions,
    )
    return counts.transition


def empirical_pairs(y, classes):
    pairs = np.zeros((len(classes), len(classes)))
    for labels in y:
        ids = np.searchsorted(classes, labels)
        np.add.at(pairs, (ids[:-1], ids[1:]), 1)
    return pairs


def empirical_marginals(X, y, classes):
    """For every token, the frequency of the labels of its word."""
    counts = {word: np.zeros(len(classes)) for words in X for word in words}
    for words, labels in zip(X, y, strict=True):
        for word, label in zip(words, np.searchsorted(classes, labels), strict=True):
            counts[word][label] += 1
    return np.array([counts[word] / counts[word].sum() for words in X for word in words])


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["floored", "exact"]))
def test_marginals_are_those_of_the_data(seed, zeros):
    X, y = corpus_of_separate_words(np.random.default_rng(seed))
    crf = EmpiricalCRF.ecrn(zeros=zeros).fit(X, y)
    marginals = np.concatenate(crf.predict_proba(X))
    assert_allclose(marginals, empirical_marginals(X, y, crf.classes_), atol=1e-10)
    pairs = expected_pairs(crf, X)
    assert_allclose(pairs, empirical_pairs(y, crf.classes_), atol=1e-9)


def test_factors_are_probabilities():
    """[EP] eqs. 7 to 9: psi sums to 1 over labels, and phi psi psi' over pairs of labels."""
    X, y = corpus_of_separate_words(np.random.default_rng(0))
    crf = EmpiricalCRF.ecrn(zeros="exact").fit(X, y)
    scores, row = crf.model_.scores(crf._prepare(as_sequences(X).X)), 0
    psi = np.exp(scores.state)
    assert_allclose(psi.sum(axis=1), 1.0)
    for words in X:
        for t in range(len(words)):
            if t:
                pairs = np.ndindex(psi.shape[1], psi.shape[1])
                phi = np.exp([oracle.transition_score(scores, row, i, j) for i, j in pairs])
                assert_allclose(phi @ np.outer(psi[row - 1], psi[row]).ravel(), 1.0)
            row += 1


def test_marginals_differ_where_a_word_has_other_labels_elsewhere():
    X = [list("abc")] * 2 + [list("dbe")] * 2
    y = [["0", "0", "0"], ["0", "1", "1"]] + [["0", "1", "0"]] * 2
    crf = EmpiricalCRF.ecrn().fit(X, y)
    # In abc both labels of b are as frequent, but p(0 | b) is 1/4: p ~ p(ab) p(bc) / p(b).
    assert_allclose(crf.predict_proba([list("abc")])[0][1], [3 / 4, 1 / 4], rtol=1e-11)
    pairs = expected_pairs(crf, X)
    assert abs(pairs - empirical_pairs(y, crf.classes_)).max() > 0.1
    conditions = mle_conditions(crf, X, y)
    assert_allclose(conditions.log_likelihood, np.log(3 / 4) + np.log(1 / 4), rtol=1e-11)
    assert_allclose([conditions.gap, conditions.in_pairs.gap], 1 / 4, rtol=1e-11)
    words = [[{"word": x[0]}, *({"word": b, "pair": a + b} for a, b in pairwise(x))] for x in X]
    best = CRF(sigma=np.inf, edge_columns=["pair"], tol=1e-12, max_iter=5000).fit(words, y)
    assert_allclose(-best.loss_curve_[-1], 2 * np.log(1 / 2), rtol=1e-6)


def test_constraints_of_the_factors_alone_leave_the_objective_without_a_maximum():
    """[EP] 3.3: eqs. 7 and 8 hold, but the smaller p(0 | b), the larger the objective."""
    y = [[0, 0, 0, 0]] * 4 + [[0, 1, 1, 0]]
    pairs = {k: Counter(labels[k : k + 2] for labels in map(tuple, y)) for k in range(3)}

    def objective(p):
        unary = [{0: 1.0}, {0: p, 1: 1 - p}, {0: 0.8, 1: 0.2}, {0: 1.0}]
        total = 0.0
        for k, table in pairs.items():
            rates = {(i, j): n / 5 / (unary[k][i] * unary[k + 1][j]) for (i, j), n in table.items()}
            sums = sum(rate * unary[k][i] * unary[k + 1][j] for (i, j), rate in rates.items())
            assert_allclose(sums, 1.0)
            total += sum(table[pair] * np.log(rate) for pair, rate in rates.items())
        return total + sum(
            np.log(unary[k][label]) for labels in y for k, label in enumerate(labels)
        )

    assert_allclose(objective(0.8), -2.50202, atol=1e-5)
    assert objective(0.8) < objective(0.1) < objective(1e-9) < objective(1e-90)


# Chains and rates, [EP] eq. 4 and [ECRN] eq. 3; tests of the rates are beside the counts.


def fit_to_distribution(joint):
    """A model of one sentence whose labellings have these probabilities as weights."""
    paths = list(product(range(joint.shape[0]), repeat=joint.ndim))
    X = [[f"w{t}" for t in range(joint.ndim)]] * len(paths)
    weights = [joint[path] for path in paths]
    crf = EmpiricalCRF.ecrn().fit(X, [list(path) for path in paths], sample_weight=weights)
    return path_probabilities(crf, X[0])


@st.composite
def markov_chains(draw, length=4):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_labels = draw(st.integers(2, 3))
    joint = rng.dirichlet(np.ones(n_labels))
    for _ in range(length - 1):
        joint = joint[..., None] * rng.dirichlet(np.ones(n_labels), n_labels)
    return joint


@settings(max_examples=25, deadline=None)
@given(markov_chains())
def test_rates_factorise_a_markov_chain(joint):
    """[EP] eq. 4 and [ECRN] eq. 3, with the rates of the package."""
    assume(joint.min() > 1e-12)
    found = fit_to_distribution(joint)
    assert_allclose([found[path] for path in np.ndindex(joint.shape)], joint.ravel(), rtol=1e-8)


def test_rates_of_pairs_cannot_factorise_every_distribution():
    joint = np.array([[[3, 1], [1, 1]], [[1, 1], [1, 3]]]) / 12
    found = fit_to_distribution(joint)
    pairs = joint.sum(axis=2)[:, :, None] * joint.sum(axis=0) / joint.sum(axis=(0, 2))[:, None]
    assert_allclose([found[path] for path in np.ndindex(joint.shape)], pairs.ravel(), rtol=1e-10)
    assert abs(pairs - joint).max() > 0.02


# Theorem 1 on trees: all cliques are links, so the rates of links are the whole closed form. Every
# labelling of one observation has a count.

TREE_WORDS, TREE_PARENTS = ["w0", "w1", "w2", "w3", "w4"], [2, 2, -1, 0, 2]


def labelled_trees(rng, n_labels=3):
    """The labellings of one tree, each with a random weight."""
    paths = list(product(range(n_labels), repeat=len(TREE_WORDS)))
    n = len(paths)
    return (
        GraphArray.from_parents([TREE_WORDS] * n, [TREE_PARENTS] * n),
        np.array(paths),
        rng.random(n) ** 3,
    )


def pairs_of_labels(y, weight, child):
    """Frequencies of the labels of a token and of its parent."""
    pairs = np.zeros((y.max() + 1,) * 2)
    np.add.at(pairs, (y[:, TREE_PARENTS[child]], y[:, child]), weight / weight.sum())
    return pairs


def closed_form(y, weight):
    """log p(y | word) of each word, and log CR of the labels of each token and its parent."""
    n = y.max() + 1
    unary = np.array([np.bincount(labels, weight, n) for labels in y.T]) / weight.sum()
    rates = [
        np.zeros((n, n))
        if parent < 0
        else np.log(pairs_of_labels(y, weight, child) / np.outer(unary[parent], unary[child]))
        for child, parent in enumerate(TREE_PARENTS)
    ]
    zeros = np.zeros(n)
    return Weights(np.log(unary), np.zeros((n, n)), zeros, zeros, np.array(rates))


@for_each("seed", range(5))
def test_closed_form_of_trees_has_the_marginals_of_the_data(seed):
    X, y, weight = labelled_trees(np.random.default_rng(seed))
    crf = EmpiricalCRF.ecrn().fit(X, y.tolist(), sample_weight=weight)
    tree = X[:1]
    scores = crf.model_.scores(crf._prepare(tree))
    log_z, pullback = structure_of(tree).log_partition(scores)
    assert_allclose(log_z, 0.0, atol=1e-10)
    rows, counts = scores.token_transitions, pullback(np.ones(1))
    weights = closed_form(y, weight)
    assert_allclose(counts.state, np.exp(weights.state), atol=1e-10)
    for child in (0, 1, 3, 4):
        entries = slice(*rows.indptr[rows.row[child] : rows.row[child] + 2])
        found = np.zeros((3, 3))
        found[rows.previous[entries], rows.current[entries]] = counts.token_transitions[entries]
        assert_allclose(found, pairs_of_labels(y, weight, child), atol=1e-10)


@for_each("seed", range(5))
def test_closed_form_of_trees_is_a_maximum_of_the_standard_likelihood(seed):
    X, y, weight = labelled_trees(np.random.default_rng(seed))
    weights = closed_form(y, weight)
    crf = CRF(sigma=np.inf, edge_columns=["token"], init=weights)
    crf.fit(X, y.tolist(), sample_weight=weight)
    assert crf.edge_attribute_names_.tolist() == crf.attribute_names_.tolist() == TREE_WORDS
    assert_allclose(crf.coef_, weights.state, atol=1e-6)
    assert_allclose(crf.edge_coef_, weights.edges, atol=1e-6)
    problem = crf._problem(crf._read(X, y.tolist(), weight), None)
    _, gradient = problem.objective()(problem.vector(weights._replace(state=weights.state.ravel())))
    assert_allclose(gradient, 0.0, atol=1e-12 * len(y))
