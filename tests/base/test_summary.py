"""What estimators say of themselves."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from sklearn_crcrf import CRF, HMM, MEMM, CRFsuiteCRF, EmpiricalCRF, TokenFeatures

X = [["the", "dog", "walks"], ["a", "cat", "sleeps"], ["dogs", "sleep"]]
Y = [["D", "N", "V"], ["D", "N", "V"], ["N", "V"]]


def test_a_fitted_estimator_tells_its_size():
    crf = CRF(sigma=2.0, features="observed")
    assert str(crf) == repr(crf)
    crf.fit(X, Y)
    assert repr(crf) == "CRF(features='observed', sigma=2.0)"
    n_weights = crf.coef_.nnz + np.count_nonzero(crf.transitions_)
    assert str(crf).splitlines() == [
        "CRF(features='observed', sigma=2.0)",
        "  labels      3: D, N, V",
        "  attributes  8",
        f"  weights     {n_weights} not zero",
        f"  iterations  {crf.n_iter_}",
    ]
    assert str(clone(crf)) == repr(crf)


@pytest.mark.parametrize("model", [EmpiricalCRF(), EmpiricalCRF.ecrn(), HMM(), MEMM(), CRF(c1=0.1)])
def test_all_estimators_tell_their_weights(model):
    lines = str(model.fit(X, Y)).splitlines()
    assert lines[1].split() == ["labels", "3:", "D,", "N,", "V"]
    assert int(lines[2].split()[1].replace(",", "")) == model.coef_.shape[0]
    assert lines[3].endswith(" not zero")


def test_only_some_of_many_labels_are_named():
    labels = [f"L{i:02}" for i in range(20)]
    model = HMM().fit([["w"] * 20], [labels])
    assert "  labels      20: L00, L01, L02, L03, L04, L05, L06, L07, ..." in str(model)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_training_that_did_not_converge_says_so():
    assert str(CRF(max_iter=1).fit(X, Y)).endswith("  iterations  1, not converged")


def test_the_estimator_inside_is_told_of():
    model = CRFsuiteCRF()
    assert str(model) == "CRFsuiteCRF()"
    model.fit([[{"w": w} for w in x] for x in X], Y)
    assert str(model).splitlines()[1:] == str(model.crf_).splitlines()[-4:]


def test_notebooks_show_it():
    model = CRF().fit(X, Y)
    bundle = model._repr_mimebundle_()
    assert bundle["text/plain"] == str(model)
    assert "3: D, N, V" in bundle["text/html"]
    assert "3: D, N, V" in model._repr_html_()
    assert "CRF" in make_pipeline(TokenFeatures(["shape"]), CRF()).fit(X, Y)._repr_html_()
    with sklearn.config_context(display="text"):
        assert "text/html" not in model._repr_mimebundle_()


def test_labels_are_no_markup():
    evil = "<script>alert(1)</script>"
    for model in (CRF(), EmpiricalCRF()):
        html = model.fit([[evil, "b"]], [[evil, "O"]])._repr_html_()
        assert evil not in html
        assert "&lt;script&gt;alert" in html


def test_what_takes_long_is_not_computed_to_be_shown():
    class Dear(CRF):
        @property
        def state_features_(self):
            raise AssertionError("computed")

    model = Dear().fit(X, Y)
    html = model._repr_html_()
    if hasattr(sklearn.base.BaseEstimator, "_get_fitted_attr_html"):
        assert "coef_" in html and "loss_curve_" in html
