"""Sequence arrays over every kind of data."""

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

from sklearn_crcrf.data.symbols import SymbolTable

nested_lists = st.lists(st.lists(st.text("abc", max_size=2), max_size=4), max_size=6)
LISTS = [["a", "b"], [], ["c"], ["b", "c", "d"], []]
OFFSETS = [0, 2, 2, 3, 6, 6]


def labels():
    return np.array(["a", "b", "c", "b", "c", "d"], dtype=object)


def rows():
    return np.arange(12.0).reshape(6, 2)


def symbols():
    return SymbolTable([[0], [1], [2], [1], [2], [3]], [["a", "b", "c", "d"]], ["word"])


DATA = [labels, rows, lambda: sp.csr_array(rows()), lambda: sp.csr_matrix(rows()), symbols]


def plain(data):
    """Tokens as a list, whatever they are stored in."""
    if isinstance(data, SymbolTable):
        return data.column("word").tolist()
    return (data.toarray() if sp.issparse(data) else data).tolist()


def nested(array):
    return [plain(sequence) for sequence in array]
