"""How P(y | spelling) is estimated: as a product, or by the signature of a word."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from cases import for_each
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

from sklearn_crcrf.counts.lexicon import Lexicon
from sklearn_crcrf.estimators.empirical.product_spelling import EXPERTS, RARE, ProductSpelling
from sklearn_crcrf.estimators.empirical.signature_spelling import (
    HOLDS,
    SIGNATURES,
    JointSpelling,
    MaxEntSpelling,
    MeanSpelling,
)
from sklearn_crcrf.feature_extraction.spelling import SIMPLE_FEATURES, spelling_table

WORDS = [
    "walked",
    "talked",
    "Walking",
    "x-ing",
    "cities",
    "of",
    "Ed",
    "7-ly",
    "the",
    "s",
    "running",
]
UNSEEN = ["stalked", "Xing", "ed", "7", "quickly", "Zürich-City"]
COUNTS = np.random.default_rng(0).integers(0, 4, (len(WORDS), 3)).astype(float)
COUNTS[-3] = [RARE, 0, 1]  # one word is not rare
PRIOR = COUNTS.sum(axis=0) / COUNTS.sum()


def fit(kind, strength=1.0, words=WORDS, counts=COUNTS):
    lexicon = Lexicon(kind.features, kind.symbols)
    lexicon.add(words)
    by_word = sp.csr_array(counts)
    statistics = SimpleNamespace(
        encoder=SimpleNamespace(lexicon=lexicon),
        by_word=by_word,
        n_seen=by_word.sum(axis=1),
        label_prior=PRIOR,
    )
    return lexicon, kind(statistics, strength)


# The product of experts


def row(model, lexicon, word, feature):
    """The weights of one feature of a word, zeros if it has no row."""
    number = model.rows(lexicon.lookup([word])[1])[0, model.names.index(feature)]
    return model.coef[[number]].toarray()[0] if number >= 0 else np.zeros(3)


def dirichlet(prior, strength, holds):
    """Estimate from the rare words of which something holds."""
    rare = COUNTS.sum(axis=1) <= RARE
    counts = COUNTS[rare & np.array([holds(word) for word in WORDS])].sum(axis=0)
    return (counts + strength * prior) / (counts.sum() + strength)


def base():
    rare = COUNTS[COUNTS.sum(axis=1) <= RARE].sum(axis=0)
    return (rare + PRIOR) / (rare.sum() + 1.0)


@for_each("strength", [0.2, 1.0, 9.0])
@for_each("word", [*WORDS, *UNSEEN])
def test_suffixes_are_a_chain_of_estimates(word, strength):
    """Each is the prior of the next, so the longest has the sum of their weights."""
    lexicon, model = fit(ProductSpelling, strength)
    estimate = base()
    total = np.log(estimate)
    for length in range(1, 6):
        suffix = ("^" + word.lower())[-length:]
        estimate = dirichlet(
            estimate, strength, lambda w, suffix=suffix: ("^" + w.lower()).endswith(suffix)
        )
        total += row(model, lexicon, word, f"suffix{length}")
        difference = total - np.log(estimate)
        assert_allclose(difference, difference[0], atol=1e-12)


@for_each("feature", [e.feature for e in EXPERTS if e.shorter is None])
def test_all_other_features_have_the_rare_words_as_prior(feature):
    lexicon, model = fit(ProductSpelling, 2.0)
    for word in [*WORDS, *UNSEEN]:
        symbol = spelling_table([word], [feature]).column(feature)[0]
        estimate = dirichlet(
            base(), 2.0, lambda w, s=symbol: spelling_table([w], [feature]).column(feature)[0] == s
        )
        difference = row(model, lexicon, word, feature) - np.log(estimate / base())
        assert_allclose(difference, difference[0], atol=1e-12)


def test_the_label_row_is_the_distribution_of_rare_words():
    lexicon, model = fit(ProductSpelling)
    score = row(model, lexicon, "anything", "label")
    assert_allclose(np.exp(score) / np.exp(score).sum(), base())
    assert score.min() == 0.0


def test_weights_of_the_product_are_sparse_and_not_negative():
    _, model = fit(ProductSpelling)
    assert (model.coef.data > 0).all()
    assert model.names == ["label", *(expert.feature for expert in EXPERTS)]
    assert len(model.exponents) == len(model.names)
    only_one_label = np.tile([0.0, 1.0, 0.0], (len(WORDS), 1))
    assert set(fit(ProductSpelling, counts=only_one_label)[1].coef[1:].indices) == {1}


def test_words_that_were_forgotten_say_nothing():
    counts = COUNTS.copy()
    counts[0] = 0.0  # walked
    lexicon, model = fit(ProductSpelling, counts=counts)
    assert_array_equal(row(model, lexicon, "walked", "lower"), 0.0)
    assert row(model, lexicon, "walked", "suffix5").any()  # talked has it, too


def test_no_rare_words():
    lexicon, model = fit(ProductSpelling, counts=COUNTS + RARE)
    rows = model.rows(lexicon.lookup(UNSEEN)[1])
    assert (rows[:, 0] == 0).all() and (rows[:, 1:] == -1).all()
    score = row(model, lexicon, "walked", "label")
    assert_allclose(np.exp(score) / np.exp(score).sum(), PRIOR)


# Signatures


def features_of(word):
    """Which of the eleven features hold of a word."""
    endings = ("ing", "ogy", "ed", "s", "ly", "ion", "tion", "ity", "ies")
    first = word[0].isupper() or word[0].isdigit()
    return [first, "-" in word, *(word.endswith(ending) for ending in endings)]


def test_signatures_are_all_sets_of_features_that_words_can_have():
    assert len(SIGNATURES) == len(set(SIGNATURES)) == len(HOLDS)
    lexicon = Lexicon(("simple",), {"simple": SIGNATURES})
    words = [*WORDS, *UNSEEN, "biology", "X-nation", "3-ties", "Ss", "motion", "universities"]
    _, spelling = lexicon.lookup(words)
    assert (spelling >= 0).all()
    assert_array_equal(HOLDS[spelling[:, 0]], [features_of(word) for word in words])
    assert HOLDS.shape[1] == len(SIMPLE_FEATURES) == 11


def signature(word):
    return tuple(features_of(word))


def probability(model, lexicon, word):
    """P(y | f) as an array and as what the weights say, which must agree."""
    found = lexicon.lookup([word])[1]
    p = model.probability[found[0, 0]]
    weights = model.coef[[model.rows(found)[0, 0]]].toarray()[0]
    assert_array_equal(weights > 0, p > 0)
    assert_allclose(np.diff(weights[p > 0]), np.diff(np.log(p[p > 0])), atol=1e-11)
    return p


@pytest.mark.parametrize("strength", [0.0, 2.0])
def test_joint_is_the_frequency_given_all_features(strength):
    lexicon, model = fit(JointSpelling, strength)
    for word in [*WORDS, *UNSEEN]:
        counts = COUNTS[[signature(w) == signature(word) for w in WORDS]].sum(axis=0)
        expected = PRIOR
        if counts.sum() > 0:
            expected = (counts + strength * PRIOR) / (counts.sum() + strength)
        assert_allclose(probability(model, lexicon, word), expected)


@pytest.mark.parametrize("strength", [0.0, 2.0])
def test_mean_is_the_mean_of_the_frequencies_given_each_feature(strength):
    lexicon, model = fit(MeanSpelling, strength)
    table = np.array([features_of(w) for w in WORDS])
    for word in [*WORDS, *UNSEEN]:
        terms = []
        for feature in np.flatnonzero(features_of(word)):
            counts = COUNTS[table[:, feature]].sum(axis=0)
            if counts.sum() + strength > 0:
                terms.append((counts + strength * PRIOR) / (counts.sum() + strength))
        expected = np.mean(terms, axis=0) if terms else PRIOR
        assert_allclose(probability(model, lexicon, word), expected)


PAIRS = np.array([[0, 5], [5, 0], [3, 4], [0, 5], [1, 8], [8, 2]])


def pair_counts():
    """For every pair of words its counts of labels, (n_pairs, before, after)."""
    rng = np.random.default_rng(1)
    return rng.integers(0, 3, (len(PAIRS), 3, 3)).astype(float)


def fit_pairs(kind, strength=0.0):
    lexicon, model = fit(kind, strength)
    counts = pair_counts()
    # A column is the label after, then the label before.
    flat = counts.transpose(0, 2, 1).reshape(len(PAIRS), 9)
    model.fit_pairs(lexicon, PAIRS, sp.csr_array(flat))
    return lexicon, model, counts


def rates(model, lexicon, *words):
    """Co-occurrence rates of labels (before, after) of two words."""
    before, after = lexicon.lookup(words)[1][:, 0]
    found = model.co_occurrence(np.array([before * len(SIGNATURES) + after]))
    return found.toarray().reshape(3, 3).T


def same(word, other):
    return signature(word) == signature(other)


def test_joint_rates_of_pairs():
    lexicon, model, counts = fit_pairs(JointSpelling)
    for a, b in [("walked", "of"), ("the", "of"), ("played", "in"), ("of", "Ed")]:
        used = [same(WORDS[i], a) and same(WORDS[j], b) for i, j in PAIRS]
        joint = counts[used].sum(axis=0)
        if joint.sum():
            joint /= joint.sum() * np.outer(
                probability(model, lexicon, a), probability(model, lexicon, b)
            )
        assert_allclose(rates(model, lexicon, a, b), joint)


def test_mean_rates_of_pairs():
    lexicon, model, counts = fit_pairs(MeanSpelling)
    for a, b in [("x-ing", "cities"), ("7-ly", "cities"), ("the", "of"), ("Walking", "walked")]:
        terms = []
        for f in np.flatnonzero(features_of(a)):
            for g in np.flatnonzero(features_of(b)):
                used = [features_of(WORDS[i])[f] and features_of(WORDS[j])[g] for i, j in PAIRS]
                joint = counts[used].sum(axis=0)
                if joint.sum():
                    terms.append(joint / joint.sum())
        joint = np.mean(terms, axis=0) if terms else np.zeros((3, 3))
        single = np.outer(probability(model, lexicon, a), probability(model, lexicon, b))
        assert_allclose(rates(model, lexicon, a, b), joint / single)


@pytest.mark.parametrize("kind", [JointSpelling, MeanSpelling, MaxEntSpelling])
def test_rates_of_no_pairs(kind):
    _, model, _ = fit_pairs(kind, strength=1.0)
    assert model.co_occurrence(np.empty(0, dtype=np.int64)).shape == (0, 9)


# Exponential models


def with_bias(features):
    return np.hstack([np.ones((len(features), 1)), features])


def regression(features, counts, strength):
    """The same model by scikit-learn: a row for every label of every row, and its weight."""
    rows, labels = np.nonzero(counts)
    model = LogisticRegression(C=1 / strength, fit_intercept=False, tol=1e-9, max_iter=10_000)
    return model.fit(features[rows], labels, sample_weight=counts[rows, labels])


@pytest.mark.parametrize("strength", [0.05, 1.0, 20.0])
def test_maxent_is_logistic_regression(strength):
    lexicon, model = fit(MaxEntSpelling, strength)
    reference = regression(with_bias(np.array([features_of(w) for w in WORDS])), COUNTS, strength)
    words = [*WORDS, *UNSEEN]
    expected = reference.predict_proba(with_bias(np.array([features_of(w) for w in words])))
    assert_allclose([probability(model, lexicon, w) for w in words], expected, atol=1e-3)


def test_maxent_pairs_are_logistic_regression():
    lexicon, model, counts = fit_pairs(MaxEntSpelling, strength=0.5)
    features = [features_of(WORDS[i]) + features_of(WORDS[j]) for i, j in PAIRS]
    reference = regression(with_bias(np.array(features)), counts.reshape(len(PAIRS), 9), 0.5)
    for a, b in [("walked", "of"), ("unseen-s", "Xly")]:
        p = reference.predict_proba(with_bias(np.array([features_of(a) + features_of(b)])))
        joint = np.zeros(9)
        joint[reference.classes_] = p[0]
        single = np.outer(probability(model, lexicon, a), probability(model, lexicon, b))
        assert_allclose(rates(model, lexicon, a, b), joint.reshape(3, 3) / single, rtol=5e-3)


def test_the_gradient_of_maxent_vanishes_at_its_weights(monkeypatch):
    """The function that is minimised, and its gradient against finite differences."""
    from sklearn_crcrf.estimators.empirical import signature_spelling

    calls = []

    def minimize(function, start, **options):
        calls.append((function, start.size))
        return original(function, start, **options)

    original = signature_spelling.minimize
    monkeypatch.setattr(signature_spelling, "minimize", minimize)
    fit(MaxEntSpelling, 0.7)
    ((function, size),) = calls
    rng = np.random.default_rng(0)
    features = with_bias(np.array([features_of(w) for w in WORDS]))
    for weights in rng.normal(size=(3, size)):
        value, gradient = function(weights)
        differences = approx_fprime(weights, lambda w: function(w)[0], 1e-6)
        assert_allclose(gradient, differences, atol=1e-5)
        logs = log_softmax(features @ weights.reshape(12, 3), axis=1)
        expected = 0.35 * (weights**2).sum() - (COUNTS * logs).sum()
        assert_allclose(value, expected / COUNTS.sum())


def test_a_wide_prior_recovers_the_frequencies_of_features_that_tell_signatures_apart():
    words = ["walk", "walked", "Walk"]
    counts = np.array([[4.0, 1, 5], [1, 8, 1], [2, 2, 6]])
    lexicon, model = fit(MaxEntSpelling, 1e-10, words, counts)
    frequency = counts / counts.sum(axis=1, keepdims=True)
    assert_allclose([probability(model, lexicon, w) for w in words], frequency, atol=2e-3)
    pairs = np.array([[0, 1], [1, 0], [0, 2]])
    joint = np.random.default_rng(2).integers(1, 5, (3, 9)).astype(float)
    model.fit_pairs(lexicon, pairs, sp.csr_array(joint))
    for (i, j), row in zip(pairs, joint, strict=True):
        single = np.outer(
            probability(model, lexicon, words[i]), probability(model, lexicon, words[j])
        )
        expected = row.reshape(3, 3).T / row.sum() / single
        assert_allclose(rates(model, lexicon, words[i], words[j]), expected, rtol=0.02)


def test_a_narrow_prior_makes_all_labels_alike():
    lexicon, model = fit(MaxEntSpelling, 1e9)
    assert_allclose(probability(model, lexicon, "walked"), 1 / 3, rtol=1e-5)
