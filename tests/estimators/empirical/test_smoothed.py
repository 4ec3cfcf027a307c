"""The scores of the smoothed model against the formulas of its estimates."""

import numpy as np
import oracle
import pytest
import scipy.sparse as sp
from dirichlet import SPELLING_EXPONENTS, Reference
from numpy.testing import assert_allclose, assert_array_equal
from toy import encode, make_corpus, scores_of, with_tags

from sklearn_crcrf import EmpiricalCRF, SequenceArray
from sklearn_crcrf.counts.rows import FREQUENT, SELDOM, UNSEEN
from sklearn_crcrf.estimators.empirical import smoothing
from sklearn_crcrf.estimators.empirical.experts import edge_experts
from sklearn_crcrf.estimators.empirical.smoothing import CONTEXT_STRENGTH

UNKNOWN_WORDS = [["zzz", "Unseens", "walk"], ["self-walked"], ["Paris", "Hausung", "42", "und"]]
KINDS = ("", "/seldom", "/unseen")


def constant(values):
    """The values less their mean: scores count only up to a constant."""
    return values - values.mean()


X, Y = make_corpus()
DEFAULTS = EmpiricalCRF().fit(X, Y).exponents_
# Exponents that differ between kinds of words, and experts that are not used by default.
OTHER_EXPONENTS = {
    "word": 0.9,
    "word/seldom": 1.2,
    "spelling": 0.8,
    "spelling/seldom": 1.1,
    "suffix3/unseen": 0.4,
    "label/unseen": 0.7,
    "edges": 1.3,
    "transition": 0.6,
    "boundary": 0.5,
}


def experts_of_their_own(column):
    return {
        f"{column}[-1]{kind}": value for kind, value in zip(KINDS, (0.1, 0.3, 0.5), strict=True)
    } | {f"{column}:suffix3[+1]/unseen": 0.4, f"{column}:shape[-1]|{column}:shape[+1]": -0.2}


CASES = {
    "default": (X, {}),
    "narrow": (X, {"sigma": 0.7, "mu_oov": 1.7}),
    "exponents": (X, {"exponents": OTHER_EXPONENTS | experts_of_their_own("token")}),
    "columns": (with_tags(X), {"observation": "word"}),
    "columns with exponents": (
        with_tags(X),
        {
            "observation": "word",
            "sigma": 2.0,
            "exponents": OTHER_EXPONENTS
            | experts_of_their_own("word")
            | {"tag[-2]|tag[-1]": 0.3, "word[0]|tag[+1]/seldom": 0.2},
        },
    ),
}


@pytest.fixture(scope="module", params=CASES.values(), ids=CASES.keys())
def fitted(request):
    X, parameters = request.param
    crf = EmpiricalCRF(**parameters).fit(X, Y)
    unknown = UNKNOWN_WORDS if X[0] and isinstance(X[0][0], str) else with_tags(UNKNOWN_WORDS)
    return crf, Reference(crf, X, Y), [*X[:8], *unknown, [], X[9][:1]]


def tokens_of(X):
    return [(x, t) for x in X for t in range(len(x))]


def test_the_corpus_has_words_of_all_kinds():
    crf = EmpiricalCRF().fit(X, Y)
    kinds = encode(crf, [*X[:8], *UNKNOWN_WORDS])[1].kind
    assert (np.bincount(kinds) > 4).all()


def test_words_seen_at_most_ten_times_are_seldom():
    words = ["a"] * 11 + ["b"] * 10 + ["c"]
    crf = EmpiricalCRF().fit([[word] for word in words], [["A"], ["B"]] * 11)
    _, prepared = encode(crf, [["a", "b", "c", "d"]])
    assert_array_equal(prepared.kind, [FREQUENT, SELDOM, SELDOM, UNSEEN])


def test_state_scores_are_logarithms_of_the_estimates(fitted):
    crf, reference, X = fitted
    state = scores_of(crf, X).state
    for row, (x, t) in zip(state, tokens_of(X), strict=True):
        assert_allclose(constant(row), constant(reference.state(x, t)), atol=1e-9)


def test_edges_are_logarithms_of_the_estimates(fitted):
    crf, reference, X = fitted
    scores, n = scores_of(crf, X), len(crf.classes_)
    log_rate = crf.model_.transitions.inner
    n_raised = 0
    for row, (x, t) in enumerate(tokens_of(X)):
        if t == 0:
            assert scores.token_transitions.row[row] == -1
            continue
        found = [oracle.transition_score(scores, row, i, j) for i, j in np.ndindex(n, n)]
        expected = crf.exponents_["transition"] * log_rate
        gain = reference.edge(x, t, np.exp(log_rate))
        expected = expected + crf.exponents_["edges"] * gain
        n_raised += gain.any()
        assert_allclose(constant(np.array(found)), constant(expected.ravel()), atol=1e-9)
    assert n_raised > 10


def test_boundaries(fitted):
    crf, _, X = fitted
    scores, transitions = scores_of(crf, X), crf.model_.transitions
    assert_array_equal(scores.begin, crf.exponents_["boundary"] * transitions.begin)
    assert_array_equal(scores.end, crf.exponents_["boundary"] * transitions.end)
    assert_array_equal(crf.transitions_, scores.transition)


def test_weights_are_positive_and_only_of_labels_that_occurred():
    crf = EmpiricalCRF().fit(X, Y)
    model, coef = crf.model_, crf.coef_
    assert (coef.data >= 0).all()
    assert coef.shape[1] == len(crf.classes_)
    assert coef.nnz < 0.75 * np.prod(coef.shape)
    reference = Reference(crf, X, Y)
    start = model.state.starts[1]
    for i, word in enumerate(crf.encoder_.lexicon.words.symbols):
        labels = crf.classes_[coef[[start + i]].indices]
        assert set(labels) == set(reference.words[word,])
    assert (model.edge_coef.data >= 0).all()
    experts = edge_experts(["token"], reference.features)
    tables = [reference.label_pairs(expert.template) for expert in experts]
    assert model.edge_coef.nnz == sum(len(pairs) for table in tables for pairs in table.values())


def test_attributes_of_a_sparse_matrix():
    rng = np.random.default_rng(0)
    counts = sp.random_array((200, 9), density=0.3, rng=rng, data_sampler=rng.poisson).tocsr()
    counts.data = np.round(counts.data) + rng.integers(0, 2, counts.nnz)
    offsets = np.arange(0, 201, 4)
    labels = rng.integers(0, 3, 200)
    crf = EmpiricalCRF(sigma=1.5).fit(
        SequenceArray(counts, offsets), SequenceArray(labels, offsets)
    )
    prepared = crf._prepare(SequenceArray(counts, offsets))
    state = crf.model_.scores(prepared).state
    without = crf.model_.scores(prepared._replace(attributes=None)).state
    prior = (np.bincount(labels) + 0.1) / (200 + 0.3)
    by_label = np.array([counts.toarray()[labels == i].sum(axis=0) for i in range(3)]).T
    k = CONTEXT_STRENGTH / 1.5**2
    estimate = (by_label + k * prior) / (by_label.sum(axis=1, keepdims=True) + k)
    exponent = max(counts.sum() / 200, 1.0) ** -0.5
    assert_allclose(crf.exponents_["attributes"], exponent)
    expected = exponent * counts.toarray() @ np.log(estimate / prior)
    difference = state - without - expected
    assert_allclose(difference - difference[:, :1], 0.0, atol=1e-9)


# mu_oov and sigma


def test_mu_oov_is_the_exponent_of_the_spelling_of_unknown_words():
    model = EmpiricalCRF(exponents=dict.fromkeys(context_names(), 0.0)).fit(X, Y)
    power = EmpiricalCRF(mu_oov=1.7, exponents=dict.fromkeys(context_names(), 0.0)).fit(X, Y)
    tokens = [*X[:5], *UNKNOWN_WORDS]
    kind = encode(model, tokens)[1].kind
    one, other = scores_of(model, tokens).state, scores_of(power, tokens).state
    assert (kind == UNSEEN).sum() > 3
    assert_array_equal(one[kind < UNSEEN], other[kind < UNSEEN])
    assert_allclose(1.7 * one[kind == UNSEEN], other[kind == UNSEEN])


def context_names():
    """Names of all exponents but the exponents of the word itself."""
    own = ("word", "spelling", *(f"{feature}/unseen" for feature in SPELLING_EXPONENTS))
    return [name for name in DEFAULTS if name.removesuffix("/seldom") not in own]


def test_mu_oov_changes_only_sentences_with_unknown_words():
    known, neutral = X[:20], EmpiricalCRF().fit(X, Y)
    for mu_oov in (0.0, 0.5, 3.0):
        crf = EmpiricalCRF(mu_oov=mu_oov).fit(X, Y)
        for a, b in zip(crf.predict_proba(known), neutral.predict_proba(known), strict=True):
            assert_array_equal(a, b)
        changed = np.concatenate(crf.predict_proba(UNKNOWN_WORDS))
        before = np.concatenate(neutral.predict_proba(UNKNOWN_WORDS))
        assert abs(changed - before).max() > 0.01
    one = EmpiricalCRF(mu_oov=1.0).fit(X, Y).predict_proba(UNKNOWN_WORDS)
    assert_array_equal(np.concatenate(one), before)


def test_large_mu_oov_decides_by_spelling_alone():
    context = dict.fromkeys(context_names(), 0.0)
    spelling = EmpiricalCRF(exponents=context).fit(X, Y)
    crf = EmpiricalCRF(mu_oov=1e4).fit(X, Y)
    unknown = [["zzz", "Unseens", "self-walked", "Hausung"]]
    assert crf.predict(unknown)[0] == spelling.predict(unknown)[0]


def word_probabilities(sigma):
    exponents = dict.fromkeys(context_names(), 0.0)
    exponents |= {name: 1.0 for name in DEFAULTS if name.partition("/")[0] in ("word", "spelling")}
    crf = EmpiricalCRF(sigma=sigma, exponents=exponents).fit(X, Y)
    words = crf.encoder_.lexicon.words.symbols
    return crf, words, np.concatenate(crf.predict_proba([[word] for word in words]))


@pytest.mark.parametrize("sigma", [1e5, np.inf])
def test_a_wide_prior_gives_frequencies(sigma):
    crf, words, probability = word_probabilities(sigma)
    counts = Reference(EmpiricalCRF().fit(X, Y), X, Y).words
    frequency = [[counts[w,][i] / counts[w,].total() for i in crf.classes_] for w in words]
    assert_allclose(probability, frequency, atol=1e-5)


def test_a_narrow_prior_gives_the_prior():
    crf, _, probability = word_probabilities(1e-4)
    base = Reference(EmpiricalCRF().fit(X, Y), X, Y).base
    expected = np.tile([base[i] for i in crf.classes_], (len(probability), 1))
    assert_allclose(probability, expected, atol=1e-5)


def test_weights_of_single_tokens_may_be_zero():
    X = [["a", "b", "c"], ["a", "c", "b"], ["b", "b", "a"], ["d", "a", "b"]]
    y = [["A", "B", "A"], ["A", "A", "B"], ["B", "B", "A"], ["C", "A", "B"]]
    weights = [[0, 1, 1], [1, 0, 1], [1, 1, 0], [0, 1, 1]]
    crf = EmpiricalCRF().fit(X, y, sample_weight=weights)
    assert crf.classes_.tolist() == ["A", "B"]
    assert not crf.known_tokens([["d"]])[0][0]


@pytest.mark.parametrize("sigma", [1e-18, 1e-6, 1e6, np.inf])
def test_extreme_sigma(sigma):
    X, y = [["a", "b"], ["b"], []], [["A", "B"], ["B"], []]
    crf = EmpiricalCRF(sigma=sigma).fit(X, y)
    assert all(np.isfinite(p).all() for p in crf.predict_proba([["a", "x", "b"]]))


def test_rates_of_pairs_do_not_depend_on_how_many_are_computed_at_once(monkeypatch):
    expected = EmpiricalCRF().fit(X, Y).model_
    monkeypatch.setattr(smoothing, "EVENTS", 3)
    monkeypatch.setattr(smoothing, "MANY_EVENTS", 0)
    found = EmpiricalCRF().fit(X, Y).model_
    assert_array_equal(found.edge_coef.toarray(), expected.edge_coef.toarray())
    assert_array_equal(found._edge_starts, expected._edge_starts)
    for (template, index), (_, other) in zip(found._edges, expected._edges, strict=True):
        assert_array_equal(index.keys, other.keys, err_msg=str(template))
