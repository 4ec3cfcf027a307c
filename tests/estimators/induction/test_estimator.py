"""FeatureInduction: which features it finds, and that it predicts as its CRF does."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_crcrf import (
    CRF,
    MEMM,
    FeatureInduction,
    GraphArray,
    GraphCRF,
    SequenceArray,
    SequenceVectorizer,
    TokenFeatures,
    Window,
    explain,
)
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.estimators.induction.conjunctions import Conjunctions

WINDOW = make_pipeline(TokenFeatures(["shape"]), Window([-1, 0, 1]))


def addresses(n=60):
    X, y = make_addresses(n, random_state=0)
    return WINDOW.fit_transform(X), y


def xor(n=200, n_others=5, seed=0):
    """The label is whether a and b differ; other attributes are noise."""
    rng = np.random.default_rng(seed)
    names = ["a", "b", *(f"c{k}" for k in range(n_others))]
    values = rng.integers(2, size=(n, 3, len(names)))
    X = [[dict(zip(names, map(str, token), strict=True)) for token in rows] for rows in values]
    y = np.where(values[:, :, 0] != values[:, :, 1], "other", "same").tolist()
    return X, y


def test_xor_is_found_first():
    X, y = xor()
    model = FeatureInduction().fit(X, y)
    pairs = {f"a={a} & b={b}" for a in "01" for b in "01"}
    first = [name for (name, _), r in zip(model.features_, model.rounds_, strict=True) if r == 0]
    assert first[0] in pairs
    assert {name for name, _ in model.features_[:4]} <= pairs
    assert model.score(X, y) == 1.0
    plain = CRF().fit(X, y)
    assert plain.score(X, y) < 0.7


def test_single_attributes_cannot_say_it():
    X, y = xor()
    model = FeatureInduction(candidates="attributes", max_order=2).fit(X, y)
    assert not any("&" in name for name in model.get_feature_names_out())
    assert model.score(X, y) < 0.7


def test_conjunctions_of_three():
    rng = np.random.default_rng(0)
    values = (rng.random((400, 2, 4)) < 0.75).astype(int)  # so that pairs say a little, too
    X = [[dict(zip("abcd", map(str, token), strict=True)) for token in rows] for rows in values]
    y = (values[:, :, :3].sum(axis=2) % 2).tolist()
    model = FeatureInduction(max_proba=1.0).fit(X, y)
    assert model.score(X, y) == 1.0
    assert max(name.count("&") for name in model.get_feature_names_out()) == 2
    shorter = FeatureInduction(max_order=2, max_proba=1.0).fit(X, y)
    assert max(name.count("&") for name in shorter.get_feature_names_out()) == 1
    assert shorter.score(X, y) < 1.0


@pytest.mark.parametrize("candidates", ["attributes", "conjunctions"])
def test_grafting_finds_the_minimum_of_owlqn(candidates):
    X, y = xor(60, 3) if candidates == "conjunctions" else addresses(10)
    crf = CRF(c1=0.5, sigma=3.0, tol=1e-9)
    options = {"candidates": candidates, "max_order": 2, "max_proba": 1.0, "round_iter": 1000}
    grafted = FeatureInduction(crf, criterion="gradient", min_gain=0.0, n_rounds=12, **options)
    grafted.fit(X, y)
    rows = SequenceVectorizer().fit_transform(X)
    if candidates == "conjunctions":
        rows = rows.with_data(all_pairs(sp.csr_array(rows.data)))
    everything = crf.fit(rows, y)
    n_features, loss = grafted.curve_[-1]
    assert loss == pytest.approx(everything.loss_curve_[-1], rel=1e-4)
    assert n_features < everything.coef_.shape[0] * everything.coef_.shape[1] / 2
    assert len({n for n, _ in grafted.curve_}) > 2


def all_pairs(X):
    """All attributes, and all conjunctions of two of them."""
    pairs = [(a, b) for a in range(X.shape[1]) for b in range(a + 1, X.shape[1])]
    parent, last = np.array(pairs).T
    return Conjunctions.none(X.shape[1]).joined_with(parent, last).columns(X)


def test_the_model_is_the_crf_of_the_chosen_columns():
    X, y = addresses()
    model = FeatureInduction(CRF(boundaries=True)).fit(X, y)
    rows = model.transform(X)
    assert rows.data.shape[1] == len(model.get_feature_names_out())
    assert_array_equal(model.estimator_.predict(rows).data, model.predict(X).data)
    assert_allclose(model.estimator_.predict_proba(rows).data, model.predict_proba(X).data)
    assert model.predict_k_best(X[:2], 2) == model.estimator_.predict_k_best(rows[:2], 2)
    assert_allclose(model.confidence(X), model.estimator_.confidence(rows))
    assert_allclose(model.entropy(X), model.estimator_.entropy(rows))
    names, labels = zip(*model.features_, strict=True)
    assert model.coef_.nnz == len(names) == len(model.gains_) == model.curve_[-1][0]
    assert set(labels) <= set(model.classes_)
    assert set(names) == set(model.get_feature_names_out())
    by_round = [model.gains_[model.rounds_ == r] for r in np.unique(model.rounds_)]
    assert all((np.diff(gains) <= 0).all() for gains in by_round)
    assert model.gains_.min() > 0.5


def test_names_are_of_the_values():
    X, y = addresses()
    model = FeatureInduction().fit(X, y)
    columns = SequenceVectorizer().fit(X)
    values = sp.csr_array(columns.transform(X).data)
    place = {name: k for k, name in enumerate(columns.get_feature_names_out())}
    found = model.transform(X).data.toarray()
    joined = [k for k, name in enumerate(model.get_feature_names_out()) if " & " in name]
    for k in joined[:20]:
        parts = model.get_feature_names_out()[k].split(" & ")
        expected = np.prod([values[:, [place[part]]].toarray() for part in parts], axis=0)
        assert_array_equal(found[:, k], expected.ravel())


def test_explanations_name_conjunctions():
    X, y = xor()
    model = FeatureInduction().fit(X, y)
    assert any(" & " in name for name in explain(model, X[0]).contributions.name.tolist())


def test_other_estimators_learn_from_the_columns():
    X, y = addresses()
    pipeline = make_pipeline(FeatureInduction(max_features=200), MEMM(max_iter=50)).fit(X, y)
    assert pipeline.score(X, y) > 0.85


def test_parameters_of_the_crf():
    X, y = addresses()
    search = GridSearchCV(
        FeatureInduction(CRF(), n_rounds=2), {"estimator__sigma": [0.1, 1.0]}, cv=2
    ).fit(X, y)
    assert search.best_params_["estimator__sigma"] == 1.0
    model = FeatureInduction(CRF(min_freq=5, features="observed")).fit(X, y)
    frequency = np.bincount(model.transform(X).data.indices)
    assert frequency.min() >= 5
    assert (model.transitions_ == 0).any()
    assert model.estimator is not model.estimator_ and not hasattr(model.estimator, "coef_")


def test_it_is_the_same_every_time_and_pickled():
    X, y = addresses()
    model, again = (FeatureInduction().fit(X, y) for _ in range(2))
    assert model.features_ == again.features_
    assert_array_equal(model.coef_.data, again.coef_.data)
    loaded = pickle.loads(pickle.dumps(model))
    assert loaded.features_ == model.features_
    assert_array_equal(loaded.predict(X).data, model.predict(X).data)
    assert clone(model).get_params()["max_order"] == 3


def test_transitions_on_attributes_and_trees():
    X, y = addresses(40)
    name = X.data.names[0]
    model = FeatureInduction(CRF(edge_columns=[name])).fit(X, y)
    assert model.estimator_.edge_coef_.any()
    assert model.transform(X).data.shape[1] == len(model.get_feature_names_out())
    assert model.score(X, y) > 0.9
    words, labels = make_addresses(20, random_state=0)
    parents = [[-1, *range(len(sample) - 1)] for sample in words]
    chain = FeatureInduction().fit(words, labels)
    tree = FeatureInduction().fit(GraphArray.from_parents(words, parents), labels)
    assert tree.features_ == chain.features_
    typed = GraphArray.from_parents(words, parents, edge_type=words)
    assert FeatureInduction().fit(typed, labels).score(typed, labels) > 0.9


def test_unknown_labels_are_no_evidence():
    X, y = addresses(40)
    some = [[label if k % 5 else None for k, label in enumerate(labels)] for labels in y]
    model = FeatureInduction().fit(X, some)
    assert model.score(X, y) > 0.85


def test_weights_of_sequences():
    X, y = addresses(40)
    twice = FeatureInduction().fit(SequenceArray(X.data, X.offsets), y, np.full(40, 2.0))
    repeated = make_addresses(40, random_state=0)
    X2, y2 = WINDOW.transform(repeated[0] * 2), y * 2
    both = FeatureInduction().fit(X2, y2)
    assert twice.features_ == both.features_
    assert_allclose(twice.gains_, both.gains_, rtol=1e-3)


def test_signed_numbers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = X[:, 0] * X[:, 1] > 0
    model = FeatureInduction(CRF(sample_unit="token"), max_proba=1.0).fit(X, y)
    assert model.features_[0][0] == "x0 & x1"
    assert model.transform(X).shape[0] == 300
    assert model.score(X, y) > 0.9


def test_nothing_to_choose():
    model = FeatureInduction().fit([["a", "b"]], [["X", "Y"]])
    assert model.features_ == []
    assert len(model.predict([["a", "b"]])[0]) == 2


def test_few_features():
    X, y = addresses(20)
    model = FeatureInduction(max_features=3).fit(X, y)
    assert len(model.features_) == 3 and model.rounds_.tolist() == [0, 1, 1]


def test_a_line_for_every_round(capsys):
    X, y = addresses(20)
    model = FeatureInduction(verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(model.curve_)
    assert lines[0].startswith("round 1, ")


def test_refusals():
    X, y = addresses(5)
    for parameters, message in (
        ({"estimator": FeatureInduction()}, "'estimator' parameter"),
        ({"max_order": 0}, "'max_order' parameter"),
        ({"criterion": "best"}, "'criterion' parameter"),
    ):
        with pytest.raises(ValueError, match=message):
            FeatureInduction(**parameters).fit(X, y)
    with pytest.raises(ValueError, match=r"estimator=GraphCRF\(\) must have the parameter"):
        FeatureInduction(GraphCRF()).fit(X, y)
    model = FeatureInduction().fit(X, y)
    with pytest.raises(ValueError, match="sequence 0"):
        model.fit(X, [labels[1:] for labels in y])
    assert model.predict(X)[0] is not None


def test_damage_is_found_when_it_is_loaded():
    X, y = addresses(20)
    model = FeatureInduction().fit(X, y)
    model._places = model._places + 10**6
    with pytest.raises(ValueError, match="_places"):
        pickle.loads(pickle.dumps(model))


@parametrize_with_checks([FeatureInduction(CRF(sample_unit="token", tol=0.1), n_rounds=1)])
def test_estimator_checks(estimator, check):
    check(estimator)


def test_tokens_without_attributes_leave_only_transitions():
    induction = FeatureInduction().fit([[{}, {}], [{}]], [["a", "b"], ["a"]])
    assert len(induction.gains_) == 0
    assert induction.predict([[{}, {}]]).tolist() == [["a", "b"]]
