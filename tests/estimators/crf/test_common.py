"""What scikit-learn expects of every classifier."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_crcrf import CRF, CRFsuiteCRF


@parametrize_with_checks(
    [
        CRF(),
        CRF(sample_unit="token", features="observed", boundaries=True),
        CRFsuiteCRF(),
    ]
)
def test_estimator_checks(estimator, check):
    check(estimator)
