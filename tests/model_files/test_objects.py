"""The objects that are read are those that skops reads."""

import collections
import io
import json
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from sklearn_crcrf.linear import Weights
from sklearn_crcrf.model_files.archive import checked_archive
from sklearn_crcrf.model_files.objects import objects_of

skops = pytest.importorskip("skops.io")

SHARED = np.arange(6).reshape(2, 3)
VALUES = {
    "arrays": [np.zeros((0, 2)), np.asfortranarray(SHARED), np.array("é"), np.array([True])],
    "types": [np.array([b"a", b"bc"]), np.array(["x", "yz"]), np.zeros(2, dtype="i4,f8")],
    "scalars": [np.float32(1.5), np.int64(-1), np.str_("w"), np.bool_(True)],
    "objects": [np.array([None, [1], "x"], dtype=object), np.array([[1, "a"]], dtype=object)],
    "dicts": [{1: "a", 2.5: "b", "c": None}, {"__id__": 1}, collections.OrderedDict(b=1, a=2)],
    "containers": [(), (1, [2, {"x"}]), {1, 2}, frozenset({"a"}), slice(1, None, 2), b"\x00"],
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


def read(data):
    return objects_of(checked_archive(data, None))


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
def test_values_are_read_as_skops_reads_them(name):
    data = skops.dumps(VALUES[name])
    trusted = skops.get_untrusted_types(data=data)
    assert described(read(data)) == described(skops.loads(data, trusted=trusted))


def test_one_object_stays_one_and_can_be_written_to():
    first, (second,), third = read(skops.dumps([SHARED, [SHARED], SHARED.copy()]))
    first[0, 0] = 9
    assert second is first and third[0, 0] == 0


def changed(value, change):
    old = zipfile.ZipFile(io.BytesIO(skops.dumps(value)))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "schema.json":
                schema = json.loads(content)
                change(schema)
                content = json.dumps(schema)
            new.writestr(name, content)
    return file.getvalue()


def test_types_of_keys_are_types():
    data = changed({"a": 1}, lambda schema: schema["key_types"]["content"][0].update(LOG))
    with pytest.raises(ValueError, match="keys of a dict"):
        read(data)


LOG = {"__loader__": "FunctionNode", "__module__": "numpy", "__class__": "log"}


def test_forms_of_sparse_arrays_are_what_the_schema_says():
    csc = {"__module__": "scipy.sparse._csc", "__class__": "csc_array"}
    with pytest.raises(ValueError, match="a csc_array is in the format"):
        read(changed(sp.csr_array(np.eye(2)), lambda schema: schema.update(csc)))


def test_arrays_lie_as_the_processor_wants_them():
    members = zipfile.ZipFile(io.BytesIO(skops.dumps(np.arange(3.0))))
    file = io.BytesIO()
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (3,)}"
    content = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    with zipfile.ZipFile(file, "w") as archive:
        for name in members.namelist():
            new = name == "schema.json"
            archive.writestr(
                name, members.read(name) if new else content + np.arange(3.0).tobytes()
            )
    array = read(file.getvalue())
    assert array.flags.aligned and array.tolist() == [0.0, 1.0, 2.0]
