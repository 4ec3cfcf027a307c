"""Sparse matrices as kernels take them."""

import numpy as np
import scipy.sparse as sp


def csr_arrays(matrix: sp.csr_array | sp.csc_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The indptr, indices and values of a matrix by rows, or of one by columns."""
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32, copy=False), matrix.data
