"""Exponents: their table, and how they are fitted."""

from copy import deepcopy

import numpy as np
import pytest
import scipy.sparse as sp
from cases import for_each
from numpy.testing import assert_allclose, assert_array_equal
from toy import encode, make_corpus, with_tags

from sklearn_crcrf import EmpiricalCRF, SequenceArray
from sklearn_crcrf.counts.rows import FREQUENT, SELDOM, UNSEEN
from sklearn_crcrf.criteria import log_loss
from sklearn_crcrf.estimators.empirical.experts import ContextExpert
from sklearn_crcrf.estimators.empirical.fit_exponents import (
    PRIOR_WIDTH,
    HeldOut,
    fit_exponents,
    fit_temperature,
    held_out_folds,
    share_found,
)
from sklearn_crcrf.estimators.empirical.model import Entry, Exponents, state_entries
from sklearn_crcrf.structures import Chain

# The table of exponents


class TwoFeatures:
    names = ["f", "g"]
    exponents = np.array([0.5, 2.0])


def table_of(mu_oov=1.0, **values):
    defaults = {"before": 0.3, "before/seldom": 0.4, "before/unseen": 0.7, "f/unseen": 0.6}
    defaults |= {"word": 1.0, "word/seldom": 0.8, "spelling": 0.9, "spelling/seldom": 0.7}
    entries = state_entries(TwoFeatures, mu_oov, [ContextExpert("before", None)], defaults)
    exponents = Exponents([*entries, Entry("edges", 1.5)], n_slots=4)
    exponents.update(values)
    return exponents


def test_every_exponent_is_in_its_cells():
    table = table_of().table()
    # Slots: f, g, the word, the expert.
    assert_allclose(table[FREQUENT], [0.9 * 0.5, 0.9 * 2.0, 1.0, 0.3])
    assert_allclose(table[SELDOM], [0.7 * 0.5, 0.7 * 2.0, 0.8, 0.4])
    # Without a default, the exponent of the spelling model times the exponent of words.
    assert_allclose(table[UNSEEN], [0.6, 2.0, 0.0, 0.7])


def test_kinds_of_words_have_their_own_exponents():
    values = {"spelling/seldom": 0.1, "word": 3.0, "before/unseen": 4.0, "g/unseen": 5.0}
    table = table_of(mu_oov=2.0, **values).table()
    assert_allclose(table[FREQUENT], [0.9 * 0.5, 0.9 * 2.0, 3.0, 0.3])
    assert_allclose(table[SELDOM], [0.1 * 0.5, 0.1 * 2.0, 0.8, 0.4])
    assert_allclose(table[UNSEEN], [2.0 * 0.6, 2.0 * 5.0, 0.0, 4.0])


def test_pullback_of_the_table_is_its_transpose():
    exponents, rng = table_of(mu_oov=1.3), np.random.default_rng(0)
    weight = rng.normal(size=(3, 4))
    gradient = exponents.pullback(weight)
    assert gradient[exponents.names.index("edges")] == 0.0
    for values in rng.normal(size=(5, len(exponents.names))):
        exponents.values = values
        assert_allclose(gradient @ values, (weight * exponents.table()).sum())


def test_values_by_name():
    exponents = table_of(edges=0.25)
    assert exponents["edges"] == exponents.asdict()["edges"] == 0.25
    assert list(exponents.asdict()) == exponents.names


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_an_exponent_must_be_finite(value):
    with pytest.raises(ValueError, match="exponents: 'edges' must be a finite number"):
        table_of(edges=value)


@pytest.mark.parametrize("parameters", [{}, {"zeros": "floored", "spelling": "joint"}])
def test_an_unknown_name_is_an_error(parameters):
    crf = EmpiricalCRF(exponents={"wrod": 1.0}, **parameters)
    with pytest.raises(ValueError, match="exponents: there is no 'wrod'"):
        crf.fit([["a", "b"]], [["A", "B"]])
    assert not hasattr(crf, "classes_")


def test_edges_must_not_lower_transitions():
    with pytest.raises(ValueError, match="'edges' must not be negative"):
        EmpiricalCRF(exponents={"edges": -0.5}).fit(X, Y)
    crf = EmpiricalCRF(exponents={"edges": 0.0}).fit(X, Y)
    assert crf.fit_exponents(X, Y).exponents_["edges"] > 0.0


def test_an_exponent_of_zero_is_one_that_is_not_given():
    X, y = [["a", "b"], ["b", "a"]], [["A", "B"], ["B", "A"]]
    given = EmpiricalCRF(exponents={"token:suffix3[-1]": 0.0}).fit(X, y)
    assert given.exponents_["token:suffix3[-1]"] == 0.0
    for a, b in zip(given.predict_proba(X), EmpiricalCRF().fit(X, y).predict_proba(X), strict=True):
        assert_array_equal(a, b)


# Fitting


def sparse_input(X):
    """Indicators of words in the columns of a sparse matrix."""
    words = sorted({w for x in X for w in x})
    ids = [words.index(w) for x in X for w in x]
    shape = len(ids), len(words)
    data = sp.csr_array((np.ones(len(ids)), (np.arange(len(ids)), ids)), shape=shape)
    data = sp.hstack([data, (data.tocsc()[:, ::-1] > 0).astype(float)], format="csr")
    return SequenceArray(data, np.cumsum([0, *map(len, X)]))


INPUTS = {"tokens": lambda X: X, "columns": with_tags, "attributes": sparse_input}
X, Y = make_corpus(seed=3, n_sequences=50)


@pytest.fixture(scope="module", params=INPUTS.values(), ids=INPUTS.keys())
def held_out(request):
    """A model fitted to one half of the corpus, and the other half."""
    tokens = request.param(X)
    crf = EmpiricalCRF(exponents="fit").fit(tokens[:25], Y[:25])
    kept = [(x, y) for x, y in zip(tokens[25:], Y[25:], strict=True) if len(y) > 0]
    chain = Chain(np.cumsum([0, *(len(y) for _, y in kept)]))
    prepared = encode(crf, tokens[25:])[1]
    labels = np.searchsorted(crf.classes_, [label for _, y in kept for label in y])
    return crf.model_, prepared, labels, chain


def log_likelihood(held_out, values=None):
    """Of the labels of the other half, and its derivative by the exponents."""
    model, prepared, labels, chain = held_out
    if values is not None:
        model.set_exponents(values)
    scores = model.scores(prepared)
    loss, pullback = log_loss(chain, scores, labels)
    return -loss.sum(), model.pullback(prepared, scores, pullback(-np.ones_like(loss)))


@pytest.fixture
def start(held_out):
    """The exponents of the model, to which it is set back."""
    model = held_out[0]
    values = model.exponents.values.copy()
    yield values
    model.set_exponents(values)


def test_gradient(held_out, start):
    rng, names = np.random.default_rng(0), held_out[0].exponents.names
    values = start + rng.uniform(0.05, 0.3, len(start))
    _, gradient = log_likelihood(held_out, values)
    step = 1e-5
    differences = []
    for k in range(len(values)):
        up, down = values.copy(), values.copy()
        up[k] += step
        down[k] -= step
        difference = log_likelihood(held_out, up)[0] - log_likelihood(held_out, down)[0]
        differences.append(difference / (2 * step))
    assert_allclose(gradient, differences, rtol=1e-5, atol=1e-5)
    moving = {name for name, slope in zip(names, gradient, strict=True) if abs(slope) > 1e-3}
    assert {"edges", "boundary", "transition"} <= moving
    if held_out[1].attributes is not None:
        assert "attributes" in moving


def test_the_log_likelihood_is_concave(held_out, start):
    rng = np.random.default_rng(1)
    for _ in range(5):
        a, b = rng.uniform(0.01, 1.5, (2, len(start)))
        ends = log_likelihood(held_out, a)[0] + log_likelihood(held_out, b)[0]
        middle = log_likelihood(held_out, (a + b) / 2)[0]
        assert middle >= ends / 2
        # The tangent lies above, everywhere on the line.
        value, gradient = log_likelihood(held_out, a)
        for share in (0.25, 0.5, 1.0):
            there = log_likelihood(held_out, a + share * (b - a))[0]
            assert there <= value + share * gradient @ (b - a) + 1e-9


def fitted(held_out, sigma, **options):
    part = HeldOut(*held_out, np.ones(held_out[-1].n_units))
    exponents, _ = fit_exponents([part], sigma=sigma, **options)
    return np.array(list(exponents.values()))


@pytest.mark.parametrize("sigma", [0.5, 5.0, np.inf])
def test_fitting_raises_the_likelihood(held_out, start, sigma):
    before, _ = log_likelihood(held_out, start)
    values = fitted(held_out, sigma)
    assert log_likelihood(held_out, values)[0] > before + 0.5


def test_the_fitted_exponents_are_the_maximum(held_out, start):
    sigma = 0.5
    values = fitted(held_out, sigma, max_iter=1000)

    def objective(values):
        penalty = ((values - start) ** 2).sum() / (2 * (PRIOR_WIDTH * sigma) ** 2)
        return log_likelihood(held_out, values)[0] - penalty

    best, rng = objective(values), np.random.default_rng(2)
    assert best > objective(start)
    for _ in range(20):
        direction = rng.normal(size=len(values))
        assert objective(values + 0.1 * direction / np.linalg.norm(direction)) < best


def test_scores_are_divided_with_the_exponents(held_out, start):
    model, prepared, _, chain = held_out
    before = model.scores(prepared)
    model.set_exponents(start / 3.0)
    after = model.scores(prepared)
    assert_array_equal(chain.maximum(after)[1], chain.maximum(before)[1])
    _, marginals = chain.marginals(before.times(1 / 3.0))
    assert_allclose(chain.marginals(after)[1], marginals, atol=1e-12)


@pytest.mark.parametrize("temperature", [0.6, 2.0])
def test_the_temperature_of_labels_drawn_from_a_model_is_found(temperature):
    X, Y = make_corpus(seed=3, n_sequences=2000)
    crf = EmpiricalCRF().fit(X, Y)
    chain, prepared = encode(crf, X)
    y = chain.sample(crf.model_.scores(prepared), 1, np.random.default_rng(0))[0]
    part = HeldOut(crf.model_, prepared, y, chain, np.ones(chain.n_units))
    exponents = {name: temperature * value for name, value in crf.exponents_.items()}
    assert fit_temperature([part], exponents) == pytest.approx(temperature, rel=0.05)


def test_few_labels_that_are_all_right_hardly_change_the_temperature():
    crf = EmpiricalCRF().fit(X, Y)
    chain, prepared = encode(crf, X[:4])
    y = np.concatenate([np.argmax(rows, axis=1) for rows in crf.predict_proba(X[:4])])
    part = HeldOut(crf.model_, prepared, y, chain, np.ones(chain.n_units))
    assert 0.7 < fit_temperature([part], crf.exponents_) < 1.0


def test_a_narrow_prior_keeps_the_exponents(held_out, start):
    assert_allclose(fitted(held_out, 1e-4), start, atol=1e-4)


def test_the_exponent_of_the_edges_stays_positive():
    """Even for labels that are never those with which the edges of words were counted."""
    crf = EmpiricalCRF(experts=["token[-1]", "token[+1]"]).fit(X[:25], Y[:25])
    chain, prepared = encode(crf, X[:25])
    labels = np.searchsorted(crf.classes_, [label for y in Y[:25] for label in y])
    part = HeldOut(crf.model_, prepared, (labels + 1) % 4, chain, np.ones(chain.n_units))
    values, _ = fit_exponents([part], sigma=np.inf)
    assert 0.0 < values["edges"] < 0.01


def test_a_weight_is_a_number_of_copies():
    crf, n = EmpiricalCRF().fit(X[:25], Y[:25]), len(X) - 25
    times = np.arange(n) % 3
    which = 25 + np.repeat(np.arange(n), times)
    weighted = deepcopy(crf).fit_exponents(X[25:], Y[25:], times)
    copied = deepcopy(crf).fit_exponents([X[s] for s in which], [Y[s] for s in which])
    assert_allclose(weighted.loss_curve_, copied.loss_curve_, rtol=1e-6)
    assert_allclose(list(weighted.exponents_.values()), list(copied.exponents_.values()), atol=1e-4)
    assert weighted.exponents_ != deepcopy(crf).fit_exponents(X[25:], Y[25:]).exponents_


def test_weights_count_where_exponents_are_fitted():
    weights = np.full(len(X), 3.0)
    weighted = EmpiricalCRF(exponents="fit", validation_fraction=0.25).fit(X, Y, weights)
    # All that is held out weighs three times as much, and the prior of the exponents does not.
    wider = EmpiricalCRF(exponents="fit", validation_fraction=0.25).fit(X, Y)
    assert weighted.loss_curve_[0] > 2.0 * wider.loss_curve_[0]
    assert weighted.exponents_ != wider.exponents_


def test_sequences_without_weight_take_no_part():
    kept = np.arange(len(X)) < 35
    weighted = EmpiricalCRF(exponents="fit", validation_fraction=0.3).fit(X, Y, kept)
    fold = held_out_folds(np.cumsum([0, *map(len, X)]), 0.3, 4)
    assert fold.max() == 3
    folds = [(fold == k) & kept for k in range(3)]  # nothing of the last fold has a weight
    assert_exponents_fitted_on(weighted, folds, kept)


def test_it_tells_how_exponents_are_fitted():
    crf = EmpiricalCRF(exponents="fit", validation_fraction=0.25).fit(X, Y)
    assert crf.n_iter_ == len(crf.loss_curve_) > 1
    assert (np.diff(crf.loss_curve_) <= 0).all()
    assert isinstance(crf.converged_, bool)
    curve = crf.loss_curve_
    assert crf.partial_fit(X[:5], Y[:5]).loss_curve_ == curve
    assert not hasattr(crf.set_params(exponents=None).fit(X, Y), "n_iter_")


def test_fitting_is_deterministic():
    first, second = (
        EmpiricalCRF(exponents="fit", validation_fraction=0.25).fit(X, Y) for _ in range(2)
    )
    assert first.exponents_ == second.exponents_
    assert first.exponents_ != EmpiricalCRF().fit(X, Y).exponents_
    for a, b in zip(first.predict_proba(X), second.predict_proba(X), strict=True):
        assert_array_equal(a, b)


def test_many_labels_are_fitted_on_fewer_tokens():
    held_out = [(held_out_folds(np.arange(0, 10**6, 10), 0.1, n) >= 0).sum() for n in (2, 50, 999)]
    assert held_out == [8000, 4000, 2000]


def test_the_share_of_rare_labels_that_are_found():
    crf = EmpiricalCRF().fit(X, Y)
    chain, prepared = encode(crf, X[:9])
    best = np.concatenate([np.argmax(rows, axis=1) for rows in crf.predict_proba(X[:9])])
    weight = np.arange(9.0)
    of_token = np.repeat(weight, np.diff(chain.offsets))
    assert share_found([HeldOut(crf.model_, prepared, best, chain, weight)]) == 1.0
    y = best.copy()
    y[::3] = 1
    others = y != np.bincount(y, of_token).argmax()
    expected = np.average((y == best)[others], weights=of_token[others])
    assert_allclose(share_found([HeldOut(crf.model_, prepared, y, chain, weight)]), expected)
    same = np.full_like(best, 2)
    assert share_found([HeldOut(crf.model_, prepared, same, chain, weight)]) == 1.0


def assert_exponents_fitted_on(crf, folds, counted, X=X, Y=Y):
    """The exponents of models that each count all sequences but a fold, fitted to the folds."""
    parts = []
    for held_out in folds:
        train, test = np.flatnonzero(counted & ~held_out), np.flatnonzero(held_out)
        options = {"exponents": dict.fromkeys(crf.exponents_, 0.0)}  # all experts are counted
        model = EmpiricalCRF(**options).fit([X[i] for i in train], [Y[i] for i in train])
        defaults = options["exponents"] | EmpiricalCRF().fit(X, Y).exponents_
        model.model_.set_exponents(np.array(list(defaults.values())))
        chain, prepared = encode(model, [X[i] for i in test])
        labels = np.searchsorted(model.classes_, [label for i in test for label in Y[i]])
        parts.append(HeldOut(model.model_, prepared, labels, chain, np.ones(chain.n_units)))
    best, _ = fit_exponents(parts, sigma=1.0)
    # Far from the defaults, labels are worse, the more so where few rare labels are found.
    share = min(0.7, share_found(parts))
    moved = {name: defaults[name] + share * (best[name] - defaults[name]) for name in best}
    expected = np.array(list(moved.values())) / fit_temperature(parts, moved)
    assert_allclose(list(crf.exponents_.values()), expected, atol=1e-7)


def test_every_sequence_is_held_out_once():
    crf = EmpiricalCRF(exponents="fit", validation_fraction=0.25).fit(X, Y)
    fold = np.arange(len(X)) * 4 // len(X)
    assert_exponents_fitted_on(crf, [fold == k for k in range(4)], np.ones(len(X), dtype=bool))


def test_exponents_keep_some_distance_from_their_best_values_where_all_labels_are_found():
    twice, labels = X[:20] * 2, Y[:20] * 2
    crf = EmpiricalCRF(exponents="fit", validation_fraction=0.5).fit(twice, labels)
    first = np.arange(40) < 20
    assert_exponents_fitted_on(crf, [first, ~first], np.ones(40, dtype=bool), twice, labels)


@for_each("n_units", [1, 2, 3, 7, 100, 5000])
@for_each("length", [1, 20, 700])
@for_each("fraction", [0.03, 0.1, 0.5, 0.9])
def test_folds_are_blocks_of_a_limited_number_of_tokens(n_units, length, fraction):
    lengths = np.random.default_rng(0).integers(length // 2, 2 * length, n_units)
    offsets = np.cumsum([0, *lengths])
    fold = held_out_folds(offsets, fraction, n_labels=500)
    held_out = lengths[fold >= 0].sum()
    n_folds = fold.max() + 1
    if offsets[-1] <= 20_000:
        assert (fold >= 0).all()
        assert (np.diff(fold) >= 0).all()
        assert n_folds == min(np.ceil(1 / fraction), n_units)
    else:
        assert 15_000 < held_out < 20_000 + 2 * 20 * length
        n_blocks = (np.diff(fold, prepend=-1)[fold >= 0] != 0).sum()
        assert n_blocks >= min(10, n_units)
    if n_units >= 100 and fraction < 0.9:
        sizes = np.bincount(fold[fold >= 0], lengths[fold >= 0])
        assert sizes.max() <= 1.5 * fraction * offsets[-1] + 4 * length


def test_in_the_end_all_sequences_are_counted():
    fitted = EmpiricalCRF(exponents="fit", validation_fraction=0.25).fit(X, Y)
    given = EmpiricalCRF(exponents=fitted.exponents_).fit(X, Y)
    assert fitted.counts_ == given.counts_
    assert fitted.exponents_ == given.exponents_


@pytest.mark.parametrize("zeros", ["floored", "exact"])
def test_frequencies_have_no_exponents_to_fit(zeros):
    with pytest.raises(ValueError, match="smoothed"):
        EmpiricalCRF.ecrn(zeros=zeros, exponents="fit").fit(X, Y)
    with pytest.raises(ValueError, match="smoothed"):
        EmpiricalCRF.ecrn(zeros=zeros).fit(X, Y).fit_exponents(X, Y)


# Unknown labels


def test_sequences_with_unknown_labels_are_not_held_out():
    hidden = np.arange(len(X)) % 3 == 0
    some = [[None, *y[1:]] if hide else y for y, hide in zip(Y, hidden, strict=True)]
    crf = EmpiricalCRF(exponents="fit", validation_fraction=0.25).fit(X, some)
    assert crf.n_iter_ > 1
    start = EmpiricalCRF().fit(X[:25], Y[:25])
    kept = [i for i in range(25, len(X)) if not hidden[i]]
    expected = deepcopy(start).fit_exponents([X[i] for i in kept], [Y[i] for i in kept])
    assert deepcopy(start).fit_exponents(X[25:], some[25:]).exponents_ == expected.exponents_


def test_exponents_keep_their_defaults_if_no_sequence_is_complete():
    some = [[None, *y[1:]] for y in Y]
    with pytest.warns(UserWarning, match="has unknown labels") as caught:
        crf = EmpiricalCRF(exponents="fit").fit(X, some)
    assert caught[0].filename == __file__
    assert crf.n_iter_ == 0
    assert crf.converged_
    with pytest.raises(ValueError, match="labels that are unknown"):
        EmpiricalCRF().fit(X, Y).fit_exponents(X, some)


# Fitting them anew to data that were counted

REFITTED = [
    {},
    {"order": 2, "validation_fraction": 0.3},
    {"sigma": 2.0, "mu_oov": 1.5},
    {"experts": ["token[-1]", "token:shape[0]"]},
]


@for_each("params", REFITTED)
def test_refitted_exponents_are_those_of_a_new_fit(params):
    expected = EmpiricalCRF(exponents="fit", **params).fit(X[:25], Y[:25])
    crf = EmpiricalCRF(exponents="fit", **params).fit(X[25:] + X[:25], Y[25:] + Y[:25])
    crf.forget(X[25:], Y[25:])
    assert crf.exponents_ != expected.exponents_
    assert crf.refit_exponents(X[:25], Y[:25]) is crf
    assert_allclose([*crf.exponents_.values()], [*expected.exponents_.values()], atol=1e-12)
    for p, q in zip(crf.predict_proba(X), expected.predict_proba(X), strict=True):
        assert_allclose(p, q, atol=1e-12)
    assert (crf.n_iter_, crf.converged_) == (expected.n_iter_, expected.converged_)


def test_refitted_exponents_of_columns_segments_and_learned_data():
    tagged = with_tags(X)
    whole = EmpiricalCRF(exponents="fit").fit(tagged, Y)
    crf = EmpiricalCRF(exponents="fit").fit(tagged[:20], Y[:20]).partial_fit(tagged[20:], Y[20:])
    assert crf.exponents_ != whole.exponents_
    assert crf.refit_exponents(tagged, Y).exponents_ == whole.exponents_
    labels = [["B" if label == "N" else "O" for label in labels] for labels in Y]
    whole = EmpiricalCRF(exponents="fit", segments="counted").fit(X, labels)
    crf = EmpiricalCRF(exponents="fit", segments="counted").fit([*X, *X[:9]], labels + labels[:9])
    refitted = crf.forget(X[:9], labels[:9]).refit_exponents(X, labels).exponents_
    assert refitted == whole.exponents_


def test_exponents_are_refitted_to_a_part_of_the_data():
    crf = EmpiricalCRF(exponents="fit").fit(X, Y)
    counts, fitted = crf.counts_, dict(crf.exponents_)
    crf.refit_exponents(X[:15], Y[:15])
    assert crf.counts_ == counts and crf.exponents_ != fitted
    start = EmpiricalCRF().fit(X, Y)
    assert (
        start.refit_exponents(X, Y).exponents_.keys() == EmpiricalCRF().fit(X, Y).exponents_.keys()
    )


def test_what_was_not_counted_is_not_refitted():
    crf = EmpiricalCRF(exponents="fit").fit(X[:25], Y[:25])
    before = dict(crf.exponents_)
    for new, labels in ((X, Y), ([["zebra"], ["a"]], [["N"], ["N"]])):
        with pytest.raises(ValueError, match="some of these sequences were never counted"):
            crf.refit_exponents(new, labels)
    with pytest.raises(ValueError, match="needs tokens in two sequences"):
        crf.refit_exponents(X[:1], Y[:1])
    with pytest.raises(ValueError, match='only if zeros="smoothed"'):
        EmpiricalCRF.ecrn().fit(X, Y).refit_exponents(X, Y)
    with pytest.raises(ValueError, match="min_count=2"):
        EmpiricalCRF(min_count=2).fit(X, Y).refit_exponents(X, Y)
    assert crf.exponents_ == before
