"""Data that comes, and data that goes: counts add up, so nothing depends on the way."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import KFold, cross_val_predict

from sklearn_crcrf import EmpiricalCRF, SequenceArray
from sklearn_crcrf.counts.observations import ATTRIBUTES

WORDS = ["the", "dog", "Dogs", "run-up", "walks", "walking", "7", "x"]
SETTINGS = [
    EmpiricalCRF(),
    EmpiricalCRF(order=2),
    EmpiricalCRF(sigma=3.0, mu_oov=1.5, exponents={"word": 0.5, "token[-1]": 0.0}),
    EmpiricalCRF.ecrn(),
    EmpiricalCRF.ecrn(spelling="mean", order=2),
    EmpiricalCRF.ecrn(zeros="exact"),
    EmpiricalCRF.maxent(),
]
corpora = st.lists(
    st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from("DNV")), max_size=5), max_size=6
)


def split_pairs(corpus):
    X = [[word for word, _ in sequence] for sequence in corpus]
    y = [[label for _, label in sequence] for sequence in corpus]
    return X, y


def counted_events(crf):
    """The counts with symbols and labels instead of their ids."""
    labels = [*crf._counter.label_ids.__getstate__()["labels"], "<boundary>"]
    readable = {}
    for template, (events, weights) in crf.counts_.items():
        columns = [
            ids.tolist()
            if template == ATTRIBUTES
            else np.array([*crf.encoder_.symbols(column), "<boundary>"], dtype=object)[ids]
            for (column, _), ids in zip(template.symbols, events.T, strict=False)
        ]
        columns += [[labels[i] for i in ids] for ids in events.T[len(template.symbols) :]]
        readable[template] = dict(zip(zip(*columns, strict=True), weights, strict=True))
    return readable


def assert_same_model(crf, expected, X):
    assert counted_events(crf) == counted_events(expected)
    assert crf.classes_.tolist() == expected.classes_.tolist()
    assert crf.exponents_ == expected.exponents_
    assert np.array_equal(crf.transitions_, expected.transitions_)
    assert crf.predict(X).tolist() == expected.predict(X).tolist()
    if crf.zeros != "exact":  # where no path is possible there are no probabilities
        for p, q in zip(crf.predict_proba(X), expected.predict_proba(X), strict=True):
            assert np.array_equal(p, q)


@pytest.mark.parametrize("crf", SETTINGS, ids=repr)
@settings(max_examples=5, deadline=None)
@given(a=corpora, b=corpora, interleave=st.booleans())
def test_forgotten_data_was_never_there(crf, a, b, interleave):
    assume(any(a) and any(b))
    both = [s for pair in zip(b, a, strict=False) for s in pair] if interleave else []
    both += b[len(both) // 2 :] + a[len(both) // 2 :]
    X, y = split_pairs(a)
    expected = clone(crf).fit(X, y)
    actual = clone(crf).fit(*split_pairs(both)).forget(*split_pairs(b))
    assert_same_model(actual, expected, [*X, *split_pairs(b)[0], WORDS])


@pytest.mark.parametrize("crf", SETTINGS, ids=repr)
@settings(max_examples=4, deadline=None)
@given(a=corpora, b=corpora)
def test_data_in_two_parts_is_data_in_one(crf, a, b):
    assume(any(a) and any(b))
    X, y = split_pairs(a + b)
    expected = clone(crf).fit(X, y)
    actual = clone(crf).partial_fit(*split_pairs(a)).partial_fit(*split_pairs(b))
    assert actual.counts_ == expected.counts_
    assert_same_model(actual, expected, [*X, WORDS])


X = [["the", "dog", "walks"], ["a", "cat", "sleeps"], [], ["dogs", "sleep"]]
y = [["D", "N", "V"], ["D", "N", "V"], [], ["N", "V"]]


def test_weighted_data_is_forgotten_with_its_weights():
    weights = [2, 0, 1, 3]
    crf = EmpiricalCRF().fit(X, y, sample_weight=weights)
    repeated = EmpiricalCRF().fit([X[0], X[0], X[3], X[3], X[3]], [y[0], y[0], y[3], y[3], y[3]])
    assert_same_model(crf, repeated, X)
    crf.forget(X[:1], y[:1], sample_weight=[2])
    assert_same_model(crf, EmpiricalCRF().fit(X[3:], y[3:], sample_weight=[3]), X)


def test_attributes_are_forgotten():
    rng = np.random.default_rng(0)
    A, B = (sp.csr_array(rng.poisson(0.4, (n, 7))) for n in (30, 50))
    of_a, of_b = rng.integers(3, size=30), rng.integers(3, size=50)
    both = EmpiricalCRF().fit(sp.vstack([B, A], format="csr"), np.append(of_b, of_a))
    expected = EmpiricalCRF().fit(A, of_a)
    both.forget(B, of_b)
    assert both.exponents_ == expected.exponents_
    assert np.array_equal(both.predict_proba(B), expected.predict_proba(B))


def test_columns_of_feature_dicts_add_up():
    dicts = [[{"w": w, "last": w[-1], "long": len(w) > 3} for w in s] for s in X]
    crf = EmpiricalCRF().partial_fit(dicts[:2], y[:2]).partial_fit(dicts[2:], y[2:])
    assert_same_model(crf, EmpiricalCRF().fit(dicts, y), dicts)


def test_new_columns_are_refused():
    crf = EmpiricalCRF().fit([[{"w": "a"}]], [["N"]])
    with pytest.raises(ValueError, match=r"X has columns \['p'\]"):
        crf.partial_fit([[{"w": "a", "p": "q"}]], [["N"]])
    assert crf.predict([[{"w": "a", "p": "q"}]]).tolist() == [["N"]]


def test_a_late_label_is_counted_as_in_one_fit():
    late = EmpiricalCRF().partial_fit([["b"]], [["V"]]).partial_fit([["a", "b"]], [["N", "V"]])
    assert late.counts_ == EmpiricalCRF().fit([["b"], ["a", "b"]], [["V"], ["N", "V"]]).counts_


@settings(max_examples=20, deadline=None)
@given(parts=st.lists(corpora, min_size=1, max_size=6))
def test_fit_parts_is_one_fit(parts):
    parts = [part for part in parts if any(part)]
    assume(parts)
    expected = EmpiricalCRF().fit(*split_pairs([sequence for part in parts for sequence in part]))
    actual = EmpiricalCRF().fit_parts(map(split_pairs, parts))
    assert actual.counts_ == expected.counts_
    assert_same_model(actual, expected, [WORDS])


def test_fit_parts_needs_parts_and_given_exponents():
    with pytest.raises(ValueError, match="there is no token"):
        EmpiricalCRF().fit_parts([])
    with pytest.raises(ValueError, match="needs all data at once"):
        EmpiricalCRF(exponents="fit").fit_parts([(X, y)])


def test_labels_come_and_go():
    crf = EmpiricalCRF().fit(X[:1], y[:1]).partial_fit([["oh"]], [["I"]])
    assert crf.classes_.tolist() == ["D", "I", "N", "V"]
    assert crf.forget([["oh"]], [["I"]]).classes_.tolist() == ["D", "N", "V"]


def test_declared_classes_stay():
    crf = EmpiricalCRF().partial_fit(X[:1], y[:1], classes=["V", "N", "D", "I"])
    assert crf.classes_.tolist() == ["D", "I", "N", "V"]
    assert crf.predict_proba(X[:1])[0].shape == (3, 4)
    crf.partial_fit(X[3:], y[3:], classes=np.array(["I", "D", "N", "V"]))
    crf.forget(X[:1], y[:1])
    assert crf.classes_.tolist() == ["D", "I", "N", "V"]
    with pytest.raises(ValueError, match=r"sequence 1, position 0: the label 'J' is not among"):
        crf.partial_fit([["a"], ["b"]], [["N"], ["J"]])
    with pytest.raises(ValueError, match="not the same as in the first call"):
        crf.partial_fit(X, y, classes=["D", "N"])


def test_only_what_was_counted_is_forgotten():
    crf = EmpiricalCRF().fit(X, y)
    before = counted_events(crf)
    for never in ([["dog", "the", "walks"]], [["zebra"]]):
        with pytest.raises(ValueError, match="never counted"):
            crf.forget(never, [["D"] * len(never[0])])
    with pytest.raises(ValueError, match="nothing would be left"):
        crf.forget(X, y)
    assert counted_events(crf) == before
    assert crf.predict([["zebra", "the"]]).tolist() == (
        EmpiricalCRF().fit(X, y).predict([["zebra", "the"]]).tolist()
    )


def test_a_model_is_updated_with_the_features_it_was_fitted_with():
    crf = EmpiricalCRF().fit(X, y).set_params(spelling="joint")
    with pytest.raises(ValueError, match="spelling='joint', but the model was fitted with"):
        crf.partial_fit(X, y)


def test_fitted_exponents_stay():
    crf = EmpiricalCRF(exponents="fit", validation_fraction=0.5).fit(X * 5, y * 5)
    fitted = dict(crf.exponents_)
    assert fitted != EmpiricalCRF().fit(X, y).exponents_
    assert crf.partial_fit(X, y).forget(X, y).exponents_ == fitted
    refitted = EmpiricalCRF().fit(X, y).fit_exponents(X, y)
    assert refitted.forget(X[:1], y[:1]).exponents_ == refitted.exponents_


@pytest.mark.parametrize("crf", SETTINGS, ids=repr)
def test_out_of_fold_prediction_is_that_of_separate_fits(crf):
    rng = np.random.default_rng(0)
    X = [list(rng.choice(WORDS, n)) for n in rng.integers(1, 6, 20)]
    y = [[("D", "N", "V")[len(w) % 3] for w in s] for s in X]
    cv = KFold(4, shuffle=True, random_state=0)
    expected = cross_val_predict(crf, X, y, cv=cv)
    assert clone(crf).predict_out_of_fold(X, y, cv=cv).tolist() == expected.tolist()
    flat = crf.predict_out_of_fold(SequenceArray.from_sequences(X), y, cv=cv)
    assert flat.tolist() == expected.tolist()


def test_rare_pairs_are_dropped():
    rng = np.random.default_rng(0)
    data = [list(rng.choice(WORDS, 5)) for _ in range(20)]
    labels = [[("D", "N", "V")[len(word) % 3] for word in s] for s in data]
    whole = EmpiricalCRF().fit(data, labels)
    crf = EmpiricalCRF(min_count=3).fit(data, labels)
    for template, (events, weights) in whole.counts_.items():
        n_symbols = len(template.symbols)
        keys = [tuple(key) for key in events[:, :n_symbols]]
        total = dict.fromkeys(keys, 0.0)
        for key, weight in zip(keys, weights, strict=True):
            total[key] += weight
        kept = [n_symbols < 2 or total[key] >= 3 for key in keys]
        assert crf.counts_[template].events.tolist() == events[kept].tolist()
    assert crf.counts_.n_events < whole.counts_.n_events
    parts = [(data[k : k + 5], labels[k : k + 5]) for k in range(0, 20, 5)]
    in_parts = EmpiricalCRF(min_count=3).fit_parts(parts)
    assert_same_model(in_parts, crf, data)
    for change in (crf.partial_fit, crf.forget, clone(crf).partial_fit):
        with pytest.raises(ValueError, match="min_count=3: the counts of what is rarer"):
            change(data, labels)
    with pytest.raises(ValueError, match="min_count=3"):
        crf.set_params(min_count=1).forget(data[:1], labels[:1])
    with pytest.raises(ValueError, match='min_count needs zeros="smoothed"'):
        EmpiricalCRF.ecrn(min_count=2).fit(data, labels)
    nothing = EmpiricalCRF(min_count=1000, order=2).fit(data, labels)
    assert nothing.predict(data).tolist() == labels
