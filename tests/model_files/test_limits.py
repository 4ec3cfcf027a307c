"""What is unpacked is bounded and whole."""

import gzip
import json
import time
import tracemalloc

import numpy as np
import pytest
from written_models import read, write

from sklearn_crcrf import CRF, HMM
from sklearn_crcrf.model_files import load_model, save_model
from sklearn_crcrf.serving.content import Content
from sklearn_crcrf.serving.files import MODEL, write_content
from sklearn_crcrf.utils.unpacking import TooLargeError

MB = 2**20


@pytest.fixture
def path(tmp_path):
    return tmp_path / "m"


def most_memory(function) -> int:
    tracemalloc.start()
    try:
        with pytest.raises(ValueError):
            function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("limit", [1, 2**20, 2**24])
def test_bombs_are_not_unpacked(limit, path):
    write(path, np.zeros(160 * MB, dtype=np.int8))
    assert path.stat().st_size < MB
    assert most_memory(lambda: load_model(path, limit)) < 4 * MB + 3 * limit
    with pytest.raises(ValueError, match=f"is too large: .*max_bytes={limit}"):
        load_model(path, limit)


@pytest.mark.parametrize("size", [0, 2**31, 2**62, -1, 1.5, "x"])
def test_a_file_that_says_it_is_larger_or_smaller(size, path):
    write(path, HMM().fit([["the", "dog"]], [["D", "N"]]))
    data = gzip.decompress(path.read_bytes())
    head, tail = data.split(b'"size": ')
    rest = tail.partition(b",")[2]
    changed(path, head + b'"size": ' + json.dumps(size).encode() + b"," + rest)
    assert most_memory(lambda: load_model(path)) < 2 * MB


def changed(path, data: bytes) -> None:
    """Write a file whose header has the right length and checksum."""
    import struct
    import zlib

    start = struct.Struct("<24sIII")
    magic, version, length, _ = start.unpack_from(data)
    end = data.index(b"}", data.rindex(b'"written"')) + 1
    header = data[start.size : end]
    arrays = data[-(-(start.size + length) // 64) * 64 :]
    content = start.pack(magic, version, len(header), zlib.crc32(header)) + header
    path.write_bytes(content + bytes(-len(content) % 64) + arrays)


@pytest.mark.parametrize("value", [["list"], ["dict", 1, ["list"]], "a"])
def test_very_many_values(value, path):
    write(path, None, lambda _: ["list", *[value] * 10**6])
    assert most_memory(lambda: load_model(path, 8 * MB)) < 32 * MB


def test_very_many_short_strings():
    strings = np.full(MB, "a")
    assert read(strings, max_bytes=80 * MB).size == MB
    with pytest.raises(TooLargeError):
        read(strings, max_bytes=60 * MB)


def test_one_array_that_is_named_very_often():
    array = np.zeros(MB, dtype=np.int8)
    first, *_, last = read([array] * 1000, max_bytes=MB)
    assert first is last


def test_a_few_parts_that_stand_for_very_many():
    tree = ["list"]
    for number in range(60):
        tree = ["list", tree, ["ref", number]]
    with pytest.raises(TooLargeError):
        read(None, lambda _: tree, max_bytes=2**32)


@pytest.mark.parametrize(
    ("dtype", "shape", "place"),
    [
        ("<f8", [2], 1),
        ("<f8", [4], 0),
        ("<f8", [-3], 0),
        ("<f8", [2**62], 0),
        ("<f8", [2**32, 2**32], 0),
        ("<f8", 3, 0),
        ("|O8", [3], 0),
        ("|V8", [3], 0),
        ("|V0", [3], 0),
        ("<U0", [10**12], 0),
        ("<U1000000000", [0], 0),
        ("<f8,<f8", [1], 0),
        (["<f8"], [3], 0),
        (None, [3], 0),
    ],
)
def test_headers_of_arrays(dtype, shape, place, path):
    content = Content({"estimator": ["array", "0", False]}, {"0": np.arange(3.0)})
    write_content(path, content, MODEL, 1)
    data = gzip.decompress(path.read_bytes())
    described = json.dumps([dtype, shape, place]).encode()
    assert b'["<f8", [3], 0]' in data
    changed(path, data.replace(b'["<f8", [3], 0]', described))
    start = time.perf_counter()
    assert most_memory(lambda: load_model(path)) < MB
    assert time.perf_counter() - start < 5


def test_deep_nesting(path):
    tree: list = ["list"]
    for _ in range(900):
        tree = ["list", tree]
    write(path, None, lambda _: tree)
    with pytest.raises(ValueError):
        load_model(path)
    write(path, None)
    data = gzip.decompress(path.read_bytes())
    for text in (b"[" * 10**5 + b"]" * 10**5, b'{"a":' * 10**4 + b"1" + b"}" * 10**4):
        changed(path, data.replace(b'"estimator": null', b'"estimator": ' + text))
        with pytest.raises(ValueError, match="is damaged"):
            load_model(path)


def test_devices_are_not_read_for_ever():
    with pytest.raises(ValueError, match="is not a model file"):
        load_model("/dev/zero")


@pytest.mark.parametrize("model", [HMM(), CRF(max_iter=2)], ids=["HMM", "CRF"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_models_need_no_large_limit(model, path):
    save_model(model.fit([["the", "dog"]], [["D", "N"]]), path)
    assert load_model(path, 100_000).columns is None
