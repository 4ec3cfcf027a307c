"""Linear-chain CRFs trained by minimum classification error."""

import warnings

import numpy as np
import pytest
from cases import for_each
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from sklearn_crcrf import CRF
from sklearn_crcrf.criteria import MCE, MCEF1
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.metrics import get_sequence_scorer

WORDS, y = make_addresses(30, random_state=0)
# A few of the letters leave the labels ambiguous.
X = [[{"shape": w[-1], "next": v[:1]} for w, v in zip(s, [*s[1:], ""], strict=True)] for s in WORDS]
CRITERIA = for_each("criterion", [MCE(), MCE("logistic", psi=2.0), MCEF1()])


def fit(*args, **options):
    """A CRF, whether its training comes to an end or not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return CRF(*args, **{"sigma": 5.0, "tol": 1e-3, **options}).fit(X, y)


@CRITERIA
@for_each("solver", ["lbfgs", "rprop", "quickprop"])
def test_solvers_go_down_from_where_they_start(criterion, solver):
    start = fit(criterion, max_iter=1, solver=solver)
    crf = fit(criterion, solver=solver)
    assert (np.diff(crf.loss_curve_) <= 0).all()
    assert crf.loss_curve_[-1] < 0.9 * start.loss_curve_[0]


def test_with_all_others_it_is_maximum_likelihood():
    likelihood, mce = CRF(tol=1e-9).fit(X, y), CRF(MCE("logistic", psi=1.0), tol=1e-9).fit(X, y)
    assert_allclose(mce.loss_curve_[-1], likelihood.loss_curve_[-1], rtol=1e-8)
    assert_allclose(mce.coef_, likelihood.coef_, atol=1e-3)


@CRITERIA
@for_each(
    "options",
    [
        {"constraints": "IOB2"},
        {"edge_columns": ["shape"]},
        {"boundaries": True, "dtype": "float32"},
    ],
)
def test_other_parameters_of_crfs(criterion, options):
    one, two = (fit(criterion, max_iter=5, n_jobs=n_jobs, **options) for n_jobs in (1, 2))
    assert one.loss_curve_[-1] < one.loss_curve_[0]
    assert_allclose(one.loss_curve_, two.loss_curve_, rtol=1e-5)


def test_labels_that_do_not_fit_the_scheme():
    with pytest.raises(
        ValueError, match=r"label 'noun' does not fit the scheme IOB2; .* scheme 'IO'"
    ):
        CRF("mce_f1").fit([["a"]], [["noun"]])


def test_parameters_in_a_search():
    parameters = [
        {"criterion": [MCE()], "criterion__slope": [0.5, 2.0]},
        {"criterion": [MCEF1()], "criterion__gamma": [1.0, 2.0]},
    ]
    search = GridSearchCV(
        CRF(sigma=5.0, tol=1e-2),
        parameters,
        cv=2,
        scoring=get_sequence_scorer("segment_f1"),
        error_score="raise",
    )
    assert search.fit(X, y).best_score_ > 0.3
