"""Who is told of the iterations of a fit."""

import gc

import pytest
from sklearn.pipeline import make_pipeline

from sklearn_crcrf import (
    CRF,
    MEMM,
    BoostedCRF,
    CRFsuiteCRF,
    MaxMarginCRF,
    OpinionPoolCRF,
    SequenceVectorizer,
    StructuredPerceptron,
)
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.training.monitor import Iteration, Training, listening

X, y = make_addresses(30, random_state=0)
ROWS = [[{"word": word} for word in line] for line in X]
FEW = {"max_iter": 3}
ESTIMATORS = [
    CRF(**FEW),
    CRF(**FEW, validation_fraction=0.3, n_iter_no_change=5),
    MEMM(**FEW),
    CRFsuiteCRF(max_iterations=3),
    MaxMarginCRF(**FEW),
    StructuredPerceptron(**FEW),
    make_pipeline(SequenceVectorizer(), BoostedCRF(**FEW)),
]


def told(estimator):
    """All iterations of a fit."""
    iterations = []
    with listening(iterations.append):
        rows = ROWS if isinstance(estimator, CRFsuiteCRF) else X
        estimator.fit([*rows], y)
    return iterations


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda it: type(it).__name__)
def test_every_iteration_is_told_and_nothing_is_printed(estimator, capsys):
    iterations = told(estimator)
    assert [iteration.number for iteration in iterations] == [1, 2, 3]
    assert capsys.readouterr().out == ""
    if type(estimator) is CRF:
        assert [iteration.loss for iteration in iterations] == estimator.loss_curve_


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_what_is_printed_is_what_is_told(capsys):
    iterations = told(CRF(verbose=2, max_iter=5, tol=0.0))
    assert capsys.readouterr().out.splitlines() == [str(iterations[1]), str(iterations[3])]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_fits_inside_of_another_are_not_told():
    pool = OpinionPoolCRF([("crf", CRF(max_iter=2, tol=1.0))], weights=[1.0])
    assert told(pool) == []


def test_nobody_is_told_afterwards():
    iterations = told(CRF(tol=1.0))
    n_told = len(iterations)
    CRF(tol=1.0).fit(X, y)
    assert len(iterations) == n_told > 0


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda it: type(it).__name__)
def test_what_training_used_does_not_wait_for_the_garbage_collector(estimator):
    gc.collect()
    gc.disable()
    try:
        told(estimator)
        assert not any(isinstance(it, Training) for it in gc.get_objects())
    finally:
        gc.enable()


def test_lines():
    assert str(Iteration(3, 0.5, 12.0)) == "iteration 3: 0.50 s, loss 12"
    assert str(Iteration(3, 0.5, 12.0, 0.25, 7.5)) == (
        "iteration 3: 0.50 s, loss 12, gradient norm 0.25, validation loss 7.5"
    )
