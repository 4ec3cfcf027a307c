"""LatticeCRF: training, prediction, and what it refuses."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_crcrf import CRF, HMM, LatticeCRF, SequenceVectorizer, TokenFeatures
from sklearn_crcrf.criteria import Piecewise
from sklearn_crcrf.estimators.lattice import candidates
from sklearn_crcrf.model_files import load_model, save_model

WORDS = {"D": ["the", "a"], "N": ["dog", "cat", "fish"], "V": ["sees", "sleeps", "fish"]}


def sentences(n=60, seed=0):
    rng = np.random.default_rng(seed)
    shapes = [["D", "N", "V"], ["D", "N", "V", "D", "N"], ["N", "V"], ["V", "D", "N", "V"]]
    y = [shapes[rng.integers(len(shapes))] for _ in range(n)]
    return [[rng.choice(WORDS[label]) for label in labels] for labels in y], y


X, Y = sentences()
X_TEST, Y_TEST = sentences(20, seed=1)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("solver", ["adagrad", "lbfgs"])
def test_it_learns(order, solver):
    crf = LatticeCRF(order, solver=solver, random_state=0).fit(X, Y)
    assert crf.score(X_TEST, Y_TEST) > 0.95
    assert crf.converged_
    assert crf.n_iter_ == len(crf.loss_curve_) > 0
    assert crf.coef_.shape == (len(crf.attribute_names_), 3)


def test_probabilities_are_zero_outside_of_the_candidates():
    crf = LatticeCRF(threshold=0.1, random_state=0).fit(X, Y)
    for p, words in zip(crf.predict_proba(X_TEST), X_TEST, strict=True):
        assert p.shape == (len(words), 3)
        assert_allclose(p.sum(axis=1), 1)
    assert (np.concatenate(crf.predict_proba(X_TEST)) == 0).any()
    assert crf.candidates_.mean_number < 2
    assert 0 <= crf.candidates_.gold_outside < 0.1


def test_data_may_be_sorted_by_their_kinds():
    """A fold has sequences of all kinds, or its candidates would be those of the other kind."""
    others = [[f"{word}!" for word in words] for words in X]
    their_labels = [[f"{label}2" for label in labels] for labels in Y]
    crf = LatticeCRF(random_state=0).fit(X + others, Y + their_labels)
    assert crf.candidates_.gold_outside < 0.01


def test_a_threshold_that_is_found_leaves_four_candidates_of_each_token():
    ids = np.random.default_rng(0).integers(8, size=(40, 6))
    X = [[f"w{k}" for k in row] for row in ids]
    ids[::7, 0] = (ids[::7, 0] + 1) % 8  # labels that the words make improbable
    y = [[f"L{k}" for k in row] for row in ids]
    crf = LatticeCRF(candidates=HMM(smoothing=1e-4), random_state=0).fit(X, y)
    assert 1e-6 < crf.threshold_ < 1e-4
    assert crf.candidates_.mean_number <= 4


def test_all_labels_as_candidates_make_a_crf():
    """Without dropout and candidate scores, L-BFGS finds the optimum of a CRF with biases."""
    settings = {"candidate_scores": False, "dropout": 0.0, "solver": "lbfgs", "tol": 1e-9}
    lattice = LatticeCRF(1, threshold=1e-200, decoding="viterbi", **settings).fit(X, Y)
    biased = [[{"word": word, "bias": 1.0} for word in words] for words in X]
    chain = CRF(boundaries=True, tol=1e-9).fit(biased, Y)
    assert lattice.candidates_.mean_number == 3
    assert_allclose(lattice.loss_curve_[-1], chain.loss_curve_[-1], rtol=1e-4)
    ours, exact = lattice.predict_proba(X), chain.predict_proba(biased)
    assert_allclose(np.concatenate(ours), np.concatenate(exact), atol=1e-2)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_newton_cg_finds_the_optimum_in_fewer_iterations(order):
    settings = {"dropout": 0.0, "tol": 1e-9}
    newton, lbfgs = (
        LatticeCRF(order, solver=solver, **settings).fit(X, Y) for solver in ("newton-cg", "lbfgs")
    )
    assert newton.converged_
    assert newton.n_iter_ < lbfgs.n_iter_
    assert_allclose(newton.loss_curve_[-1], lbfgs.loss_curve_[-1], rtol=1e-5)


def test_same_bits_for_any_number_of_threads():
    models = [LatticeCRF(random_state=0, n_jobs=n).fit(X, Y) for n in (1, 2)]
    assert_array_equal(models[0].coef_.data, models[1].coef_.data)
    assert models[0].label_runs_ == models[1].label_runs_


def test_candidates_of_another_estimator():
    crf = LatticeCRF(candidates=HMM(), random_state=0).fit(X, Y)
    assert isinstance(crf.candidate_model_, HMM)
    assert crf.score(X_TEST, Y_TEST) > 0.95


def test_a_transformer_makes_attributes_of_which_the_candidate_model_knows_nothing():
    features = make_pipeline(TokenFeatures(["suffix2"]), SequenceVectorizer())
    crf = LatticeCRF(transformer=features, random_state=0).fit(X, Y)
    assert len(crf.attribute_names_) == len(crf.transformer_[-1].vocabulary_) < 20
    assert crf.score(X_TEST, Y_TEST) > 0.95
    assert crf.transformer is features
    assert not hasattr(features[-1], "vocabulary_")


@pytest.mark.parametrize("min_freq", [1, 3])
def test_a_model_with_a_transformer_can_be_stored(min_freq, tmp_path):
    features = make_pipeline(TokenFeatures(["suffix2"]), SequenceVectorizer())
    crf = LatticeCRF(transformer=features, min_freq=min_freq, random_state=0).fit(X, Y)
    save_model(crf, tmp_path / "model")
    for copy in (pickle.loads(pickle.dumps(crf)), load_model(tmp_path / "model").estimator):
        assert_array_equal(copy.predict(X_TEST), crf.predict(X_TEST))


def test_labels_that_a_fold_lacks():
    words, labels = [["x", "y"]] * 9 + [["u", "v"]], [["A", "B"]] * 9 + [["C", "D"]]
    crf = LatticeCRF(random_state=0).fit(words, labels)
    assert crf.candidates_.gold_outside == 0.1
    assert set(crf.classes_) == {"A", "B", "C", "D"}


def test_weights_by_name():
    crf = LatticeCRF(2, random_state=0).fit(X, Y)
    runs = crf.label_runs_
    names = crf.classes_.tolist()
    for i, before in enumerate(names):
        for j, here in enumerate(names):
            assert crf.transitions_[i, j] == runs.get((before, here), 0.0)
        assert crf.begin_[i] == runs.get((None, before), 0.0)
        assert crf.end_[i] == runs.get((before, None), 0.0)
    assert ("D", "N", "V") in runs
    assert (None, "D", "N") in runs
    assert crf.transition_features_


def test_observed_features():
    every, observed = (
        LatticeCRF(features=features, random_state=0).fit(X, Y) for features in ("all", "observed")
    )
    assert observed.coef_.nnz < every.coef_.nnz
    assert len(observed.label_runs_) < len(every.label_runs_)
    assert observed.score(X_TEST, Y_TEST) > 0.95


def test_ways_to_predict():
    crf = LatticeCRF(random_state=0).fit(X, Y)
    confidence = crf.confidence(X_TEST)
    assert ((confidence > 0) & (confidence <= 1)).all()
    assert (crf.entropy(X_TEST) >= 0).all()
    assert len(crf.sample(X_TEST, 2, random_state=0)) == 2
    for paths, labels in zip(crf.predict_k_best(X_TEST, 2), crf.predict(X_TEST), strict=True):
        assert 1 <= len(paths) <= 2
        assert paths[0][0] == labels


def test_sequence_weights_of_zero_are_like_leaving_out():
    weight = np.r_[np.ones(40), np.zeros(20)]
    crf = LatticeCRF(solver="lbfgs", dropout=0.0, threshold=1e-9).fit(X, Y, sample_weight=weight)
    assert crf.score(X_TEST, Y_TEST) > 0.9


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"criterion": "max_margin"}, 'solver="adagrad" is for the log loss'),
        ({"criterion": "max_margin", "solver": "newton-cg"}, "needs a criterion with curvature"),
        ({"criterion": Piecewise(), "solver": "lbfgs"}, "needs pieces, which Lattice"),
        ({"order": 4}, "order"),
    ],
)
def test_what_it_refuses(parameters, message):
    with pytest.raises(ValueError, match=message):
        LatticeCRF(**parameters).fit(X, Y)


def test_it_needs_two_sequences_and_takes_no_more_folds_than_these():
    with pytest.raises(ValueError, match="needs two sequences, but n_samples=1"):
        LatticeCRF().fit(X[:1], Y[:1])
    assert LatticeCRF(cv=100, random_state=0).fit(X[:3], Y[:3]).predict(X[:3]).tolist() == Y[:3]


def test_unknown_labels_are_refused():
    with pytest.raises(ValueError, match="sequence 0, position 1: the label is not known"):
        LatticeCRF().fit(X, [[Y[0][0], None, *Y[0][2:]], *Y[1:]])


def test_max_margin():
    crf = LatticeCRF(criterion="max_margin", solver="lbfgs", random_state=0, max_iter=200, tol=1e-3)
    assert crf.fit(X, Y).score(X_TEST, Y_TEST) > 0.9


NO_COPIES = {
    f"check_sample_weight_equivalence_on_{kind}_data": "copies fall into other folds"
    for kind in ("dense", "sparse")
}


@parametrize_with_checks(
    [LatticeCRF(candidates=HMM(), random_state=0, sample_unit="token", tol=0.1)],
    expected_failed_checks=lambda estimator: NO_COPIES,
)
def test_estimator_checks(estimator, check):
    check(estimator)


def test_weights_stay_near_the_first_model_where_most_labels_are_o_and_few_others_are_found(
    monkeypatch,
):
    rng = np.random.default_rng(0)
    y = [["O", "O", "O", rng.choice(["PER", "LOC"]), "O"] for _ in range(60)]
    X = [["in", "Ghent", "met", f"{label[3]}{i % 9}", "."] for i, label in enumerate(y)]
    y[::4] = [["O", "LOC", "O", *labels[3:]] for labels in y[::4]]
    crf = LatticeCRF(random_state=0).fit(X, y)
    assert 0.1 < crf.candidates_.found < 0.9
    share = crf.candidates_.found**2
    monkeypatch.setattr(candidates, "_found", lambda *args: 1.0)
    trained = LatticeCRF(random_state=0).fit(X, y)
    assert_allclose(crf.candidate_coef_ - 1, share * (trained.candidate_coef_ - 1), atol=1e-6)
    assert_allclose(crf.coef_.data, share * trained.coef_.data, atol=1e-6)
    assert LatticeCRF(random_state=0).fit(*sentences()).candidates_.found == 1.0
