"""Labels that are known only in part are summed over."""

import numpy as np
import pytest
from cases import for_each
from log_linear import all_weights
from numpy.testing import assert_allclose
from toy import make_corpus

from sklearn_crcrf import CRF, MEMM, SequenceArray
from sklearn_crcrf.criteria import CRITERIA, SoftmaxMargin

X, y = make_corpus(n_sequences=30)
EXACT = {"tol": 1e-13, "max_iter": 5000}
UNKNOWN = [[None] * len(s) for s in y]


@pytest.fixture(scope="module")
def complete():
    return CRF(**EXACT).fit(X, y)


def test_labels_that_are_sets_of_one_are_known(complete):
    crf = CRF(**EXACT).fit(X, [[{label} for label in s] for s in y])
    assert_allclose(all_weights(crf), all_weights(complete), atol=1e-5)


@pytest.mark.parametrize("unknown", [UNKNOWN[:5], [[{*"ABCD"}] * len(s) for s in y[:5]]])
def test_a_sequence_of_which_nothing_is_known_changes_nothing(complete, unknown):
    crf = CRF(**EXACT).fit([*X, *X[:5]], [*y, *unknown])
    assert_allclose(all_weights(crf), all_weights(complete), atol=1e-5)
    assert_allclose(crf.loss_curve_[-1], complete.loss_curve_[-1], rtol=1e-9)


@pytest.mark.parametrize("features", ["all", "observed"])
@pytest.mark.parametrize("solver", ["lbfgs", "newton-cg", "sgd"])
def test_solvers(features, solver):
    some = [[label if label in "AB" else {"C", "D"} for label in s] for s in y]
    expected = CRF(features=features, **EXACT).fit(X, some)
    options = EXACT if solver != "sgd" else {"tol": 1e-4, "random_state": 0}
    crf = CRF(features=features, solver=solver, **options).fit(X, some)
    rtol = 1e-2 if solver == "sgd" else 1e-6
    assert_allclose(crf.loss_curve_[-1], expected.loss_curve_[-1], rtol=rtol)


def test_what_is_not_known_is_not_observed():
    some = [["A", None, "B"], [{"C", "D"}, "A"], ["C", "A", "D"]]
    words = [["a", "b", "c"], ["d", "a"], ["a", "b", "c"]]
    crf = CRF(features="observed").fit(words, some)
    assert set(crf.state_features_) == {
        *(("a", label) for label in "AC"),
        *(("c", label) for label in "BD"),
        ("b", "A"),
    }
    assert set(crf.transition_features_) == {("C", "A"), ("A", "D")}


def test_containers(complete):
    some = [*y[:10], *UNKNOWN[10:12], *[[{"A", label} for label in s] for s in y[12:]]]
    crf = CRF().fit(X, some)
    flat = CRF().fit(SequenceArray.from_sequences(X), SequenceArray.from_sequences(some))
    assert np.array_equal(all_weights(flat), all_weights(crf))


def test_errors_say_where():
    for bad in (set(), {"A", float("nan")}, ["A"]):
        labels = [list(s) for s in y]
        labels[7][0] = bad
        labels[6][0] = None
        with pytest.raises(ValueError, match="y, sequence 7, position 0"):
            CRF().fit(X, labels)
    with pytest.raises(ValueError, match="all labels are None"):
        CRF().fit(X, UNKNOWN)


@for_each(
    "crf",
    [
        *(CRF(name) for name in CRITERIA if not CRITERIA[name].takes_partial_labels),
        CRF(SoftmaxMargin(segment_cost=1.0)),
        CRF(solver="gis"),
        MEMM(),
    ],
)
def test_criteria_that_need_all_labels_say_which_is_missing(crf):
    labels = [[*y[0]], [None, *y[1][1:]], *y[2:]]
    with pytest.raises(ValueError, match=r"y, sequence 1, position 0: .* needs the label of every"):
        crf.fit(X, labels)
