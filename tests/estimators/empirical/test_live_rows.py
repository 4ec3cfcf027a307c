"""A model that learns and forgets by rows predicts what a fit of the same data predicts."""

import threading
from copy import copy

import numpy as np
import pytest
from sklearn.base import clone

from sklearn_crcrf import EmpiricalCRF, SequenceArray
from sklearn_crcrf.counts.pending import PENDING
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.estimators.empirical import live_rows
from tests.counted_trees import make_trees, with_tag
from tests.estimators.empirical.test_left_out import MODELS, rows_of


@pytest.fixture(scope="module")
def addresses():
    return make_addresses(80, random_state=3)


@pytest.fixture(autouse=True)
def _room(monkeypatch):
    monkeypatch.setattr(live_rows, "LEAST_ROOM", 1000)


def by_rows(crf):
    return PENDING in vars(crf)


def sequences(X, numbers):
    return X[np.asarray(numbers)] if isinstance(X, SequenceArray) else [X[i] for i in numbers]


def check(crf, X, y, tolerance=1e-13):
    """Learn some sequences and forget others, and compare with fits."""
    start, more, gone = range(60), range(60, 66), [3, 17, 62]
    crf = clone(crf).fit(sequences(X, start), [y[i] for i in start])
    for i in more:
        crf.partial_fit(sequences(X, [i]), [y[i]])
    known, asked = [*start, *more], sequences(X, [0, 3, 17, 60, 62, 70, 71])
    for forgotten in ([], gone):
        for i in forgotten:
            crf.forget(sequences(X, [i]), [y[i]])
            known.remove(i)
        expected = clone(crf).fit(sequences(X, known), [y[i] for i in known])
        found, of_fit = (np.concatenate([*model.predict_proba(asked)]) for model in (crf, expected))
        np.testing.assert_allclose(found, of_fit, atol=tolerance)
        assert (
            np.concatenate([*crf.predict(asked)]).tolist()
            == np.concatenate([*expected.predict(asked)]).tolist()
        )
        assert by_rows(crf)
    assert crf.counts_.n_events == expected.counts_.n_events
    assert not by_rows(crf)


@pytest.mark.parametrize("parameters", [m for m in MODELS if "min_count" not in m], ids=str)
def test_learned_and_forgotten(addresses, parameters):
    check(EmpiricalCRF(**parameters), *addresses)


def test_segments(addresses):
    X, y = addresses
    check(EmpiricalCRF(segments="counted"), X, [[f"B-{z}" for z in labels] for labels in y])


def test_columns(addresses):
    X, y = addresses
    check(EmpiricalCRF(observation="word"), rows_of(X), y)


@pytest.mark.parametrize("tokens", [str, with_tag])
@pytest.mark.parametrize("has_types", [True, False])
def test_forests(tokens, has_types):
    X, y = make_trees(80, seed=3, tokens=tokens)
    filled = np.flatnonzero(X.lengths > 1)
    X, y = X[filled], [y[i] for i in filled]
    crf = EmpiricalCRF().fit(X[:40], y[:40])
    crf.partial_fit(X[40:42], y[40:42]).forget(X[:1], y[:1])
    expected = EmpiricalCRF().fit(X[1:42], y[1:42])
    np.testing.assert_allclose(
        crf.predict_proba(X[40:44]).data, expected.predict_proba(X[40:44]).data, atol=1e-13
    )
    assert by_rows(crf)


def test_every_prediction_is_by_rows(addresses):
    X, y = addresses
    crf, asked = EmpiricalCRF().fit(X[:60], y[:60]).partial_fit(X[60:62], y[60:62]), X[70:72]
    expected = EmpiricalCRF().fit(X[:62], y[:62])
    assert crf.predict_k_best(asked, k=3)[1][0][0] == expected.predict_k_best(asked, k=3)[1][0][0]
    np.testing.assert_allclose(crf.entropy(asked), expected.entropy(asked), rtol=1e-12)
    np.testing.assert_allclose(crf.confidence(asked), expected.confidence(asked), rtol=1e-12)
    assert crf.score(asked, y[70:72]) == expected.score(asked, y[70:72])
    samples = (model.sample(asked, 2, random_state=0)[1].tolist() for model in (crf, expected))
    assert next(samples) == next(samples)
    assert by_rows(crf)


def test_what_was_never_counted_is_not_forgotten(addresses):
    X, y = addresses
    crf = EmpiricalCRF().fit(X[:60], y[:60]).partial_fit(X[60:61], y[60:61])
    before = crf.predict_proba(X[70:71])[0]
    wrong = [["city"] * len(y[61])]
    with pytest.raises(ValueError, match="never counted"):
        crf.forget(X[61:62], wrong)
    assert by_rows(crf)
    np.testing.assert_array_equal(crf.predict_proba(X[70:71])[0], before)
    crf.forget(X[60:61], y[60:61])
    with pytest.raises(ValueError, match="never counted"):
        crf.forget(X[60:61], y[60:61])
    expected = EmpiricalCRF().fit(X[:60], y[:60])
    np.testing.assert_allclose(crf.predict_proba(X[70:71])[0], expected.predict_proba(X[70:71])[0])


def test_copies_go_their_own_ways(addresses):
    X, y = addresses
    first = EmpiricalCRF().fit(X[:60], y[:60]).partial_fit(X[60:61], y[60:61])
    second = copy(first)
    first.partial_fit(X[61:62], y[61:62])
    second.partial_fit(X[62:63], y[62:63])
    third = copy(second).forget(X[:1], y[:1])
    known = {first: [*range(62)], second: [*range(61), 62], third: [*range(1, 61), 62]}
    for _ in range(2):
        for crf, numbers in known.items():
            expected = EmpiricalCRF().fit([X[i] for i in numbers], [y[i] for i in numbers])
            asked = X[70:71]
            found = crf.predict_proba(asked)[0]
            np.testing.assert_allclose(found, expected.predict_proba(asked)[0], atol=1e-13)
            assert by_rows(crf)


def test_the_first_rare_words():
    X, y = [["a", "b"]] * 20, [["A", "B"]] * 20
    crf = EmpiricalCRF().fit(X, y).partial_fit([["b", "c"]], [["A", "B"]])
    assert by_rows(crf)
    again = EmpiricalCRF().fit([*X, ["b", "c"]], [*y, ["A", "B"]])
    for words in (["a", "c"], ["b", "d"]):
        found, wanted = crf.predict_proba([words])[0], again.predict_proba([words])[0]
        np.testing.assert_allclose(found, wanted, rtol=1e-13)


def test_labels_that_come_and_go(addresses):
    X, y = addresses
    y = [["other" if i == 61 and t == 0 else z for t, z in enumerate(s)] for i, s in enumerate(y)]
    crf = EmpiricalCRF().fit(X[:60], y[:60]).partial_fit(X[60:61], y[60:61])
    crf.partial_fit(X[61:62], y[61:62])
    assert "other" in crf.classes_
    crf.partial_fit(X[62:63], y[62:63]).forget(X[61:62], y[61:62])
    expected = EmpiricalCRF().fit([*X[:61], X[62]], [*y[:61], y[62]])
    assert crf.classes_.tolist() == expected.classes_.tolist()
    np.testing.assert_allclose(crf.predict_proba(X[70:71])[0], expected.predict_proba(X[70:71])[0])


def test_parameters_are_those_of_the_last_call(addresses):
    X, y = addresses
    crf = EmpiricalCRF().fit(X[:60], y[:60]).partial_fit(X[60:61], y[60:61])
    crf.set_params(sigma=0.5).partial_fit(X[61:62], y[61:62])
    expected = EmpiricalCRF(sigma=0.5).fit(X[:62], y[:62])
    np.testing.assert_allclose(crf.predict_proba(X[70:71])[0], expected.predict_proba(X[70:71])[0])


@pytest.mark.parametrize(
    "changed", [{"sigma": 0.5}, {"mu_oov": 2.0}, {"sigma": 3.0, "mu_oov": 0.0}]
)
def test_parameters_may_change_before_the_first_change(addresses, changed):
    X, y = addresses
    crf = EmpiricalCRF().fit(X[:60], y[:60]).set_params(**changed).partial_fit(X[60:61], y[60:61])
    found = crf.predict_proba([["unheard", *X[70]]])[0]
    assert by_rows(crf)
    expected = EmpiricalCRF(**changed).fit(X[:61], y[:61])
    np.testing.assert_allclose(found, expected.predict_proba([["unheard", *X[70]]])[0], atol=1e-13)


def test_what_is_counted_may_not_change(addresses):
    X, y = addresses
    crf = EmpiricalCRF().fit(X[:60], y[:60]).set_params(order=2)
    with pytest.raises(ValueError, match="templates"):
        crf.partial_fit(X[60:61], y[60:61])
    crf.set_params(order=1, sigma=-1.0)
    with pytest.raises(ValueError, match="sigma"):
        crf.partial_fit(X[60:61], y[60:61])


def test_many_tokens_are_predicted_by_an_estimate_of_everything(addresses):
    X, y = addresses
    crf = EmpiricalCRF().fit(X[:60], y[:60]).partial_fit(X[60:61], y[60:61])
    found = crf.predict(X[:80] * 2)
    assert not by_rows(crf)
    assert found.tolist() == EmpiricalCRF().fit(X[:61], y[:61]).predict(X[:80] * 2).tolist()


def test_large_changes_are_counted_in_bulk(addresses):
    X, y = addresses
    crf = EmpiricalCRF().fit(X[:20], y[:20]).partial_fit(X[20:21], y[20:21])
    crf.partial_fit(X[21:80], y[21:80]).forget(X[20:21], y[20:21])
    known = [*range(20), *range(21, 80)]
    expected = EmpiricalCRF().fit([X[i] for i in known], [y[i] for i in known])
    assert crf.counts_.n_events == expected.counts_.n_events


@pytest.mark.parametrize("crf", [EmpiricalCRF.ecrn(), EmpiricalCRF(spelling="mean")])
def test_other_models_are_estimated_anew(addresses, crf):
    X, y = addresses
    crf = clone(crf).fit(X[:60], y[:60]).partial_fit(X[60:61], y[60:61]).forget(X[:1], y[:1])
    expected = clone(crf).fit(X[1:61], y[1:61])
    np.testing.assert_allclose(crf.predict_proba(X[70:71])[0], expected.predict_proba(X[70:71])[0])


def test_threads_predict_while_one_learns(addresses):
    X, y = addresses
    crf, stop, errors = EmpiricalCRF().fit(X[:60], y[:60]), threading.Event(), []

    def ask():
        while not stop.is_set():
            try:
                crf.predict(X[70:72])
            except Exception as error:  # whatever it is
                errors.append(error)
                return

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for i in range(60, 75):
        crf.partial_fit(X[i : i + 1], y[i : i + 1])
        crf.forget(X[i - 60 : i - 59], y[i - 60 : i - 59])
    stop.set()
    for thread in threads:
        thread.join()
    assert not errors
    expected = EmpiricalCRF().fit(X[15:75], y[15:75])
    np.testing.assert_allclose(
        crf.predict_proba(X[70:71])[0], expected.predict_proba(X[70:71])[0], atol=1e-13
    )
