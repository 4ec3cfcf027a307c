"""MaxMarginCRF as a classifier of sequences."""

import pickle
import re
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from cases import for_each
from log_linear import all_weights
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks
from toy import make_corpus

from sklearn_crcrf import CRF, MaxMarginCRF, SequenceArray, SequenceVectorizer, Window
from sklearn_crcrf.estimators.max_margin import problem

X, y = make_corpus(n_sequences=30)
X, y = [*X, []], [*y, []]
ROWS = [np.random.default_rng(i).normal(size=(len(s), 3)) for i, s in enumerate(X)]
SOLVERS = ["bcfw", "smo", "eg", "subgradient"]
WEIGHTS = np.arange(31) % 3

# The order of the sequences is random, and ends at a tolerance far above rounding.
NEARLY = {
    f"check_sample_weight_equivalence_on_{kind}_data": "the minimum is only approached"
    for kind in ("dense", "sparse")
}


# With attributes of some hundreds, no C that separates the classes is easy.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [MaxMarginCRF(sample_unit="token", max_iter=50, boundaries=True)],
    expected_failed_checks=lambda estimator: NEARLY,
)
def test_estimator_checks(estimator, check):
    check(estimator)


def loss(crf, x, labels):
    """By how much the best path, with its wrong labels rewarded, beats the gold one."""
    if not x:
        return 0.0
    state = crf.coef_[[crf.attribute_names_.tolist().index(word) for word in x]]
    gold = np.searchsorted(crf.classes_, labels)
    reward = state + (np.arange(state.shape[1]) != gold[:, None])
    best = reward[0] + crf.begin_
    for scores in reward[1:]:
        best = (best[:, None] + crf.transitions_).max(axis=0) + scores
    score = state[np.arange(len(x)), gold].sum() + crf.transitions_[gold[:-1], gold[1:]].sum()
    return (best + crf.end_).max() - score - crf.begin_[gold[0]] - crf.end_[gold[-1]]


@for_each("boundaries", [False, True])
@for_each("weights", [None, WEIGHTS])
def test_the_objective(boundaries, weights):
    crf = MaxMarginCRF(0.3, boundaries=boundaries, random_state=0).fit(X, y, weights)
    losses = [loss(crf, *pair) for pair in zip(X, y, strict=True)]
    w = all_weights(crf)
    total = np.dot(losses, np.ones(31) if weights is None else weights) + w @ w / 0.6
    assert_allclose(crf.loss_curve_[-1], total)
    assert crf.n_iter_ == len(crf.loss_curve_) == len(crf.dual_curve_)
    assert_allclose(crf.duality_gap_, crf.loss_curve_[-1] - crf.dual_curve_[-1])
    assert crf.converged_
    assert 0 <= crf.duality_gap_ <= 0.01 * total


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_optimum_is_that_of_the_criterion():
    crf = MaxMarginCRF(0.09, tol=1e-4, random_state=0).fit(X, y)
    primal = CRF("max_margin", sigma=0.3, solver="sgd", max_iter=300, tol=1e-4, random_state=0)
    primal.fit(X, y)
    assert primal.loss_curve_[-1] >= crf.dual_curve_[-1]
    assert_allclose(primal.loss_curve_[-1], crf.loss_curve_[-1], rtol=0.05)


# By this method liblinear leaves the number of its iterations as it was in memory.
@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")
@for_each("solver", SOLVERS)
def test_rows_alone_are_a_support_vector_machine(solver):
    """That of Crammer & Singer."""
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(60, 4)), rng.integers(3, size=60)
    svm = LinearSVC(
        multi_class="crammer_singer", C=0.05, fit_intercept=False, tol=1e-5, max_iter=1_000_000
    ).fit(rows, labels)
    options = {"tol": 1e-3, "max_iter": 1000, "random_state": 0}
    crf = MaxMarginCRF(0.05, solver, sample_unit="token", **options).fit(rows, labels)
    # Two points whose objectives differ by that much are no farther from each other.
    distance = np.linalg.norm(crf.coef_.T - svm.coef_)
    assert distance <= np.sqrt(2 * 0.05 * crf.duality_gap_) + 1e-6
    assert_allclose(crf.transitions_, 0)


@pytest.mark.parametrize(
    "parameters",
    [{"edge_columns": ["token"]}, {"boundaries": True}, {"constraints": {"D": ["A", "B", "D"]}}],
    ids=str,
)
def test_parameters_of_features(parameters):
    follow = parameters.get("constraints", {})
    allowed = [all(b in follow.get(a, b) for a, b in pairwise(s)) for s in y]
    train = [[s for s, ok in zip(part, allowed, strict=True) if ok] for part in (X, y)]
    plain, crf = (
        MaxMarginCRF(0.3, tol=1e-3, max_iter=1000, random_state=0, **options).fit(*train)
        for options in ({}, parameters)
    )
    if follow:
        assert crf.transitions_[3, 2] == 0
        # Without the paths that are impossible, less is lost.
        assert crf.dual_curve_[-1] <= plain.loss_curve_[-1]
        return
    # More weights can only help.
    assert crf.loss_curve_[-1] < plain.dual_curve_[-1]
    extra = crf.edge_coef_ if "edge_columns" in parameters else crf.begin_
    assert extra.any()


def test_a_weight_is_a_number_of_copies():
    copies = [i for i, n in enumerate(WEIGHTS) for _ in range(n)]
    crf = MaxMarginCRF(0.3, tol=1e-6, max_iter=5000, random_state=0)
    weighted = clone(crf).fit(X, y, sample_weight=WEIGHTS)
    copied = clone(crf).fit([X[i] for i in copies], [y[i] for i in copies])
    assert_allclose(weighted.loss_curve_[-1], copied.loss_curve_[-1], rtol=1e-6)
    words = [weighted.attribute_names_.tolist().index(word) for word in copied.attribute_names_]
    assert_allclose(weighted.coef_[words], copied.coef_, atol=0.02)
    of_labels = clone(crf).set_params(class_weight=dict.fromkeys("ABCD", 2.0)).fit(X, y)
    twice = clone(crf).fit(X, y, sample_weight=np.full(31, 2.0))
    assert_array_equal(of_labels.coef_, twice.coef_)
    with pytest.raises(ValueError, match="leave no sequence with any weight"):
        clone(crf).set_params(class_weight=dict.fromkeys("ABCD", 0)).fit(X, y)


def test_too_few_passes():
    with pytest.warns(ConvergenceWarning, match="after max_iter=2 passes"):
        crf = MaxMarginCRF(max_iter=2, tol=1e-3, random_state=0).fit(X, y)
    assert not crf.converged_
    assert crf.n_iter_ == 2
    assert crf.duality_gap_ > 0.1 * crf.loss_curve_[-1]


@pytest.mark.parametrize("solver", SOLVERS)
def test_ctrl_c_leaves_the_weights_of_the_last_pass(solver, monkeypatch):
    crf = MaxMarginCRF(0.3, solver, tol=1e-9, random_state=0)
    with pytest.warns(ConvergenceWarning):
        expected = clone(crf).set_params(max_iter=2).fit(X, y)
    find, calls = problem.find, []

    def interrupted(*args):
        calls.append(1)
        if len(calls) > 2:
            raise KeyboardInterrupt
        return find(*args)

    monkeypatch.setattr(problem, "find", interrupted)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        crf.fit(X, y)
    assert not crf.converged_
    assert crf.n_iter_ == 2
    assert_array_equal(all_weights(crf), all_weights(expected))
    assert crf.loss_curve_ == expected.loss_curve_
    fresh = MaxMarginCRF(solver=solver)
    with pytest.raises(KeyboardInterrupt):
        fresh.fit(X, y)
    assert not hasattr(fresh, "coef_")


def test_all_labels_must_be_known():
    crf = MaxMarginCRF()
    for label in (None, {"A", "B"}):
        with pytest.raises(ValueError, match="y, sequence 1, position 1: the label is not known"):
            crf.fit([["a"], ["b", "c"]], [["A"], ["B", label]])
    assert not hasattr(crf, "coef_")


def test_a_failed_fit_leaves_the_model_as_it_was():
    crf = MaxMarginCRF(0.1, random_state=0).fit(X, y)
    before = vars(crf).copy()
    with pytest.raises(ValueError, match="sequences"):
        crf.fit(X, y[1:])
    assert vars(crf) == before


@for_each("solver", SOLVERS)
def test_every_way_to_give_attributes(solver):
    crf = MaxMarginCRF(0.05, solver, tol=0.02, random_state=0)
    dense = clone(crf).fit(ROWS, y)
    for rows in (
        [sp.csr_array(row) for row in ROWS],
        SequenceArray.from_sequences(ROWS),
        SequenceArray(sp.csr_array(np.vstack(ROWS)), SequenceArray.from_sequences(y).offsets),
    ):
        other = clone(crf).fit(rows, y)
        assert_array_equal(all_weights(other), all_weights(dense))
        assert [list(s) for s in other.predict(rows)] == dense.predict(ROWS).tolist()
    single = clone(crf).set_params(dtype="float32").fit(ROWS, y)
    assert single.coef_.dtype == np.float32
    assert_allclose(single.loss_curve_[-1], dense.loss_curve_[-1], rtol=0.02)


def test_tokens_of_a_frame_are_samples():
    pd = pytest.importorskip("pandas")
    index = [(i, t) for i, s in enumerate(X) for t in range(len(s))]
    words = pd.DataFrame({"word": [w for s in X for w in s]}, pd.MultiIndex.from_tuples(index))
    labels = np.array([label for s in y for label in s])
    crf = MaxMarginCRF(0.1, sample_unit="token", random_state=0).fit(words, labels)
    lists = MaxMarginCRF(0.1, random_state=0).fit(X, y)
    assert crf.predict(words).tolist() == [label for s in lists.predict(X) for label in s]
    assert cross_val_score(crf, words, labels, scoring="accuracy", cv=3).min() > 0.2


def test_random_state_and_threads():
    crf = MaxMarginCRF(0.1, tol=0.1, random_state=1)
    first = clone(crf).fit(X, y)
    assert_array_equal(clone(crf).set_params(n_jobs=2).fit(X, y).coef_, first.coef_)
    other = clone(crf).set_params(random_state=2).fit(X, y)
    assert not np.array_equal(other.coef_, first.coef_)


def test_progress_is_told(capsys):
    crf = MaxMarginCRF(0.1, verbose=3, random_state=0).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == crf.n_iter_ // 3
    value = re.fullmatch(r"iteration 3: [\d.]+ s, loss ([\d.]+)", lines[0]).group(1)
    assert_allclose(float(value), crf.loss_curve_[2], rtol=1e-4)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("layout", ["lists", "SequenceArray"])
def test_search_in_a_pipeline(layout):
    x, labels = (X, y) if layout == "lists" else map(SequenceArray.from_sequences, (X, y))
    pipeline = Pipeline(
        [
            ("near", Window([-1, 0])),
            ("vectors", SequenceVectorizer()),
            ("crf", MaxMarginCRF(max_iter=10, random_state=0)),
        ]
    )
    grid = {"crf__C": [0.01, 0.1], "crf__solver": SOLVERS}
    search = GridSearchCV(pipeline, grid, cv=2).fit(x, labels)
    refitted = clone(search.best_estimator_).fit(x, labels)
    assert search.predict(x).tolist() == refitted.predict(x).tolist()


def test_a_stored_model_is_the_same(tmp_path):
    crf = MaxMarginCRF(0.1, random_state=0, constraints={"A": list("ABCD")}).fit(X, y)
    copies = [pickle.loads(pickle.dumps(crf))]
    skops = pytest.importorskip("skops.io")
    skops.dump(crf, tmp_path / "model")
    untrusted = skops.get_untrusted_types(file=tmp_path / "model")
    copies.append(skops.load(tmp_path / "model", trusted=untrusted))
    for other in copies:
        assert other.predict(X).tolist() == crf.predict(X).tolist()
        assert other.duality_gap_ == crf.duality_gap_
