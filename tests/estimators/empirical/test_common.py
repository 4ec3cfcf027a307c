"""What scikit-learn expects of every classifier."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_crcrf import EmpiricalCRF


@parametrize_with_checks([EmpiricalCRF(), EmpiricalCRF(sample_unit="token")])
def test_estimator_checks(estimator, check):
    check(estimator)
