"""Products of sparse matrices with dense ones, row by row."""

import numpy as np
import scipy.sparse as sp
from cases import for_each
from compiled import compiled
from numpy.testing import assert_allclose, assert_array_equal

kernels = for_each("kernel", compiled("sparse.row_sums"))
both_types = for_each("dtype", [np.float64, np.float32])
# Around all multiples of vectors and of tiles of them.
WIDTHS = [*range(1, 21), 22, 31, 64, 65, 66, 71, 72, 73, 128, 130, 145, 1000]


def sparse_matrix(n_rows, n_columns, dtype, density=0.1, seed=0):
    """Some rows are empty, among them the last."""
    matrix = sp.random_array((n_rows, n_columns), density=density, rng=seed, format="lil")
    matrix[[0, n_rows // 2, n_rows - 1]] = 0
    return matrix.tocsr().astype(dtype)


def arrays(matrix):
    """What the kernels take; nobody may write to it."""
    taken = [matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data]
    return [read_only(array) for array in taken]


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


def dense_matrix(n_rows, n_columns, dtype, seed=0):
    values = np.random.default_rng(seed).normal(size=(n_rows, n_columns))
    return read_only(values.astype(dtype))


def tolerance(dtype):
    return {"rtol": 1e-5, "atol": 1e-5} if dtype == np.float32 else {"rtol": 1e-12, "atol": 1e-12}


@kernels
@both_types
def test_sums_of_rows(kernel, dtype):
    left, rows = sparse_matrix(40, 100, dtype), read_only(np.arange(40, dtype=np.int32))
    for n in WIDTHS:
        right, out = dense_matrix(100, n, dtype), np.ones((40, n), dtype=dtype)
        kernel.add_row_sums(*arrays(left), rows, right, out, 0, 40, 0)
        expected = 1 + left.toarray() @ right
        assert_allclose(out, expected, **tolerance(dtype), err_msg=f"{n} columns")


@kernels
@both_types
def test_what_is_written_does_not_depend_on_what_was_there(kernel, dtype):
    left, rows = sparse_matrix(40, 100, dtype), np.arange(40, dtype=np.int32)
    for n in WIDTHS:
        right, out = dense_matrix(100, n, dtype), np.full((24, n), np.nan, dtype=dtype)
        kernel.write_row_sums(*arrays(left), right, out, 16, 40)
        expected = left[16:].toarray() @ right
        assert_allclose(out, expected, **tolerance(dtype), err_msg=f"{n} columns")
        added = np.zeros_like(out)
        kernel.add_row_sums(*arrays(left), rows, right, added, 16, 40, 16)
        assert_array_equal(out, added, err_msg=f"{n} columns")


@kernels
@both_types
@for_each("n", [3, 22, 130])
def test_only_the_rows_of_a_slice_change(kernel, dtype, n):
    left, right = sparse_matrix(40, 100, dtype), dense_matrix(100, n, dtype)
    # Rows may go anywhere, and what comes out may be but a part.
    target = read_only((10 + np.random.default_rng(1).permutation(40)).astype(np.int32))
    out = np.zeros((40, n), dtype=dtype)
    kernel.add_row_sums(*arrays(left), target, right, out, 7, 29, 10)
    expected = np.zeros((40, n))
    expected[target[7:29] - 10] = (left.toarray() @ right)[7:29]
    assert_allclose(out, expected, **tolerance(dtype))


@kernels
@both_types
@for_each("n", [1, 5, 22, 64, 130])
def test_slices_give_the_same_bits_as_all_at_once(kernel, dtype, n):
    left, right = sparse_matrix(60, 30, dtype, 0.5), dense_matrix(30, n, dtype)
    rows, (at_once, in_parts) = np.arange(60, dtype=np.int32), np.zeros((2, 60, n), dtype=dtype)
    kernel.add_row_sums(*arrays(left), rows, right, at_once, 0, 60, 0)
    for start, stop in [(40, 60), (0, 1), (1, 40), (40, 40)]:
        kernel.add_row_sums(*arrays(left), rows, right, in_parts, start, stop, 0)
    assert_array_equal(in_parts, at_once)


@kernels
@both_types
def test_nothing_to_sum(kernel, dtype):
    rows = np.arange(4, dtype=np.int32)
    for shape, n in [((4, 0), 3), ((4, 5), 0), ((4, 5), 3)]:
        left, right = sp.csr_array(shape, dtype=dtype), dense_matrix(shape[1], n, dtype)
        out = np.ones((4, n), dtype=dtype)
        kernel.add_row_sums(*arrays(left), rows, right, out, 0, 4, 0)
        kernel.add_row_sums(*arrays(left), rows, right, out, 2, 2, 0)
        assert_array_equal(out, 1)
        kernel.write_row_sums(*arrays(left), right, out[:0], 2, 2)
        kernel.write_row_sums(*arrays(left), right, out, 0, 4)
        assert_array_equal(out, 0)


@kernels
@both_types
def test_products_with_the_transpose(kernel, dtype):
    left, rows = sparse_matrix(40, 60, dtype), np.arange(40, dtype=np.int32)
    for n in WIDTHS:
        right, out = dense_matrix(22, n, dtype), np.ones((60, n), dtype=dtype)
        kernel.add_outer_products(*arrays(left), rows, right, out, 9, 31, 9)
        expected = 1 + left[9:31].toarray().T @ right
        assert_allclose(out, expected, **tolerance(dtype), err_msg=f"{n} columns")


@kernels
@both_types
def test_nothing_to_multiply(kernel, dtype):
    left, out = sparse_matrix(10, 6, dtype), np.ones((6, 3), dtype=dtype)
    right, rows = dense_matrix(0, 3, dtype), np.arange(10, dtype=np.int32)
    kernel.add_outer_products(*arrays(left), rows, right, out, 4, 4, 4)
    kernel.add_outer_products(*arrays(left[:0]), rows[:0], right, out, 0, 0, 0)
    assert_array_equal(out, 1)
