"""Sums of rows of slices, whether rows without entries are kept or not."""

import numpy as np
import scipy.sparse as sp
from cases import for_each
from numpy.testing import assert_allclose

from sklearn_crcrf.data.sums import RowSums

SLICES = [(0, 30), (0, 0), (30, 30), (4, 9), (10, 20), (11, 12), (17, 30)]
slices = for_each("start, stop", SLICES)
matrices = for_each("skip_empty", [False, True])


def matrix():
    """The rows from 10 to 20 are empty, and some others."""
    dense = sp.random_array((30, 7), density=0.15, rng=0).toarray()
    dense[10:20] = 0
    return sp.csr_array(dense)


@matrices
@slices
def test_products(skip_empty, start, stop):
    dense, left = np.random.default_rng(1).normal(size=(7, 3)), matrix()
    product = RowSums(left, skip_empty).product(dense, start, stop)
    assert_allclose(product, left.toarray()[start:stop] @ dense, atol=1e-12)
    out = np.ones((stop - start, 3))
    RowSums(left, skip_empty).add_slice(dense, out, start, stop)
    assert_allclose(out, 1 + product)


@matrices
@slices
def test_products_with_the_transpose(skip_empty, start, stop):
    left, out = matrix(), np.ones((7, 3))
    dense = np.random.default_rng(2).normal(size=(stop - start, 3))
    RowSums(left, skip_empty).add_transposed(dense, out, start, stop)
    assert_allclose(out, 1 + left.toarray()[start:stop].T @ dense)


@for_each("n_shares", [1, 2, 5])
@matrices
def test_shares_are_all_rows(skip_empty, n_shares):
    left, dense, out = matrix(), np.ones((7, 3)), np.zeros((30, 3))
    sums = RowSums(left, skip_empty)
    for share in range(n_shares):
        sums.add(dense, out, *sums.cut(share, n_shares))
    assert_allclose(out, left.toarray() @ dense)
