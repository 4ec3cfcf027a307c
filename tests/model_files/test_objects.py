"""The objects that are read are those that were written."""

import collections
import math

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeRegressor
from written_models import read

from sklearn_crcrf.linear import Weights

SHARED = np.arange(6).reshape(2, 3)
VALUES = {
    "arrays": [np.zeros((0, 2)), np.asfortranarray(SHARED), np.array("é"), np.array([True])],
    "types": [np.array([b"a", b"bc"]), np.array(["x", "yz"]), np.zeros(2, dtype=">f4")],
    "scalars": [np.float32(1.5), np.int64(-1), np.str_("w"), np.bool_(True)],
    "objects": [np.array([None, [1], "x"], dtype=object), np.array([[1, "a"]], dtype=object)],
    "dicts": [{1: "a", 2.5: "b", "c": None}, {(1, "x"): [2]}, collections.OrderedDict(b=1, a=2)],
    "containers": [(), (1, [2, {"x"}]), {1, 2}, frozenset({"a"}), slice(1, None, 2), b"\x00"],
    "plain": [None, True, -(2**70), "\ud800", 0.1, math.inf, -math.inf, ["object", "os.system"]],
    "named tuple": Weights(SHARED, None, None, None, None),
    "types of values": [int, np.float32, np.dtype("f4")],
    "sparse": [
        form(np.eye(3)[:2])
        for form in (sp.csr_array, sp.csr_matrix, sp.csc_array, sp.coo_array, sp.coo_matrix)
    ],
    "random": np.random.RandomState(3),
    "scaler": StandardScaler().fit(SHARED),
    "function": FunctionTransformer(np.log1p),
    "tree": DecisionTreeRegressor().fit(SHARED, [0.0, 1.0]),
}


def described(value):
    """A text that tells values apart, by type and content."""
    if isinstance(value, dict):
        return type(value), [(key, type(key), described(item)) for key, item in value.items()]
    if isinstance(value, list | tuple):
        return type(value), [*map(described, value)]
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, value.flags.f_contiguous, value.tolist()
    if sp.issparse(value):
        return type(value), value.dtype, value.toarray().tolist()
    if isinstance(value, np.random.RandomState):
        return value.randint(100, size=5).tolist()
    if hasattr(value, "get_params"):
        return described(vars(value))
    if type(value).__name__ == "Tree":
        return described(value.__getstate__())
    return type(value), value


@pytest.mark.parametrize("name", VALUES)
def test_values_are_read_as_they_were_written(name):
    assert described(read(VALUES[name])) == described(VALUES[name])


def test_what_is_no_number_stays_none():
    (value,) = read([math.nan])
    assert math.isnan(value)


def test_one_object_stays_one_and_can_be_written_to():
    first, (second,), third = read([SHARED, [SHARED], SHARED.copy()])
    first[0, 0] = 9
    assert second is first and third[0, 0] == 0 and SHARED[0, 0] == 0


def test_arrays_of_other_types_are_not_written():
    for array in (np.zeros(2, dtype="i4,f8"), np.zeros(2, dtype=complex), np.zeros(1, "M8[s]")):
        with pytest.raises(ValueError, match="cannot hold an array of type"):
            read(array)


def test_forms_of_sparse_arrays_are_what_their_class_says():
    def as_csc(tree):
        return [tree[0], "scipy.sparse._csc.csc_array", ["tuple", 9, 1], *tree[3:]]

    with pytest.raises(ValueError):
        read(sp.csr_array(np.eye(2)), as_csc)
    with pytest.raises(ValueError, match="a csr_array holds object"):
        read(sp.csr_array(np.eye(2)), lambda tree: [*tree[:3], ["objects", ["tuple", 1], "a"]])


@pytest.mark.parametrize(
    "tree",
    [
        {},
        [],
        ["ref", 0],
        ["list", ["ref", 5]],
        ["list", ["ref", "x"]],
        ["list", {}],
        ["nothing", 1],
        [["list"], 1],
        ["dict", 1],
        ["dict", ["list"], 1],
        ["array", "9", False],
        ["objects", ["tuple", 3], 1],
        ["dtype", "|V9"],
        ["dtype", "f8,f8"],
        ["float", "x"],
        ["scalar", "numpy.str_", ["list"]],
        ["scalar", "numpy.float64", None],
        ["Tree", ["tuple"], 1],
        ["RandomState", 1],
    ],
)
def test_trees_that_describe_nothing(tree):
    with pytest.raises((ValueError, TypeError, KeyError, IndexError, AttributeError)):
        read(None, lambda _: tree)
