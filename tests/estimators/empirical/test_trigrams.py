import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_crcrf import EmpiricalCRF
from sklearn_crcrf.counts import count_tokens
from sklearn_crcrf.estimators.empirical.run_rates import RUNS, SHARE, STRENGTH, RunRates

label_sequences = st.lists(st.lists(st.integers(0, 2), max_size=7), min_size=1, max_size=8)
EVERY = np.array(list(np.ndindex(3, 3, 3))).T


def rates(sequences, strength):
    labels = np.array([label for s in sequences for label in s], dtype=int)
    offsets = np.cumsum([0, *map(len, sequences)])
    return RunRates(count_tokens({}, labels, offsets, RUNS[:1])[RUNS[0]], 3, strength, 1.0)


def trigram_counts(sequences):
    counts = np.zeros((3, 3, 3))
    for labels in sequences:
        for i, j, k in zip(labels[:-2], labels[1:-1], labels[2:], strict=True):
            counts[i, j, k] += 1
    return counts


@given(label_sequences, st.sampled_from([0.2, 1.0, 4.0]))
def test_the_smoothed_estimate_over_its_prior(sequences, strength):
    c = trigram_counts(sequences)
    expected = np.zeros((3, 3, 3))
    s = STRENGTH * strength
    for i, j, k in np.ndindex(3, 3, 3):
        of_middle = c[:, j].sum()
        given_middle = c[:, j, k].sum() / of_middle if of_middle else 0.0
        if given_middle:
            estimate = (c[i, j, k] + s * given_middle) / (c[i, j].sum() + s)
            expected[i, j, k] = SHARE * np.log(estimate / given_middle)
        elif c[i, j].sum():
            # The limit for labels that become ever rarer after j.
            expected[i, j, k] = SHARE * np.log(s / (c[i, j].sum() + s))
    assert_allclose(rates(sequences, strength)(*EVERY), expected.ravel(), atol=1e-12)


@given(label_sequences)
def test_without_smoothing_it_is_the_co_occurrence_rate_of_the_counts(sequences):
    c = trigram_counts(sequences)
    scores = rates(sequences, 0.0)(*EVERY).reshape(3, 3, 3)
    assert np.isfinite(scores).all()
    for i, j, k in zip(*np.nonzero(c), strict=True):
        # CR(i; k | j) = p(i, k | j) / (p(i | j) p(k | j))
        of_middle = c[:, j].sum()
        joint = c[i, j, k] / of_middle
        rate = joint / ((c[i, j].sum() / of_middle) * (c[:, j, k].sum() / of_middle))
        assert_allclose(scores[i, j, k], SHARE * np.log(rate), atol=1e-9)
    assert (scores[(c == 0) & (c.sum(axis=2, keepdims=True) > 0)] < -300).all()


def test_no_trigrams_say_nothing():
    assert_array_equal(rates([[0, 1], [2]], 1.0)(*EVERY), 0.0)


def test_the_second_order_sees_what_label_pairs_cannot():
    """After 0 1 comes 2 and after 3 1 comes 4, whatever the words."""
    X = [["x"] * 3] * 40
    y = [["0", "1", "2"], ["3", "1", "4"]] * 20
    first, second = (EmpiricalCRF(order=order).fit(X, y) for order in (1, 2))

    def probability(crf, labels):
        return {tuple(path): p for path, p in crf.predict_k_best(X[:1], 8)[0]}.get(labels, 0.0)

    crossed = probability(second, ("0", "1", "4")) / probability(second, ("0", "1", "2"))
    assert_allclose(probability(first, ("0", "1", "4")) / probability(first, ("0", "1", "2")), 1.0)
    # p(2 | 1) is 1/2, and 20 trigrams of 30 observations, with the prior, end in it.
    expected = (STRENGTH / (20 + STRENGTH)) / ((20 / 0.5 + STRENGTH) / (20 + STRENGTH))
    assert_allclose(crossed, expected ** (SHARE * second.exponents_["transition"]))


def test_the_exponent_follows_the_transitions_when_exponents_are_fitted_later():
    X = [["x"] * 3, ["y", "x", "y"]] * 20
    y = [["0", "1", "2"], ["3", "1", "4"]] * 20
    crf = EmpiricalCRF(order=2).fit(X, y)
    crf.fit_exponents(X[:10], y[:10])
    fitted = crf.exponents_["transition"]
    again = EmpiricalCRF(order=2, exponents=crf.exponents_).fit(X, y)
    assert crf._run_rates[0].exponent == SHARE * fitted
    assert_array_equal(crf.predict_proba(X[:2])[1], again.predict_proba(X[:2])[1])
