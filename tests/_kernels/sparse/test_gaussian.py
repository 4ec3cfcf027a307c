import numpy as np
from cases import for_each
from numpy.testing import assert_allclose
from sklearn_crcrf._kernels.sparse.weights import gaussian_penalty


@for_each("dtype", [np.float32, np.float64])
@for_each("n", [0, 1, 7, 8, 1023, 1024, 1025, 3079])
def test_penalty_and_its_derivatives(dtype, n):
    w = np.random.default_rng(n).normal(size=n).astype(dtype)
    w.flags.writeable = False
    derivatives = np.full(n, np.nan, dtype=dtype)
    penalty = gaussian_penalty(w, 0.25, derivatives)
    assert_allclose(penalty, 0.125 * np.sum(w.astype(float) ** 2), rtol=1e-12)
    assert_allclose(derivatives, 0.25 * w, rtol=1e-6)


def test_no_penalty():
    derivatives = np.ones(20)
    assert gaussian_penalty(np.arange(20.0), 0.0, derivatives) == 0
    assert not derivatives.any()
