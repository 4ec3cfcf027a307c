import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sklearn_crcrf.counts.binning import EqualFrequencyBins

columns = arrays(
    np.float64,
    st.tuples(st.integers(1, 30), st.integers(1, 3)),
    elements=st.integers(-9, 9).map(lambda v: v / 4),
)


@given(columns, st.integers(2, 6))
def test_bins_are_in_order_and_few_values_are_kept_apart(X, n_bins):
    bins = EqualFrequencyBins(n_bins).fit_transform(X)
    for values, codes in zip(X.T, bins.T, strict=True):
        order = np.argsort(values)
        assert (np.diff(codes[order]) >= 0).all()
        distinct = np.unique(values)
        assert len(np.unique(codes)) <= min(n_bins, len(distinct))
        if len(distinct) <= n_bins:
            assert len(np.unique(codes)) == len(distinct)
        elif len(distinct) > 1:
            assert len(np.unique(codes)) > 1


@given(columns, st.data())
def test_a_weight_is_a_repetition(X, data):
    weights = data.draw(arrays(np.int64, len(X), elements=st.integers(1, 4)))
    weighted = EqualFrequencyBins(4).fit(X, sample_weight=weights)
    repeated = EqualFrequencyBins(4).fit(np.repeat(X, weights, axis=0))
    assert np.array_equal(weighted.transform(X), repeated.transform(X))


def test_bins_are_equally_frequent():
    X = np.random.default_rng(0).exponential(size=(10_000, 1))
    counts = np.bincount(EqualFrequencyBins(10).fit_transform(X).ravel())
    assert (abs(counts - 1000) <= 1).all()


def test_a_frequent_value_does_not_swallow_the_others():
    X = np.append(np.zeros(95), np.arange(1, 21))[:, None]
    bins = EqualFrequencyBins(10).fit_transform(X).ravel()
    assert len(np.unique(bins[95:])) > 1 or bins[0] != bins[95]
    binary = np.append(np.zeros(99), 1)[:, None]
    assert EqualFrequencyBins().fit_transform(binary).ravel().tolist() == [0] * 99 + [1]
