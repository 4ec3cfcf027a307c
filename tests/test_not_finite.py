"""Scores that are not finite: an error that names the cause, in training as in prediction."""

import numpy as np
import pytest
from cases import for_each
from compiled import compiled
from sklearn_crcrf._kernels.chain.scores import BatchScores

from sklearn_crcrf import (
    CRF,
    HMM,
    MEMM,
    BoostedCRF,
    EmpiricalCRF,
    GraphArray,
    GraphCRF,
    MaxMarginCRF,
    OpinionPoolCRF,
    StructuredPerceptron,
    explain,
)
from sklearn_crcrf.criteria import CRITERIA
from sklearn_crcrf.data.ragged import longest_first
from sklearn_crcrf.estimators.crf.solving import SOLVERS
from sklearn_crcrf.estimators.max_margin.estimator import SOLVERS as MARGIN_SOLVERS
from sklearn_crcrf.estimators.perceptron.learning import LEARNERS
from sklearn_crcrf.serving import Tagger
from sklearn_crcrf.structures import Chain, Scores, TokenTransitions

pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore::RuntimeWarning"
)

TRAINERS = {
    **{f"perceptron {name}": StructuredPerceptron(name, max_iter=5) for name in LEARNERS},
    "perceptron with edges": StructuredPerceptron(edge_columns=[0], max_iter=5),
    **{name: MaxMarginCRF(solver=name, max_iter=5) for name in MARGIN_SOLVERS},
    **{name: CRF(solver=name, c1=0.1 * (name == "owlqn"), max_iter=5) for name in SOLVERS},
    **{name: CRF(name, max_iter=5) for name in CRITERIA},
    "edges": CRF(edge_columns=[0], max_iter=5),
    "memm": MEMM(max_iter=5),
    "pool": OpinionPoolCRF([("crf", CRF(max_iter=5)), ("hmm", HMM())]),
}
WORDS = [["the", "dog"], ["a", "dog", "barks"]], [["D", "N"], ["D", "N", "V"]]
SHORT = np.array([0, 3, 3, 4, 6, 15, 15, 40])


def large(scale, dtype, positive=False):
    rng = np.random.default_rng(0)
    signs = np.ones(2) if positive else [-1, 1]
    return [(rng.choice(signs, (3, 2)) * scale).astype(dtype) for _ in range(8)]


SCALES = [(1e308, "f8"), (1e160, "f8"), (1e30, "f4")]


# All criteria are trained with the same solver, on the same scores.
@for_each(
    ("name", "scale", "dtype"),
    [
        (name, *scale)
        for name in TRAINERS
        for scale in (SCALES[1:2] if name in CRITERIA and name != "log_loss" else SCALES)
    ],
)
def test_training_on_huge_values_names_them(name, scale, dtype):
    estimator, y = TRAINERS[name], [["B-a", "I-a", "O"]] * 8
    X = large(scale, dtype, positive=name == "gis")
    with pytest.raises(ValueError, match=r"X, sequence \d, position \d.*attribute values of up to"):
        estimator.fit(X, y)
    assert not hasattr(estimator, "classes_")


@for_each("n_fits", [1, 2])
@for_each("estimator", [CRF(), StructuredPerceptron()])
def test_training_in_parts_on_huge_values_leaves_the_model(estimator, n_fits):
    small, y = large(1.0, "f8"), [["a", "b", "c"]] * 8
    estimator.partial_fit(small, y)
    before = estimator.predict(small).tolist()
    with pytest.raises(ValueError, match="attribute values of up to 1e"):
        estimator.partial_fit(large(1e200, "f8"), y)
    assert estimator.predict(small).tolist() == before


# Values that pass by themselves, with weights that make the scores overflow.
@for_each(
    "estimator",
    [
        *(StructuredPerceptron(name, max_iter=8) for name in LEARNERS),
        StructuredPerceptron(edge_columns=[0], boundaries=True),
        *(MaxMarginCRF(1e200, solver=name, max_iter=4) for name in MARGIN_SOLVERS),
    ],
)
@for_each("weight", [1e150, 1e306])
def test_scores_that_overflow_in_training_are_an_error(estimator, weight):
    X, y = large(1e100, "f8"), [["a", "b", "c"], ["c", "b", "a"]] * 4
    with pytest.raises(ValueError, match=r"(?s)(finite|inf|nan).*scale"):
        estimator.fit(X, y, np.full(8, weight))
    assert not hasattr(estimator, "classes_")


@pytest.mark.parametrize("solver", sorted(set(SOLVERS) - {"gis"}))
@pytest.mark.parametrize("weight", [1e150, 1e300])
def test_weights_that_overflow_are_an_error_or_trained_with(solver, weight):
    X, y = large(1e100, "f8"), [["a", "b", "c"], ["c", "b", "a"]] * 4
    crf = CRF(solver=solver, c1=0.1 * (solver == "owlqn"), max_iter=5)
    try:
        crf.fit(X, y, np.full(8, weight))
    except ValueError as error:
        assert "finite" in str(error)
        assert not hasattr(crf, "classes_")
    else:
        assert np.isfinite(np.concatenate(crf.predict_proba(X))).all()


def test_sample_weights_whose_sum_overflows_are_refused():
    for estimator in (HMM(), EmpiricalCRF(), CRF(), BoostedCRF()):
        with pytest.raises(ValueError, match="sample_weight: the sum is not finite"):
            estimator.fit([[[1.0]], [[2.0]]], [["a"], ["b"]], [1e308, 1e308])


def fitted(value, dtype=None):
    """A model whose scores overflow, as its attributes or its weights are huge."""
    X = [np.eye(2), np.eye(2)[::-1]]
    crf = CRF(max_iter=3, dtype=dtype).fit(X, [["a", "b"], ["b", "a"]])
    crf.coef_ = np.array([[value, -value], [-value, value]], dtype=crf.coef_.dtype)
    return crf


CALLS = {
    "predict": lambda model, X: model.predict(X),
    "predict of what is allowed": lambda model, X: model.predict(X, [[{"a", "b"}] * 3] * len(X)),
    "predict_proba": lambda model, X: model.predict_proba(X),
    "predict_log_proba": lambda model, X: model.predict_log_proba(X),
    "predict_k_best": lambda model, X: model.predict_k_best(X, 2),
    "predict_spans": lambda model, X: model.predict_spans(X, "IOB2"),
    "confidence": lambda model, X: model.confidence(X),
    "entropy": lambda model, X: model.entropy(X),
    "sample": lambda model, X: model.sample(X, 2),
    "score": lambda model, X: model.score(X, [["a"] * 3] * len(X)),
    "explain": lambda model, X: explain(model, X[1]),
    "explain of labels": lambda model, X: explain(model, X[1], ["a"] * 3),
}


@for_each("dtype", ["float64", "float32"])
@for_each("decoding", ["viterbi", "marginal"])
@for_each("name", CALLS)
def test_prediction_names_the_token_whose_scores_overflow(name, decoding, dtype):
    crf = fitted(30.0, dtype).set_params(decoding=decoding)
    X = [np.ones((3, 2)), np.ones((3, 2))]
    X[1][1] = np.finfo(dtype).max
    where = "sequence 0" if name.startswith("explain") else "sequence 1"
    with pytest.raises(ValueError, match=f"X, {where}, position 1: the scores of labels"):
        CALLS[name](crf, X)


@for_each("value", [np.inf, np.nan])
@for_each("part", ["coef_", "transitions_", "begin_", "end_", "edge_coef_"])
@for_each("name", CALLS)
def test_weights_that_are_not_finite_are_an_error(name, part, value):
    X = [np.ones((3, 2)), np.ones((3, 2))]
    crf = CRF(max_iter=3, edge_columns=[0]).fit(X, [["a", "b", "b"], ["b", "a", "a"]])
    weights = getattr(crf, part).copy()
    weights[..., -1] = value
    getattr(crf, part)[:] = weights  # another array would be checked
    with pytest.raises(ValueError, match="not finite"):
        CALLS[name](crf, X)


def test_sums_of_scores_that_overflow_are_an_error():
    # Each score is finite, and the sum over the sequence is not.
    crf, X = fitted(1.7e308), [np.eye(2)[[0, 0, 0]]]
    for name in ("predict", "predict_proba", "confidence", "entropy", "sample"):
        with pytest.raises(ValueError, match="X, sequence 0: the scores of labels are not finite"):
            CALLS[name](crf, X)


def test_a_local_model_whose_scores_overflow_is_an_error():
    X = [np.eye(2), np.eye(2)[::-1]]
    memm = MEMM(max_iter=3).fit(X, [["a", "b"], ["b", "a"]])
    memm.coef_ = memm.coef_ * 1e3 + 1e3
    for name in ("predict", "predict_proba", "entropy"):
        with pytest.raises(ValueError, match="not finite"):
            CALLS[name](memm, [np.full((3, 2), 1.7e308)])


@for_each("kernel", compiled("chain.viterbi"))
@for_each("dtype", [np.float64, np.float32])
@for_each("n_labels", [1, 2, 3, 4, 5, 8, 9, 15, 16, 17, 33, 64, 65, 130])
@for_each("with_edges", [False, True])
def test_labels_are_those_of_the_chain_whatever_the_scores_are(kernel, dtype, n_labels, with_edges):
    rng = np.random.default_rng(n_labels)
    offsets = np.append(0, np.cumsum(np.tile(np.diff(SHORT), 10)))
    for improper in (np.nan, np.inf):
        for share in (0.02, 1.0):
            state = rng.normal(size=(offsets[-1], n_labels)).astype(dtype)
            hit = rng.random(state.shape) < share
            state[hit] = improper
            state[rng.random(state.shape) < 0.1] = -np.inf
            scores = Scores.of(state, rng.normal(size=(n_labels, n_labels)))
            if with_edges:
                indptr, ids = np.array([0, 1]), np.zeros(1, dtype=np.int32)
                row = np.zeros(offsets[-1], dtype=np.int64)
                scores = scores._replace(
                    token_transitions=TokenTransitions(row, indptr, ids, ids, np.array([improper]))
                )
            y, values = np.full(offsets[-1], -1, dtype=np.int32), np.empty(len(offsets) - 1)
            batch, order = BatchScores(offsets, scores), longest_first(offsets)
            kernel.viterbi(batch, order, scores.state, None, y, values)
            assert y.min() >= 0 and y.max() < n_labels
            is_hit = np.add.reduceat(~(state < np.inf).all(axis=1), offsets[:-1]) > 0
            assert np.array_equal(np.isnan(values), is_hit & (np.diff(offsets) > 0)) or with_edges


@pytest.mark.parametrize("kernel", compiled("chain.lock_step"))
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n_labels", [1, 2, 5, 8, 9, 17, 40])
def test_a_sum_with_a_score_that_is_not_finite_is_nan(kernel, dtype, n_labels, monkeypatch):
    monkeypatch.setattr("sklearn_crcrf.structures.chain.sums.lock_step", kernel)
    rng = np.random.default_rng(n_labels)
    for improper in (np.nan, np.inf):
        state = rng.normal(size=(SHORT[-1], n_labels)).astype(dtype)
        scores = Scores.of(state, rng.normal(size=(n_labels, n_labels)))
        expected = Chain(SHORT).log_partition(scores)[0]
        for s, token in ((0, 1), (4, 6), (6, 39)):
            state[token, rng.integers(n_labels)] = improper
            expected[s] = np.nan
            log_z, pullback = Chain(SHORT).log_partition(scores)
            np.testing.assert_allclose(log_z, expected, rtol=1e-5 if dtype == np.float32 else 1e-12)
            pullback(np.ones(len(SHORT) - 1))


@pytest.mark.parametrize("weight", [1e12, -1e30, -1e200])
def test_probabilities_of_labels_add_up_to_one_where_scores_are_rounded(weight):
    memm, X = MEMM(max_iter=5).fit([np.eye(3)[[0, 1, 2, 0]]], [["a", "b", "c", "a"]]), np.eye(3)
    for i, j in np.ndindex(3, 3):
        transitions = memm.transitions_.copy()
        memm.transitions_[i, j] = weight
        for rows in memm.predict_proba([X[[0, 1, 2, 1, 0]], X]):
            np.testing.assert_allclose(rows.sum(axis=1), 1.0)
        memm.transitions_ = transitions


def test_probabilities_of_paths_add_up_to_one_at_most_where_scores_are_rounded():
    crf, X = fitted(1e12), [np.eye(2), np.eye(2)[[0, 0, 1]]]
    crf.coef_[1] = crf.coef_[0]  # all paths but the first are alike
    for paths in crf.predict_k_best(X, 3):
        assert sum(probability for _, probability in paths) <= 1 + 1e-12


@pytest.mark.parametrize("seed", range(3))
def test_answers_are_numbers_where_scores_are_rounded_by_thousands(seed):
    crf, rng = fitted(1.0), np.random.default_rng(seed)
    crf.coef_, crf.transitions_ = rng.normal(size=(2, 2, 2)) * 1e11
    X = list(rng.normal(size=(20, 9, 2)))
    for paths in crf.predict_k_best(X, 3):
        probability = np.array([probability for _, probability in paths])
        assert 0.0 <= probability.sum() <= 1 + 1e-12
    entropy = crf.entropy(X)
    assert ((entropy >= 0) & (entropy <= 9 * np.log(2))).all()


OF_PROBABILITIES = (
    "predict_proba",
    "predict_log_proba",
    "predict_k_best",
    "confidence",
    "entropy",
    "sample",
)


@for_each("weight", [1e14, 1e20, 1e300])
@for_each("part", ["coef_", "transitions_", "begin_"])
def test_scores_without_differences_have_no_probabilities(part, weight):
    crf, X = CRF(max_iter=3, boundaries=True).fit(*WORDS), WORDS[0]
    setattr(crf, part, np.full(getattr(crf, part).shape, weight))
    for model in (crf, OpinionPoolCRF([("crf", crf)], [1.0]).fit(*WORDS)):
        if model is not crf:
            setattr(model.estimators_[0], part, getattr(crf, part))
        for name in OF_PROBABILITIES:
            with pytest.raises(ValueError, match="are too large for probabilities"):
                getattr(model, name)(X)
        assert len(model.predict(X)) == len(X)
    tagger = crf.tagger()
    for name in ("probabilities", "confidence"):
        with pytest.raises(ValueError, match="are too large for probabilities"):
            getattr(tagger, name)(X[0])


@for_each("X", [[np.eye(2), np.eye(2)[[0, 1, 1]] * [[1], [1], [1e14]]]])
def test_the_token_with_too_large_scores_is_named(X):
    crf = fitted(1.0)
    with pytest.raises(ValueError, match=r"X, sequence 1, position 2: scores of up to 1e\+14"):
        crf.predict_proba(X)


def test_scores_that_are_all_very_negative_have_no_probabilities():
    crf = fitted(1.0)
    crf.coef_ = np.full((2, 2), -1e20)
    with pytest.raises(ValueError, match=r"X, sequence 0: scores of up to -2e\+20"):
        crf.predict_proba([np.eye(2)])


def test_very_negative_scores_of_a_label_are_harmless():
    crf = fitted(1.0)
    crf.coef_ = np.array([[0.0, -1e20], [0.0, -1e300]])
    assert crf.confidence([np.eye(2)]) == [1.0]
    assert crf.predict_proba([np.eye(2)])[0].tolist() == [[1.0, 0.0], [1.0, 0.0]]


@for_each("scale", [1e20, -9e18, 1e25, 1e100])
def test_probabilities_of_graphs_of_huge_numbers(scale):
    X = GraphArray.from_edges([np.full((3, 3), scale), np.full((2, 3), scale)], [[(0, 1)], []])
    graph = GraphCRF(max_iter=3).fit(X, [["a", "b", "a"], ["b", "a"]])
    try:
        rows = np.vstack(list(graph.predict_proba(X)))
    except ValueError as error:
        assert "are too large for probabilities" in str(error)
    else:
        np.testing.assert_allclose(rows.sum(axis=1), 1.0)


@for_each("order", [1, 2, 3])
@for_each("scale", [1e14, 1e20, 1e100])
def test_taggers_of_huge_scores_have_no_probabilities(order, scale):
    content = EmpiricalCRF(order=order).fit(*WORDS).tagger().content()
    arrays = content.arrays
    names = ("transition", "begin", "trigrams.score")
    large = {name: np.full_like(arrays[name], scale) for name in names if name in arrays}
    tagger = Tagger(content._replace(arrays={**arrays, **large}))
    for name in ("probabilities", "confidence"):
        with pytest.raises(ValueError, match="are too large for probabilities"):
            getattr(tagger, name)(WORDS[0][0])


@pytest.mark.parametrize("n_samples", [0, -1])
def test_there_is_a_sample_at_least(n_samples):
    with pytest.raises(ValueError, match="must be >= 1"):
        fitted(1.0).sample([np.eye(2)], n_samples)


@pytest.mark.parametrize("k", [10**9, 2**62, 10**30])
def test_there_are_no_more_paths_than_labellings(k):
    crf = fitted(1.0)
    assert [len(paths) for paths in crf.predict_k_best([np.eye(2), np.eye(2)[:1], []], k)] == [
        4,
        2,
        1,
    ]


@pytest.mark.parametrize("k", [10**9, 2**62, 10**30])
def test_more_paths_than_can_be_numbered_are_refused(k):
    """Before memory is taken for them."""
    crf = fitted(1.0)
    with pytest.raises(OverflowError, match=f"steps of the {k} best paths of 150 tokens"):
        crf.predict_k_best([np.eye(2), np.ones((150, 2))], k)


def test_many_paths_are_found_in_order():
    (paths,) = fitted(1.0).predict_k_best([np.ones((18, 2))], 10**5)
    probability = np.array([probability for _, probability in paths])
    assert len({tuple(labels) for labels, _ in paths}) == 10**5
    assert (np.diff(probability) <= 0).all()
