import pytest
from sklearn.pipeline import make_pipeline

from sklearn_crcrf import CRF, HMM, Window
from sklearn_crcrf.estimators.crf.estimator import ROUGH
from sklearn_crcrf.estimators.opinion_pool.expert import rough_expert


@pytest.mark.parametrize(
    ("crf", "tol"),
    [
        (CRF(), ROUGH),
        (CRF(tol=0.5), 0.5),
        (CRF(solver="sgd"), 1e-5),
        (CRF(c1=0.1), 1e-5),
        (CRF(validation_fraction=0.1), 1e-5),
    ],
)
def test_training_that_goes_steadily_down_may_end_early(crf, tol):
    pipeline = make_pipeline(Window(), crf)
    assert rough_expert(crf).tol == rough_expert(pipeline)[-1].tol == tol
    assert crf.tol == pipeline[-1].tol != ROUGH


def test_other_experts_are_clones():
    hmm = HMM()
    assert rough_expert(hmm) is not hmm
    assert repr(rough_expert(hmm)) == repr(hmm)
