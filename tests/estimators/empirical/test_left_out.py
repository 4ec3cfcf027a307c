"""Sequences that are left out one by one are labelled as by models that never saw them."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import LeaveOneGroupOut, LeaveOneOut

from sklearn_crcrf import EmpiricalCRF, SequenceArray
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.estimators.empirical import left_out
from sklearn_crcrf.estimators.empirical.row_model import RowModel
from tests.counted_trees import make_trees, untyped, with_tag


@pytest.fixture(scope="module")
def addresses():
    return make_addresses(60, random_state=0)


def rows_of(X):
    return [
        [{"word": word, "shape": word[:1].isupper(), "end": word[-2:]} for word in s] for s in X
    ]


@pytest.fixture
def made(monkeypatch):
    """How many models of rows were made."""
    models = []
    weighted = RowModel.weighted

    def noted(model, read):
        models.append(model)
        return weighted(model, read)

    monkeypatch.setattr(RowModel, "weighted", noted)
    return models


def check_against_refits(crf, X, y, which, made, groups=None, weights=None):
    """Compare probabilities with those of models that are fitted to the other sequences."""
    cv = LeaveOneOut() if groups is None else LeaveOneGroupOut()
    groups = np.arange(len(X)) if groups is None else groups
    weights = np.ones(len(X)) if weights is None else weights
    found = crf.predict_out_of_fold(
        X, y, cv=cv, groups=groups, method="predict_proba", sample_weight=weights
    )
    classes = sorted({label for labels in y for label in labels})
    assert made
    n_rows = len(made)
    for i in which:
        others = np.flatnonzero(groups != groups[i])
        own = X[others] if isinstance(X, SequenceArray) else [X[j] for j in others]
        one = X[[i]] if isinstance(X, SequenceArray) else [X[i]]
        model = clone(crf).fit(own, [y[j] for j in others], sample_weight=weights[others])
        expected = np.zeros((len(y[i]), len(classes)))
        of_model = model.predict_proba(one)
        expected[:, np.isin(classes, model.classes_)] = (
            of_model.data if isinstance(of_model, SequenceArray) else of_model[0]
        )
        own_rows = found[[i]].data if isinstance(found, SequenceArray) else found[i]
        np.testing.assert_allclose(own_rows, expected, atol=1e-12)
    assert len(made) == n_rows


MODELS = [
    {},
    {"sigma": 0.4, "mu_oov": 1.7},
    {"sigma": np.inf},
    {"order": 2},
    {"order": 3, "sigma": 2.0},
    {"min_count": 2},
    {"experts": ["token[-1]", "token[0]|token[+1]", "token[-1]|token[0]|token[+1]"]},
    {"exponents": {"word": 0.9, "transition": 0.1}},
]


@pytest.mark.parametrize("parameters", MODELS, ids=str)
def test_equals_fits_without_the_sequence(addresses, made, parameters):
    check_against_refits(EmpiricalCRF(**parameters), *addresses, range(0, 60, 7), made)


def test_segments(addresses, made):
    X, y = addresses
    y = [[f"B-{label}" for label in labels] for labels in y]
    check_against_refits(EmpiricalCRF(segments="counted"), X, y, range(0, 60, 9), made)


def test_columns(addresses, made):
    X, y = addresses
    check_against_refits(EmpiricalCRF(observation="word"), rows_of(X), y, range(0, 60, 9), made)


@pytest.mark.parametrize("has_types", [True, False])
@pytest.mark.parametrize("tokens", [str, with_tag])
def test_forests(made, has_types, tokens):
    X, y = make_trees(40, seed=3, tokens=tokens)
    X = X if has_types else untyped(X)
    check_against_refits(EmpiricalCRF(observation=None), X, y, range(0, 40, 5), made)


def test_weights(addresses, made):
    X, y = addresses
    weights = np.random.default_rng(0).random(len(X)) * (np.arange(len(X)) % 4 > 0)
    check_against_refits(EmpiricalCRF(), X, y, range(0, 60, 7), made, weights=weights)


@pytest.mark.parametrize("order", [1, 2])
def test_groups_need_not_be_neighbours(addresses, made, order):
    groups = np.arange(60) % 21
    check_against_refits(EmpiricalCRF(order=order), *addresses, range(0, 60, 7), made, groups)


def test_models_of_many_labels_take_one_fold_at_a_time(addresses, made, monkeypatch):
    monkeypatch.setattr(left_out, "FEW_LABELS", 1)
    check_against_refits(EmpiricalCRF(), *addresses, range(0, 60, 7), made)


def test_blocks_do_not_matter(addresses, monkeypatch):
    X, y = addresses
    given = {"cv": LeaveOneOut(), "method": "predict_proba"}
    expected = np.concatenate(EmpiricalCRF().predict_out_of_fold(X, y, **given))
    monkeypatch.setattr(left_out, "N_TOKENS", 1)
    found = np.concatenate(EmpiricalCRF().predict_out_of_fold(X, y, **given))
    np.testing.assert_allclose(found, expected, atol=1e-13)


def test_the_only_sequence_with_a_label(addresses, made):
    """Without it there is one label less, which changes everything."""
    X, y = addresses
    y = [["other"] * len(labels) if i == 14 else labels for i, labels in enumerate(y)]
    check_against_refits(EmpiricalCRF(), X, y, [0, 14, 21], made)


def test_known_labels_count_alone(addresses, made):
    X, y = addresses
    y = [[None if i % 5 == 0 and t == 1 else z for t, z in enumerate(s)] for i, s in enumerate(y)]
    found = EmpiricalCRF().predict_out_of_fold(X, y, cv=LeaveOneOut(), method="predict_proba")
    for i in range(0, 60, 7):
        model = EmpiricalCRF().fit(X[:i] + X[i + 1 :], y[:i] + y[i + 1 :])
        np.testing.assert_allclose(found[i], model.predict_proba([X[i]])[0], atol=1e-12)
    assert made


@pytest.mark.parametrize("crf", [EmpiricalCRF.ecrn(), EmpiricalCRF(spelling="joint")])
def test_other_models_are_fitted_again(addresses, made, crf):
    X, y = (part[:24] for part in addresses)
    found = crf.predict_out_of_fold(X, y, cv=LeaveOneOut())
    assert not made
    for i in (0, 11):
        model = clone(crf).fit(X[:i] + X[i + 1 :], y[:i] + y[i + 1 :])
        assert model.predict([X[i]])[0] == found[i]
