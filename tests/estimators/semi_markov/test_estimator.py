"""SemiMarkovCRF: training, prediction, and what it has in common with CRF."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from cases import for_each
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import check_grad
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_crcrf import CRF, GraphArray, SemiMarkovCRF, explain
from sklearn_crcrf.base.batches import Batch
from sklearn_crcrf.criteria import MCE, SoftmaxMargin
from sklearn_crcrf.estimators.semi_markov import SegmentedArray
from sklearn_crcrf.labels import convert_scheme
from sklearn_crcrf.structures import Spans, Unsupported

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

LABELS = [["O"], ["B-X", "I-X"], ["B-Y"], ["B-X", "I-X", "I-X", "I-X"], ["B-Y", "I-Y"]]


def make_data(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        chosen = rng.integers(0, len(LABELS), rng.integers(1, 4))
        labels = [label for i in chosen for label in LABELS[i]]
        y.append(labels)
        X.append([f"{label[-1]}{rng.integers(3)}" for label in labels])
    return X, y


X, y = make_data()


def segmented(X, seed=0, max_length=2):
    """X with a random feature of each short span, and one feature of all."""
    rng, tokens = np.random.default_rng(seed), np.concatenate([np.array(s, object) for s in X])
    offsets = np.append(0, np.cumsum([len(s) for s in X]))
    before = np.arange(len(tokens)) - np.repeat(offsets[:-1], np.diff(offsets))
    counts = np.minimum(before + 1, max_length)
    length = np.concatenate([np.arange(1, n + 1) for n in counts])
    features = sp.csr_array(
        np.column_stack([np.ones(len(length)), rng.random((len(length), 2)) < 0.5]).astype(float)
    )
    spans = Spans(np.append(0, np.cumsum(counts)), length, features)
    return SegmentedArray(tokens, offsets, spans, ["bias", "a", "b"])


@pytest.fixture(scope="module")
def crf():
    return SemiMarkovCRF(max_length=2).fit(segmented(X), y)


@for_each(
    "criterion",
    [
        "log_loss",
        "marginal_likelihood",
        "softmax_margin",
        SoftmaxMargin(0.5, segment_cost=2.0),
        "max_margin",
        "expected_cost",
        "token_error",
        "mce",
        MCE(psi=2.0),
        "mce_f1",
    ],
)
def test_the_gradient_is_the_derivative(criterion):
    crf = SemiMarkovCRF(criterion, max_length=2, segment_sigma=0.3, boundaries=True)
    crf._n_seen = 12.0
    few = segmented(X[:12])
    problem = crf._problem(crf._read(few, y[:12], None).longest_first(), None)
    objective = problem.objective()
    x = np.random.default_rng(0).normal(size=problem.terms().n_weights)
    error = check_grad(lambda x: objective(x)[0], lambda x: objective(x)[1].copy(), x)
    assert error < 1e-4


def test_training_goes_on_with_the_weights_of_segments():
    crf = SemiMarkovCRF(max_length=2, tol=1e-9, warm_start=True).fit(segmented(X), y)
    length, features = crf.length_, crf.segment_coef_
    least = crf.loss_curve_[-1]
    again = crf.set_params(tol=1e-3).fit(segmented(X), y)
    assert_allclose(again.loss_curve_[0], least, rtol=1e-6)
    assert_allclose(again.length_, length, atol=1e-3)
    assert_allclose(again.segment_coef_, features, atol=1e-3)
    assert "_before" not in vars(again)
    crf.partial_fit(segmented(X)[:1], y[:1])
    assert np.abs(crf.segment_coef_ - features).max() < 0.5 * np.abs(features).max()


def test_the_penalty_of_segments():
    narrow = SemiMarkovCRF(max_length=2, segment_sigma=0.01, tol=1e-9).fit(segmented(X), y)
    wide = SemiMarkovCRF(max_length=2, segment_sigma=10.0, tol=1e-9).fit(segmented(X), y)
    assert abs(narrow.length_).max() < 0.02 < abs(wide.length_).max()
    equal = SemiMarkovCRF(max_length=2, segment_sigma=1.0, tol=1e-9).fit(segmented(X), y)
    same = SemiMarkovCRF(max_length=2, tol=1e-9).fit(segmented(X), y)
    assert_allclose(equal.segment_coef_, same.segment_coef_)


def test_without_weights_of_segments_it_is_a_constrained_crf():
    options = {"features": "all", "tol": 1e-12, "sigma": 2.0}
    ours = SemiMarkovCRF(segment_sigma=1e-6, **options).fit(X, y)
    crf = CRF(constraints="IOB2", **options).fit(X, y)
    assert_allclose(ours.coef_, crf.coef_, atol=1e-4)
    assert_array_equal(ours.predict(X), crf.predict(X))
    assert_allclose(
        np.concatenate(ours.predict_proba(X)), np.concatenate(crf.predict_proba(X)), atol=1e-4
    )


def test_segments_longer_than_the_longest_length_are_learned():
    long = [["x"] * 9 + ["o"]] * 5
    labels = [["B-X"] + ["I-X"] * 8 + ["O"]] * 5
    crf = SemiMarkovCRF(max_length=2).fit(long, labels)
    assert crf.predict(long).tolist() == labels
    assert crf.length_[0, 2] > crf.length_[0, 0]


def test_iobes(crf):
    four = convert_scheme(y, "IOB2", "IOBES")
    ours = SemiMarkovCRF(max_length=2, scheme="IOBES").fit(X, four)
    assert ours.score(X, four) > 0.8
    assert set(np.concatenate(ours.predict(X))) <= set(ours.classes_)


def test_all_ways_to_predict(crf):
    data = segmented(X[:8])
    labels = crf.predict(data)
    best = crf.predict_k_best(data, 3)
    assert [paths[0][0] for paths in best] == labels.tolist()
    assert_allclose([paths[0][1] for paths in best], crf.confidence(data))
    drawn = crf.sample(data, 2, random_state=0)
    assert len(drawn) == 2
    assert (crf.entropy(data) >= 0).all()
    assert_allclose(crf.predict_proba(data).data.sum(axis=1), 1.0)
    for segments, sequence in zip(crf.predict_spans(data), data, strict=True):
        for start, end, kind, probability in segments:
            assert 0 <= start < end <= len(sequence)
            assert kind in crf.segment_types_
            assert 0 < probability <= 1
    allowed = [[None] * len(s) for s in X[:8]]
    allowed[0][0] = {"O"}
    assert crf.predict(data, allowed=allowed)[0][0] == "O"


def test_selected_sequences_keep_their_spans(crf):
    data = segmented(X)
    assert_array_equal(crf.predict(data[5:9]).data, crf.predict(data)[5:9].data)
    chosen = np.array([7, 2])
    assert_array_equal(crf.predict(data[chosen]).data, crf.predict(data)[chosen].data)
    assert len(cross_val_predict(SemiMarkovCRF(max_length=2), data, y, cv=2)) == len(X)
    search = GridSearchCV(SemiMarkovCRF(), {"max_length": [2, 3]}, cv=2).fit(data, y)
    assert search.best_score_ > 0.5


def test_explanations_add_up(crf):
    data = segmented(X[:1])
    entries = explain(crf, data).contributions
    assert "segment" in set(entries.kind)
    y = np.searchsorted(crf.classes_, crf.predict(data).data)
    structure = crf._structure(data)
    scores = crf._scores(crf._prepare(data), Batch(0, structure.n_tokens, structure, 0))
    assert_allclose(entries.value.sum(), structure.score(scores, y)[0])


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_threads_give_the_same_bits(n_jobs, monkeypatch):
    monkeypatch.setattr("sklearn_crcrf.linear.corpus.SMALLEST_CHUNK", 20)
    monkeypatch.setattr("sklearn_crcrf.linear.corpus.CHUNK", 20)
    ours = SemiMarkovCRF(max_length=2, n_jobs=n_jobs, max_iter=5).fit(segmented(X), y)
    one = SemiMarkovCRF(max_length=2, max_iter=5).fit(segmented(X), y)
    assert_array_equal(ours.segment_coef_, one.segment_coef_)
    assert_array_equal(ours.coef_.data, one.coef_.data)


def test_it_is_stored(crf):
    again = pickle.loads(pickle.dumps(crf))
    assert_array_equal(again.predict(segmented(X)).data, crf.predict(segmented(X)).data)


@pytest.mark.parametrize("criterion", ["piecewise", "pseudo_likelihood"])
def test_criteria_that_are_not_of_segments(criterion):
    with pytest.raises(Unsupported, match=r"needs \w+, which SemiMarkovChain does not have"):
        SemiMarkovCRF(criterion).fit(X, y)
    with pytest.raises(Unsupported, match="needs segment_costs, which Chain does not have"):
        CRF(SoftmaxMargin(segment_cost=1.0)).fit(X, y)
    partial = [[None, *labels[1:]] for labels in y]
    with pytest.raises(
        ValueError, match=r"criterion=SoftmaxMargin\(segment_cost=1.0\) needs the label"
    ):
        SemiMarkovCRF(SoftmaxMargin(segment_cost=1.0)).fit(X, partial)


@for_each(
    "criterion",
    [
        "max_margin",
        "softmax_margin",
        SoftmaxMargin(segment_cost=1.0),
        "mce",
        "mce_f1",
        "expected_cost",
    ],
)
def test_criteria(criterion):
    crf = SemiMarkovCRF(criterion, max_length=2, max_iter=20).fit(segmented(X), y)
    assert crf.score(segmented(X), y) > 0.8


def test_partial_labels():
    known = [[label if i % 3 else None for i, label in enumerate(labels)] for labels in y]
    crf = SemiMarkovCRF(max_length=2).fit(X, known)
    assert crf.score(X, y) > 0.7


@pytest.mark.parametrize(
    ("labels", "place"),
    [(["O", "I-X"], "position 1"), (["I-X", "O"], "position 0"), (["B-X", "I-Y"], "position 1")],
)
def test_labels_that_spell_no_segmentation(labels, place):
    with pytest.raises(ValueError, match=rf"y, sequence 1, {place}: .*IOB2"):
        SemiMarkovCRF().fit([["a", "b"], ["a", "b"]], [["B-X", "I-X"], labels])


def test_what_is_refused(crf):
    with pytest.raises(ValueError, match="3 features of segments, but X has none"):
        crf.predict(X)
    other = segmented(X)
    renamed = SegmentedArray(other.data, other.offsets, other.spans, ["bias", "b", "a"])
    with pytest.raises(
        ValueError, match=r"which are 3 names \(bias, a, b\), but has 3 names \(bias"
    ):
        crf.predict(renamed)
    with pytest.raises(ValueError, match="spans of 2 tokens, but max_length is 1"):
        SemiMarkovCRF(max_length=1).fit(segmented(X), y)
    graph = GraphArray.from_edges([["a", "b"]], [[(0, 1)]])
    with pytest.raises(ValueError, match="sequences, but no trees or graphs"):
        SemiMarkovCRF().fit(graph, [["O", "B-X"]])
    with pytest.raises(ValueError, match="segment_sigma needs a finite sigma"):
        SemiMarkovCRF(sigma=np.inf, segment_sigma=1.0).fit(X, y)


@parametrize_with_checks([SemiMarkovCRF(max_iter=20)])
def test_scikit_learn(estimator, check):
    check(estimator)
