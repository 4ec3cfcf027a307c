"""What is unpacked is bounded and whole."""

import io
import json
import time
import tracemalloc
import zipfile
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp

from sklearn_crcrf import CRF, HMM
from sklearn_crcrf.model_files import load_model
from sklearn_crcrf.model_files.archive import checked_archive
from sklearn_crcrf.model_files.objects import objects_of
from sklearn_crcrf.utils.unpacking import TooLargeError

skops = pytest.importorskip("skops.io")

MB = 2**20


def members_of(value) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(skops.dumps(value))) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def declared_as(data: bytes, size: int, true_size: int) -> bytes:
    """The same archive, which says that what is true_size long is shorter."""
    old, new = (n.to_bytes(4, "little") for n in (true_size, size))
    assert old in data
    return data.replace(old, new)


def npy(array) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def most_memory(function) -> int:
    tracemalloc.start()
    try:
        with pytest.raises((ValueError, zipfile.BadZipFile)):
            function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@cache
def bomb() -> bytes:
    members = members_of(np.zeros(8 * MB, dtype=np.int8))
    return packed({**members, **dict.fromkeys(map(str, range(20)), bytes(8 * MB))})


def test_what_passes_is_the_same():
    value = {"a": np.arange(3.0), "b": sp.csr_matrix(np.eye(3)), "c": b"bytes", "d": ["x", None]}
    loaded = objects_of(checked_archive(packed(members_of(value)), MB))
    assert loaded["a"].tolist() == [0.0, 1.0, 2.0]
    assert (loaded["b"] != value["b"]).nnz == 0
    assert loaded["c"] == b"bytes" and loaded["d"] == ["x", None]


@pytest.mark.parametrize("limit", [1, 2**20, 2**24])
def test_bombs_are_not_unpacked(limit):
    data = bomb()
    assert len(data) < MB
    assert most_memory(lambda: checked_archive(data, limit)) < 2 * MB
    with pytest.raises(TooLargeError, match=f"more than max_bytes={limit} bytes;"):
        checked_archive(data, limit)


def test_a_bomb_that_says_it_is_none():
    members = members_of(np.zeros(64 * MB, dtype=np.int8))
    (name,) = set(members) - {"schema.json"}
    data = declared_as(packed(members), 1000, len(members[name]))
    assert most_memory(lambda: checked_archive(data, MB)) < 4 * MB


def test_a_bomb_inside_of_a_sparse_matrix():
    members = members_of(sp.csr_matrix(np.eye(2)))
    (name,) = set(members) - {"schema.json"}
    with zipfile.ZipFile(io.BytesIO(members[name])) as archive:
        inner = {n: archive.read(n) for n in archive.namelist()}
    members[name] = packed({**inner, "data.npy": npy(np.zeros(8 * MB))})
    data = packed(members)
    with pytest.raises(TooLargeError):
        checked_archive(data, MB)
    assert most_memory(lambda: checked_archive(data, MB)) < 2 * MB


def test_a_directory_of_very_many_members():
    data = packed(dict.fromkeys(map(str, range(20000)), b""))
    with pytest.raises(TooLargeError):
        checked_archive(data, 4 * MB)
    assert most_memory(lambda: checked_archive(data, 4 * MB)) < MB


@pytest.mark.parametrize("values", ["[[]],", '{"a":1},', '{"k1":{}},'])
def test_very_many_values(values):
    data = packed({"schema.json": f"[{values * 10**5}0]".encode()})
    assert most_memory(lambda: checked_archive(data, 8 * MB)) < 8 * MB


def test_very_many_short_strings():
    data = packed(members_of(np.full(MB, "a")))
    assert len(checked_archive(data, 80 * MB).members) == 1
    with pytest.raises(TooLargeError):
        checked_archive(data, 60 * MB)


def test_one_array_that_is_named_very_often():
    members = members_of([np.zeros(MB, dtype=np.int8)])
    schema = json.loads(members["schema.json"])
    (node,) = schema["content"]
    schema["content"] = [{**node, "__id__": number} for number in range(1, 1000)]
    data = packed({**members, "schema.json": json.dumps(schema).encode()})
    with pytest.raises(TooLargeError):
        checked_archive(data, 100 * MB)
    schema["content"] = [{**node, "__id__": 1} for _ in range(1000)]
    data = packed({**members, "schema.json": json.dumps(schema).encode()})
    first, *_, last = objects_of(checked_archive(data, 100 * MB))
    assert first is last


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"(3,)", b"(2,)"),
        (b"(3,)", b"(4,)"),
        (b"(3,)", b"(-3,)"),
        (b"(3,), ", b"(2**9,)"),
        (b"'<f8'", b"'|O8'"),
        (b"'<f8'", b"'|V0'"),
        (b"'<f8'", b"'<U0'"),
        (b"(3,), }           ", b"(2000000000000,), }"),
        (b"(3,), }              ", b"(4294967296,4294967296)}"),
    ],
)
def test_headers_of_arrays(old, new):
    members = members_of(np.arange(3.0))
    (name,) = set(members) - {"schema.json"}
    assert old in members[name]
    members[name] = members[name].replace(old, new)
    with pytest.raises((ValueError, SyntaxError)):
        checked_archive(packed(members), None)


def test_an_empty_string_that_is_there_a_trillion_times(tmp_path):
    start = time.perf_counter()
    members = members_of({"format": "sklearn-crcrf model", "x": np.zeros(1)})
    (name,) = set(members) - {"schema.json"}
    header = "{'descr': '<U0', 'fortran_order': False, 'shape': (1000000000000,), }"
    content = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()
    (tmp_path / "m").write_bytes(packed({**members, name: content}))
    with pytest.raises(ValueError, match="is damaged"):
        load_model(tmp_path / "m")
    assert time.perf_counter() - start < 5


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_unusual_ways_to_pack(method):
    with pytest.raises(ValueError, match="packed in an unusual way"):
        checked_archive(packed(members_of([1]), method), None)


def test_a_member_that_is_there_twice():
    file = io.BytesIO(packed(members_of([1])))
    with zipfile.ZipFile(file, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("schema.json", "{}")
    with pytest.raises(ValueError, match="is there twice"):
        checked_archive(file.getvalue(), None)


def test_deep_nesting(tmp_path):
    members = members_of([1])
    for text in ("[" * 10**5 + "]" * 10**5, '{"content":' * 10**4 + "1" + "}" * 10**4):
        (tmp_path / "m").write_bytes(packed({**members, "schema.json": text.encode()}))
        with pytest.raises(ValueError, match="is damaged"):
            load_model(tmp_path / "m")


def test_devices_are_not_read_for_ever():
    with pytest.raises(ValueError, match="is not a model file"):
        load_model("/dev/zero")


@pytest.mark.parametrize("model", [HMM(), CRF(max_iter=2)], ids=["HMM", "CRF"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_models_need_no_large_limit(model):
    data = skops.dumps(model.fit([["the", "dog"]], [["D", "N"]]))
    assert checked_archive(data, 10 * len(data)).members
