"""BoostedCRF: what its scores are made of, its limits, and as an estimator."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from log_linear import marginals
from numpy.testing import assert_allclose
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_crcrf import CRF, BoostedCRF, SequenceArray, SequenceVectorizer
from sklearn_crcrf.estimators.boosting.booster import Booster


def expected_failures(estimator):
    # As of scikit-learn's boosting: equally good splits are chosen from by chance.
    reason = "trees differ where no sample has any weight"
    return {f"check_sample_weight_equivalence_on_{x}_data": reason for x in ("dense", "sparse")}


@parametrize_with_checks(
    [BoostedCRF(max_iter=3, sample_unit="token", max_depth=3, pairs=True)],
    expected_failed_checks=expected_failures,
)
def test_estimator_checks(estimator, check, monkeypatch):
    # One check asks for a thousand iterations, of which a few show what it is about.
    set_params = BoostedCRF.set_params

    def set_few(self, **params):
        return set_params(self, **({"max_iter": 20} if params == {"max_iter": 1000} else params))

    monkeypatch.setattr(BoostedCRF, "set_params", set_few)
    check(estimator)


def make_chains(seed=0, n_sequences=60, n_labels=3):
    """Labels that stay as they are for a while; attributes that tell them only together."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for n in rng.integers(1, 9, size=n_sequences):
        labels = [int(rng.integers(n_labels))]
        for _ in range(n - 1):
            stays = rng.random() < 0.7
            labels.append(labels[-1] if stays else int(rng.integers(n_labels)))
        sign = rng.choice([-1.0, 1.0], size=n)
        row = np.column_stack([sign, sign * (np.array(labels) - 1), np.ones(n)])
        X.append(row + rng.normal(scale=0.4, size=(n, 3)))
        y.append([f"L{j}" for j in labels])
    return X, y


X, y = make_chains()
FAST = {"max_iter": 15, "learning_rate": 0.3, "max_leaf_nodes": 8}
either = pytest.mark.parametrize("pairs", [False, True])


def path_scores(crf, rows, paths):
    """Scores by the definition: sums of what the trees predict, and transitions."""
    state = crf.baseline_ + sum(tree.predict(rows) for tree in crf.estimators_)
    transition = np.tile(crf.transitions_, (len(rows), 1, 1))
    for tree in crf.pair_estimators_:
        transition[:, *crf.pairs_.T] += tree.predict(rows)
    return np.array(
        [
            sum(state[t, j] for t, j in enumerate(path))
            + sum(transition[t, i, j] for t, (i, j) in enumerate(pairwise(path), 1))
            for path in paths
        ]
    )


def distribution(crf, rows):
    paths = list(np.ndindex(*(len(crf.classes_),) * len(rows)))
    scores = path_scores(crf, rows, paths)
    return paths, np.exp(scores - logsumexp(scores))


@either
def test_predictions_are_those_of_enumeration(pairs):
    crf = BoostedCRF(**FAST, pairs=pairs).fit(X, y)
    assert crf.n_iter_ == len(crf.estimators_) == len(crf.loss_curve_) == 15
    short = [rows[:4] for rows in X[:6]]
    for rows, p, (best,) in zip(
        short, crf.predict_proba(short), crf.predict_k_best(short, 1), strict=True
    ):
        paths, probability = distribution(crf, rows)
        assert_allclose(p, marginals(crf, paths, probability), atol=1e-10)
        assert_allclose(best[1], probability.max())
        assert best[0] == crf.classes_[list(paths[probability.argmax()])].tolist()


@either
def test_the_loss_is_that_of_the_model(pairs):
    weights = np.random.default_rng(0).uniform(size=len(X))
    crf = BoostedCRF(**FAST, pairs=pairs).fit([rows[:5] for rows in X], [s[:5] for s in y], weights)
    loss = 0.0
    for rows, labels, weight in zip(X, y, weights, strict=True):
        paths, probability = distribution(crf, rows[:5])
        gold = tuple(np.searchsorted(crf.classes_, labels[:5]).tolist())
        loss -= weight * np.log(probability[paths.index(gold)])
    assert_allclose(crf.loss_curve_[-1], loss)
    assert (np.diff(crf.loss_curve_) <= 0).all()


@pytest.mark.parametrize("depth", [1, 3])
def test_sequences_of_one_token_and_two_labels_are_gradient_boosting(depth):
    rows, labels = make_classification(300, 6, random_state=0)
    rows = rows.astype(np.float32)
    options = {"learning_rate": 0.3, "max_depth": depth, "random_state": 0}
    crf = BoostedCRF(
        max_iter=20, max_leaf_nodes=None, min_samples_leaf=1, l2_regularization=1e-12, **options
    ).fit(rows, labels)
    boosting = GradientBoostingClassifier(n_estimators=20, **options).fit(rows, labels)
    assert_allclose(crf.predict_proba(rows), boosting.predict_proba(rows), atol=1e-6)
    assert_allclose(crf.transitions_, 0.0)


def test_sequences_of_one_token_are_about_gradient_boosting():
    rows, labels = make_classification(
        600, 8, n_informative=5, n_classes=4, n_clusters_per_class=1, random_state=0
    )
    train, test = (rows[:400], labels[:400]), (rows[400:], labels[400:])
    options = {"learning_rate": 0.2, "max_depth": 3, "random_state": 0}
    crf = BoostedCRF(max_iter=60, max_leaf_nodes=None, **options).fit(*train)
    boosting = GradientBoostingClassifier(n_estimators=60, **options).fit(*train)
    assert abs(crf.score(*test) - boosting.score(*test)) < 0.05


def test_a_stump_by_hand():
    """One round of one split: the leaves are steps of Newton's method from the label prior."""
    rows = np.array([[0.0], [0.0], [0.0], [1.0], [1.0], [1.0]])
    labels, weight = ["a", "a", "b", "b", "b", "c"], np.array([1.0, 2.0, 1.0, 1.0, 3.0, 1.0])
    crf = BoostedCRF(learning_rate=0.5, max_iter=1, max_leaf_nodes=2, min_samples_leaf=1)
    crf.set_params(l2_regularization=0.1).fit(rows, labels, weight)
    counts = np.array([3.0, 5.0, 1.0]) + 0.1
    prior = counts / counts.sum()
    assert_allclose(crf.baseline_, np.log(prior))
    for half, gold in ((slice(0, 3), [3.0, 1.0, 0.0]), (slice(3, 6), [0.0, 4.0, 1.0])):
        n = weight[half].sum()
        newton = (np.array(gold) - n * prior) / (n * prior * (1 - prior) + 0.1)
        expected = np.tile(0.5 * 2 / 3 * newton, (3, 1))
        assert_allclose(crf.estimators_[0].predict(rows[half]), expected)


def test_transitions_approach_what_is_expected_as_often_as_it_occurs():
    """Without attributes that say anything, the maximum of the likelihood of a CRF."""
    nothing = [np.zeros((len(s), 1)) for s in y]
    ones = [np.ones((len(s), 1)) for s in y]
    crf = BoostedCRF(learning_rate=1.0, max_iter=300, l2_regularization=1e-9).fit(nothing, y)
    best = CRF(sigma=np.inf, tol=1e-14).fit(ones, y)
    assert_allclose(crf.loss_curve_[-1], best.loss_curve_[-1], rtol=1e-5)


def test_trees_find_what_is_not_linear():
    X_test, y_test = make_chains(seed=1)
    boosted = BoostedCRF(max_iter=60, max_leaf_nodes=8).fit(X, y)
    linear = CRF().fit(X, y)
    assert boosted.score(X_test, y_test) > linear.score(X_test, y_test) + 0.1
    alone = BoostedCRF(max_iter=60, max_leaf_nodes=8).fit(np.vstack(X), np.concatenate(y))
    chained = boosted.score(X_test, y_test)
    assert chained > alone.score(np.vstack(X_test), np.concatenate(y_test)) + 0.02
    assert boosted.feature_importances_.shape == (3,)
    assert boosted.feature_importances_[:2].min() > boosted.feature_importances_[2]


@either
def test_a_step_that_raises_the_loss_is_halved(pairs):
    """In long runs of one label the curvature is far greater than at single tokens."""
    rng = np.random.default_rng(0)
    labels = [np.repeat(rng.permutation(3), 40) for _ in range(20)]
    rows = [rng.normal(size=(120, 2)) + 0.3 * s[:, None] for s in labels]
    crf = BoostedCRF(learning_rate=1.0, max_iter=25, pairs=pairs).fit(rows, labels)
    assert (np.diff(crf.loss_curve_) <= 1e-9).all()
    assert crf.score(rows, labels) > 0.95


@either
def test_validation_keeps_the_best_number_of_rounds(pairs):
    options = {"pairs": pairs, "max_leaf_nodes": 16, "min_samples_leaf": 1, "learning_rate": 0.5}
    options = {**options, "validation_fraction": 0.3, "random_state": 0}
    crf = BoostedCRF(max_iter=200, **options).fit(X, y)
    assert crf.converged_
    curve = crf.validation_curve_
    assert len(crf.estimators_) == np.argmin(curve) + 1 < crf.n_iter_ == len(curve) < 200
    assert min(curve[-10:]) > min(curve)
    again = clone(crf).set_params(max_iter=len(crf.estimators_)).fit(X, y)
    assert not again.converged_
    assert np.array_equal(again.transitions_, crf.transitions_)
    assert np.array_equal(np.vstack(again.predict_proba(X)), np.vstack(crf.predict_proba(X)))


def test_the_loss_of_held_out_sequences_is_a_mean_over_their_weights():
    crf = BoostedCRF(**FAST, validation_fraction=0.3, random_state=0)
    crf.fit([np.vstack(X[:5])] * 10, [np.concatenate(y[:5])] * 10, np.full(10, 2.0))
    assert min(crf.loss_curve_) > 0
    assert_allclose(crf.validation_curve_, np.divide(crf.loss_curve_, 2.0 * 7))


@either
def test_subsamples_and_attributes_are_random(pairs):
    options = {**FAST, "pairs": pairs, "subsample": 0.5, "max_features": 2}
    fits = [BoostedCRF(random_state=seed, **options).fit(X, y) for seed in (0, 0, 1)]
    assert fits[0].loss_curve_ == fits[1].loss_curve_ != fits[2].loss_curve_
    assert fits[0].loss_curve_[-1] < fits[0].loss_curve_[0]


@either
def test_threads_do_not_matter(pairs):
    one, two = (BoostedCRF(random_state=0, n_jobs=n, **FAST, pairs=pairs).fit(X, y) for n in (1, 2))
    assert one.loss_curve_ == two.loss_curve_
    assert np.array_equal(np.vstack(one.predict_proba(X)), np.vstack(two.predict_proba(X)))


@either
def test_a_weight_is_a_number_of_copies(pairs):
    weights = np.arange(len(X)) % 3
    copies = [i for i, n in enumerate(weights) for _ in range(n)]
    kept = [X[i] for i in np.flatnonzero(weights)]
    options = {**FAST, "pairs": pairs, "random_state": 0}
    weighted = BoostedCRF(**options).fit(X, y, sample_weight=weights)
    copied = BoostedCRF(**options).fit([X[i] for i in copies], [y[i] for i in copies])
    assert_allclose(weighted.loss_curve_, copied.loss_curve_, rtol=1e-6)
    probability = np.vstack(weighted.predict_proba(kept))
    assert_allclose(probability, np.vstack(copied.predict_proba(kept)), atol=1e-5)


@either
def test_constraints(pairs):
    follow = {"L0": ["L0", "L1"]}
    allowed = [("L0", "L2") not in set(pairwise(s)) for s in y]
    train = [x for x, ok in zip(X, allowed, strict=True) if ok]
    labels = [s for s, ok in zip(y, allowed, strict=True) if ok]
    crf = BoostedCRF(constraints=follow, **FAST, pairs=pairs).fit(train, labels)
    pairs = {pair for s in crf.predict(X) for pair in pairwise(s)}
    assert ("L0", "L2") not in pairs
    assert np.isfinite(crf.transitions_).all()
    with pytest.raises(ValueError, match="constraints do not allow"):
        BoostedCRF(constraints=follow).fit(X, y)


@either
def test_labels_that_are_known_in_part(pairs):
    rng = np.random.default_rng(0)
    partial = [
        [
            None if rng.random() < 0.3 else {label, "L1"} if rng.random() < 0.2 else label
            for label in s
        ]
        for s in y
    ]
    crf = BoostedCRF(**FAST, pairs=pairs).fit(X, partial)
    assert crf.classes_.tolist() == ["L0", "L1", "L2"]
    assert crf.score(X, y) > 0.7
    assert (np.diff(crf.loss_curve_) <= 0).all()


@either
def test_containers(pairs):
    flat_X, flat_y = SequenceArray.from_sequences(X), SequenceArray.from_sequences(y)
    crf = BoostedCRF(random_state=0, **FAST, pairs=pairs).fit(X, y)
    expected = np.vstack(crf.predict_proba(X))
    sparse = [sp.csr_array(rows) for rows in X]
    for X_fit, y_fit in ((flat_X, flat_y), (sparse, y), ([*X, np.empty((0, 3))], [*y, []])):
        again = clone(crf).fit(X_fit, y_fit)
        found = again.predict_proba(flat_X).data
        assert_allclose(found, expected, atol=1e-6)
    assert crf.predict([]).tolist() == []
    assert crf.predict([np.empty((0, 3))]).tolist() == [[]]
    assert crf.n_features_in_ == 3
    with pytest.raises(ValueError, match="2 features"):
        crf.predict([np.ones((1, 2))])


def test_frames():
    pd = pytest.importorskip("pandas")
    index = pd.MultiIndex.from_tuples([(i, t) for i, s in enumerate(X) for t in range(len(s))])
    frame = pd.DataFrame(np.vstack(X), columns=list("abc"), index=index)
    crf = BoostedCRF(sample_unit="token", random_state=0, **FAST).fit(frame, np.concatenate(y))
    expected = BoostedCRF(random_state=0, **FAST).fit(X, y).predict_proba(X)
    assert_allclose(crf.predict_proba(frame), np.vstack(expected))


def test_words_need_a_vectorizer():
    words, labels = [["the", "dog"], ["a", "cat"]], [["D", "N"], ["D", "N"]]
    for tokens in (words, [[{"w": w} for w in s] for s in words]):
        with pytest.raises(ValueError, match="SequenceVectorizer"):
            BoostedCRF().fit(tokens, labels)
    pipeline = make_pipeline(SequenceVectorizer(), BoostedCRF(min_samples_leaf=1))
    assert pipeline.fit(words * 5, labels * 5).predict(words).tolist() == labels


def test_search_in_a_pipeline():
    rows, labels = np.vstack(X), np.concatenate(y)
    steps = [("scale", StandardScaler()), ("crf", BoostedCRF(sample_unit="token", **FAST))]
    search = GridSearchCV(Pipeline(steps), {"crf__learning_rate": [0.1, 0.5]}, cv=3)
    assert search.fit(rows, labels).best_score_ > 0.5
    grid = {"max_leaf_nodes": [4, 8], "l2_regularization": [0.1, 1.0]}
    of_chains = GridSearchCV(BoostedCRF(random_state=0, max_iter=5), grid, cv=3).fit(X, y)
    refitted = clone(of_chains.best_estimator_).fit(X, y)
    assert of_chains.predict(X).tolist() == refitted.predict(X).tolist()
    flat = SequenceArray.from_sequences(X), SequenceArray.from_sequences(y)
    crf = BoostedCRF(random_state=0, max_iter=5)
    assert_allclose(cross_val_score(crf, *flat, cv=3), cross_val_score(crf, X, y, cv=3))


def test_a_failed_fit_leaves_the_model_as_it_was():
    crf = BoostedCRF(**FAST).fit(X, y)
    before = dict(vars(crf))
    for inputs in ((X, y[1:]), ([["a"]], [["b"]])):
        with pytest.raises(ValueError):
            crf.fit(*inputs)
    assert vars(crf) == before


def test_interrupted_training_keeps_the_rounds_before(monkeypatch):
    original, calls = Booster.add, []

    def stop_at_fourth(*args, **kwargs):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return original(*args, **kwargs)

    monkeypatch.setattr(Booster, "add", stop_at_fourth)
    with pytest.warns(match="training did not converge: it was interrupted"):
        crf = BoostedCRF(random_state=0, **FAST).fit(X, y)
    monkeypatch.undo()
    expected = BoostedCRF(random_state=0, **FAST).set_params(max_iter=3).fit(X, y)
    assert crf.n_iter_ == 3
    assert np.array_equal(np.vstack(crf.predict_proba(X)), np.vstack(expected.predict_proba(X)))
    calls[:] = [1] * 3
    monkeypatch.setattr(Booster, "add", stop_at_fourth)
    before = dict(vars(crf))
    with pytest.raises(KeyboardInterrupt):
        crf.fit(X, y)
    assert vars(crf) == before


@either
@pytest.mark.parametrize("validation_fraction", [None, 0.3])
def test_a_warm_start_adds_trees(validation_fraction, pairs):
    options = {
        **FAST,
        "learning_rate": 0.1,
        "pairs": pairs,
        "validation_fraction": validation_fraction,
        "random_state": 0,
    }
    whole = BoostedCRF(**options).fit(X, y)
    parts = BoostedCRF(**options, warm_start=True).set_params(max_iter=6).fit(X, y)
    first, trees = parts.loss_curve_, parts.estimators_
    parts.set_params(max_iter=9).fit(X, y)
    assert parts.estimators_[:6] == trees and len(trees) == 6
    assert len(parts.estimators_) == len(whole.estimators_)
    assert parts.n_iter_ == len(parts.loss_curve_) == 9
    assert_allclose([*first, *parts.loss_curve_], whole.loss_curve_)
    assert_allclose(np.vstack(parts.predict_proba(X)), np.vstack(whole.predict_proba(X)))


def test_what_a_warm_start_cannot_take():
    crf = BoostedCRF(**FAST, warm_start=True).fit(X, y)
    before = dict(vars(crf))
    with pytest.raises(ValueError, match="'new'"):
        crf.fit(X, [["new"] * len(s) for s in y])
    with pytest.raises(ValueError, match="2 features"):
        crf.fit([x[:, :2] for x in X], y)
    assert vars(crf) == before
    some = [i for i, s in enumerate(y) if "L0" not in s]
    crf.fit([X[i] for i in some], [y[i] for i in some])
    assert crf.classes_.tolist() == ["L0", "L1", "L2"]


def test_labels_have_weights():
    def fitted(class_weight=None, sample_weight=None):
        return BoostedCRF(**FAST, class_weight=class_weight).fit(X, y, sample_weight)

    weights = [[3.0 if label == "L1" else 1.0 for label in s] for s in y]
    weighted, expected = fitted({"L1": 3.0}), fitted(None, weights)
    assert weighted.loss_curve_ == expected.loss_curve_ != fitted().loss_curve_
    assert fitted("balanced").loss_curve_ != fitted().loss_curve_
    with pytest.raises(ValueError, match="class_weight"):
        fitted({"L1": -1.0})


def test_no_rounds_and_one_label():
    crf = BoostedCRF(max_iter=0).fit(X, y)
    assert crf.estimators_ == []
    prior = np.exp(crf.baseline_)
    assert_allclose(np.vstack(crf.predict_proba(X)), np.tile(prior, (sum(map(len, X)), 1)))
    one = BoostedCRF(max_iter=2).fit(X, [["A"] * len(s) for s in y])
    assert set(np.concatenate(one.predict(X))) == {"A"}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"learning_rate": 0.0}, "'learning_rate'"),
        ({"max_leaf_nodes": 1}, "'max_leaf_nodes'"),
        ({"max_leaf_nodes": 2**70}, "'max_leaf_nodes'"),
        ({"max_depth": 2**70}, "'max_depth'"),
        ({"max_features": 2**70}, "'max_features'"),
        ({"l2_regularization": 0.0}, "'l2_regularization'"),
        ({"subsample": 0.0}, "'subsample'"),
        ({"validation_fraction": 0.999}, "leaves nothing of 60 sequences"),
        ({"constraints": "IOB3"}, "constraints"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        BoostedCRF(**parameters).fit(X, y)


def test_storing(tmp_path):
    crf = BoostedCRF(constraints={"L0": ["L0", "L1", "L2"]}, **FAST).fit(X, y)
    loaded = pickle.loads(pickle.dumps(crf))
    assert np.array_equal(np.vstack(loaded.predict_proba(X)), np.vstack(crf.predict_proba(X)))
    assert loaded.loss_curve_ == crf.loss_curve_


def test_it_tells_how_it_goes(capsys):
    BoostedCRF(max_iter=4, verbose=2, validation_fraction=0.2).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["iteration 2", "iteration 4"]
    assert "validation loss" in lines[0]
