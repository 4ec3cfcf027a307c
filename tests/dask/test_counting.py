"""Counting on workers gives the same model as one fit in memory, bit for bit."""

import pickle

import dask
import numpy as np
import pytest

from sklearn_crcrf import HMM, EmpiricalCRF
from sklearn_crcrf.counts import count
from sklearn_crcrf.dask import DaskEmpiricalCRF, DaskHMM, computing
from sklearn_crcrf.dask.counting import Packed

PAIRS = [(DaskEmpiricalCRF, EmpiricalCRF), (DaskHMM, HMM)]


def bits(model):
    """All that a model holds."""
    return pickle.dumps(model)


def equal(model, other, X):
    """Whether two models have the same counts, labels, weights and probabilities, in all bits."""
    assert model.counts_ == other.counts_
    assert model.classes_.tolist() == other.classes_.tolist()
    assert (model.attribute_names_ == other.attribute_names_).all()
    pairs = zip(model.predict_proba(X), other.predict_proba(X), strict=True)
    assert all(np.array_equal(a, b) for a, b in pairs)
    for name in ("data", "indices", "indptr"):
        assert np.array_equal(getattr(model.coef_, name), getattr(other.coef_, name))
    return np.array_equal(model.transitions_, other.transitions_)


@pytest.mark.parametrize("estimator, local", PAIRS)
@pytest.mark.parametrize("fan_in", [2, 3])
def test_the_model_is_that_of_one_fit(estimator, local, fan_in, corpus, in_parts, monkeypatch):
    monkeypatch.setattr(computing, "FAN_IN", fan_in)
    X, y = corpus
    model = estimator().fit(in_parts(X), in_parts(y))
    assert equal(model, local().fit(X, y), X)
    assert equal(model.to_local(), model, X)


@pytest.mark.parametrize("cuts", [[0, 40], [0, 1, 2, 3, 40], [0, 20, 20, 20, 40]])
def test_on_workers_the_cuts_do_not_matter(cuts, corpus, in_parts, client):
    X, y = corpus
    model = DaskEmpiricalCRF(client=client).fit(in_parts(X, cuts), in_parts(y, cuts))
    assert equal(model, EmpiricalCRF().fit(X, y), X)


@pytest.mark.parametrize("n_workers", [1, 4])
def test_on_any_number_of_workers(n_workers, corpus, in_parts, own_client):
    X, y = corpus
    client = own_client(n_workers)
    model = DaskEmpiricalCRF(client=client).fit(in_parts(X), in_parts(y))
    assert equal(model, EmpiricalCRF().fit(X, y), X)


def test_parameters_columns_and_weights(corpus, in_parts):
    X, y = corpus
    X = [[{"word": word, "last": word[-1:]} for word in words] for words in X]
    X[0][0].pop("last")
    weight = np.arange(len(X)) % 3
    given = {"order": 2, "sigma": 2.0, "experts": ["word[-1]", "last[0]"]}
    model = DaskEmpiricalCRF(**given).fit(
        in_parts(X), in_parts(y, bag=False), in_parts(weight.tolist())
    )
    assert equal(model, EmpiricalCRF(**given).fit(X, y, weight), X)


def test_the_first_part_with_tokens_sets_the_bins_of_numbers():
    rng = np.random.default_rng(0)
    X = [[rng.normal(size=(4, 2)) for _ in range(n)] for n in (5, 9)]
    y = [[(rows[:, 0] > 0).tolist() for rows in part] for part in X]
    expected = HMM().fit_parts(zip(X, y, strict=True))
    parts = [[dask.delayed(part) for part in ([], *data)] for data in (X, y)]
    assert equal(DaskHMM().fit(*parts), expected, X[0])


@pytest.mark.parametrize("weight", [1, 300, 0.25])
def test_counts_that_move_are_small_and_exact(weight, corpus):
    X, y = corpus
    part = count(EmpiricalCRF(), X, y, [weight] * len(X))
    stored = pickle.dumps(Packed(part))
    assert len(stored) < 0.7 * len(pickle.dumps(part))
    moved = pickle.loads(stored).value
    assert moved.counts == part.counts and moved.labels == part.labels


def test_refused_before_any_work(in_parts):
    def untouched():
        raise AssertionError("work was done")

    X = [dask.delayed(untouched)()]
    with pytest.raises(ValueError, match='exponents="fit" needs all data at once'):
        DaskEmpiricalCRF(exponents="fit").fit(X, X)
    with pytest.raises(ValueError, match="'sigma' parameter of DaskEmpiricalCRF"):
        DaskEmpiricalCRF(sigma=-1).fit(X, X)
    with pytest.raises(ValueError, match="'client' parameter of DaskHMM"):
        DaskHMM(client="127.0.0.1").fit(X, X)
    with pytest.raises(ValueError, match="y has 2 parts, but X has 1: partition both alike"):
        DaskHMM().fit(X, X * 2)
    for data in (["a"], [["a"]], None, 1, []):
        with pytest.raises(TypeError, match=r"X must be a .*Bag or a list of"):
            DaskHMM().fit(data, X)


def test_errors_say_in_which_part(corpus, in_parts, client):
    X, y = corpus
    wrong = [*y[:20], y[20][1:], *y[21:]]
    with pytest.raises(ValueError, match=r"part 3: sequence 4 has \d+ tokens in X, but \d+ in y"):
        DaskEmpiricalCRF(client=client).fit(in_parts(X), in_parts(wrong))
    with pytest.raises(ValueError, match="part 5: X has 8 sequences, but y has 7"):
        shorter = in_parts(y[:35] + y[36:], [0, 9, 9, 16, 24, 28, 35, 39, 39])
        DaskHMM().fit(in_parts(X), shorter)
    with pytest.raises(ValueError, match="no token to fit to"):
        DaskHMM().fit(in_parts([[], []], [0, 1, 1, 2]), in_parts([[], []], [0, 1, 1, 2]))


def test_a_fit_that_fails_changes_nothing(corpus, in_parts):
    X, y = corpus
    model = DaskHMM().fit(in_parts(X), in_parts(y))
    before = bits(model)
    with pytest.raises(ValueError, match=r"part \d: "):
        model.fit(in_parts(X), in_parts(X[1:] + X[:1]))
    assert bits(model) == before
