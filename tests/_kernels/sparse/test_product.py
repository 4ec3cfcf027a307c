import numpy as np
import scipy.sparse as sp
from cases import for_each
from numpy.testing import assert_allclose, assert_array_equal
from sklearn_crcrf._kernels.sparse.weights import add_product

both_types = for_each("dtype", [np.float64, np.float32])


def arrays(matrix):
    taken = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data.copy()
    for array in taken:
        array.flags.writeable = False
    return taken


@both_types
@for_each("n", [1, 2, 22, 130])
@for_each("start, stop", [(0, 30), (7, 19), (30, 30)])
def test_product_of_sparse_matrices(dtype, n, start, stop):
    left = sp.random_array((30, 20), density=0.2, format="csr", dtype=dtype, rng=0)
    right = sp.random_array((20, n), density=0.3, format="csr", dtype=dtype, rng=1)
    out = np.ones((stop - start, n), dtype=dtype)
    add_product(*arrays(left), *arrays(right), start, out)
    assert_allclose(out, 1 + (left @ right).toarray()[start:stop], rtol=1e-5)


@both_types
def test_nothing_to_multiply(dtype):
    left, right = sp.csr_array((3, 0), dtype=dtype), sp.csr_array((0, 2), dtype=dtype)
    out = np.ones((3, 2), dtype=dtype)
    add_product(*arrays(left), *arrays(right), 0, out)
    assert_array_equal(out, 1)
