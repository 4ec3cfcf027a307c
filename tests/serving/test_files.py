"""Files of taggers: whole, damaged, and foreign."""

import json
import struct
import subprocess
import sys
import tracemalloc
import zlib

import numpy as np
import pytest
from cases import for_each

from sklearn_crcrf import CRF, EmpiricalCRF
from sklearn_crcrf.model_files import save_model
from sklearn_crcrf.serving import Tagger, load_tagger
from sklearn_crcrf.serving.content import Content
from sklearn_crcrf.serving.files import MAGIC, is_tagger_file, write_content

X = [["the", "dog", "walks"], ["a", "cat"]]
Y = [["D", "N", "V"], ["D", "N"]]


@pytest.fixture(scope="module", params=["all", "observed"])
def saved(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("taggers") / "file"
    CRF(features=request.param).fit(X, Y).tagger().save(path)
    return path


def test_a_file_is_loaded_without_other_packages(saved):
    program = f"""
import sys
from sklearn_crcrf.serving import load_tagger
tagger = load_tagger({str(saved)!r})
print(tagger(["the", "cat"]), tagger.probabilities(["a"]).shape, tagger.confidence(["a"]) < 1)
print({{"scipy", "sklearn", "joblib"}}.isdisjoint(sys.modules))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["['D', 'N'] (1, 3) True", "True"]


def test_all_kinds_of_labels(tmp_path):
    for labels in (["D", "é", "\ud800"], [1, 2, 3], [0.5, 1.5, 2.5], [True, False, True]):
        y = [labels, labels[:2]]
        tagger = CRF().fit(X, y).tagger()
        tagger.save(tmp_path / "file")
        assert load_tagger(tmp_path / "file").labels == tagger.labels
        assert load_tagger(tmp_path / "file")(X[0]) == tagger(X[0])
    with pytest.raises(TypeError, match="labels that are str, int, float, bool or None, but one"):
        CRF().fit([["a", "b"]], [[("a", 1), ("b", 2)]]).tagger().save(tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_a_file_in_use_is_replaced(saved, tmp_path):
    path = tmp_path / "file"
    CRF().fit(X, Y).tagger().save(path)
    before = load_tagger(path)
    CRF().fit([["the"]], [["other"]]).tagger().save(path)
    assert before(["the"]) == ["D"]
    assert load_tagger(path)(["the"]) == ["other"]


OVERWRITING = """
import os, sys
from sklearn_crcrf.serving import load_tagger
path, mapped = sys.argv[1], {"None": None, "False": False}[sys.argv[2]]
tagger = load_tagger(path, mapped=mapped)
before = tagger(["the", "cat"])
for change in (
    lambda file: file.truncate(10),
    lambda file: file.write(b"\\xff" * size),
    lambda file: file.truncate(0),
):
    size = os.path.getsize(path)
    with open(path, "r+b") as file:
        change(file)
    assert tagger(["the", "cat"]) == before
    assert tagger.confidence(["the"]) > 0
    try:
        load_tagger(path, mapped=mapped)
    except ValueError:
        continue
    raise AssertionError("a damaged file was loaded")
print("done")
"""


@for_each("mapped", [None, False])
def test_a_file_in_use_is_overwritten_in_place(tmp_path, mapped):
    # In a process of its own, which a signal would end.
    path = tmp_path / "file"
    CRF().fit(X, Y).tagger().save(path)
    program = [sys.executable, "-c", OVERWRITING, path, str(mapped)]
    done = subprocess.run(program, capture_output=True, text=True, check=True)
    assert done.stdout == "done\n"


def test_a_file_in_use_is_overwritten_while_others_read_it(tmp_path):
    """Whatever is read while a file is written, it is an error or a tagger."""
    path, other = tmp_path / "file", tmp_path / "other"
    CRF().fit(X, Y).tagger().save(path)
    CRF().fit([["the", "a"] * 400], [["other", "one"] * 400]).tagger().save(other)
    first, second = path.read_bytes(), other.read_bytes()
    for cut in range(0, len(first), 257):
        path.write_bytes(second[:cut] + first[cut:])
        try:
            tagger = load_tagger(path)
        except ValueError:
            continue
        assert len(tagger(["the", "cat"])) == 2


def test_mapped_files(saved, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(saved.read_bytes())
    mapped, read = (load_tagger(path, mapped=mapped) for mapped in (True, False))
    assert mapped(["the", "cat"]) == read(["the", "cat"])
    for name, array in read.content().arrays.items():
        np.testing.assert_array_equal(array, mapped.content().arrays[name])
        assert not array.flags.writeable
        assert array.ctypes.data % 64 == 0


def test_is_tagger_file(saved, tmp_path):
    (tmp_path / "empty").touch()
    assert is_tagger_file(saved)
    assert not is_tagger_file(tmp_path / "empty")
    assert not is_tagger_file(tmp_path / "missing")


def test_foreign_files(tmp_path):
    path = tmp_path / "file"
    for data in (b"", b"x", b"x" * 1000, MAGIC):
        path.write_bytes(data)
        with pytest.raises(ValueError, match="file: this is not a file of a tagger"):
            load_tagger(path)
    with pytest.raises(FileNotFoundError):
        load_tagger(tmp_path / "missing")


def test_a_complete_model_is_no_tagger(tmp_path):
    save_model(CRF().fit(X, Y), tmp_path / "model")
    with pytest.raises(ValueError, match=r"is a complete model.*read it by model_files"):
        load_tagger(tmp_path / "model")


def test_a_later_version(saved, tmp_path):
    data = saved.read_bytes()
    (tmp_path / "file").write_bytes(data[:24] + struct.pack("<I", 2) + data[28:])
    with pytest.raises(ValueError, match="version 2 of the format"):
        load_tagger(tmp_path / "file")


def test_files_cut_anywhere(saved, tmp_path):
    data = saved.read_bytes()
    for end in range(0, len(data), 7):
        (tmp_path / "file").write_bytes(data[:end])
        with pytest.raises(ValueError, match="file: "):
            load_tagger(tmp_path / "file")


def test_any_byte_changed(saved, tmp_path):
    """Either an error, or a tagger that gives labels, or says that scores are not finite."""
    data, rng = saved.read_bytes(), np.random.default_rng(0)
    for place in [*range(0, 800, 3), *rng.integers(800, len(data), 600)]:
        changed = bytearray(data)
        changed[place] ^= 1 << int(rng.integers(8))
        (tmp_path / "file").write_bytes(changed)
        use(tmp_path / "file")


def use(path):
    try:
        tagger = load_tagger(path)
        for sequence in [*X, ["unknown", {"the": 2.0, "dog": "x"}]]:
            assert set(tagger(sequence)) <= {"D", "N", "V"}
            tagger.probabilities(sequence)
            tagger.confidence(sequence)
    except ValueError:
        pass


def with_header(data, change):
    """The same file with another header, whose checksum is right."""
    magic, version, length, _ = struct.unpack("<24sIII", data[:36])
    header = json.loads(data[36 : 36 + length])
    change(header)
    changed = json.dumps(header).encode()
    start = struct.pack("<24sIII", magic, version, len(changed), zlib.crc32(changed)) + changed
    return start + bytes(-len(start) % 64) + data[-(-(36 + length) // 64) * 64 :]


def test_headers_that_lie(saved, tmp_path):
    data = saved.read_bytes()
    rng = np.random.default_rng(0)
    assert with_header(data, lambda header: None) == data
    values = [None, -1, 0, 1, 3, 2**40, 2**70, 0.5, "x", [], {}, [1], "<f8", "|O", True]
    for _ in range(600):

        def change(header):
            part = header
            while isinstance(part, dict | list) and part:
                keys = list(part) if isinstance(part, dict) else range(len(part))
                key = keys[rng.integers(len(keys))]
                if not isinstance(part[key], dict | list) or rng.random() < 0.3:
                    part[key] = values[rng.integers(len(values))]
                    return
                part = part[key]

        (tmp_path / "file").write_bytes(with_header(data, change))
        try:
            tagger = load_tagger(tmp_path / "file")
            tagger(X[0])
            tagger.probabilities(X[0])
        except ValueError:
            pass


def test_arrays_that_lie():
    content = CRF(features="observed").fit(X, Y).tagger()._content
    for name, array in content.arrays.items():
        worse = [array[:-1], array[:0], array.astype(object), array.astype(np.int16)]
        if name not in ("names.key", "names.blob") and array.dtype.kind == "i":
            worse += [np.full_like(array, 100), array - 1]
        for other in worse:
            with pytest.raises(ValueError, match=r"array|table|rows"):
                Tagger(Content(content.settings, {**content.arrays, name: other}))
    for name in content.settings:
        with pytest.raises(ValueError, match=r"setting|no tagger"):
            Tagger(Content({**content.settings, name: None}, content.arrays))


def test_arrays_that_overlap(saved, tmp_path):
    def change(header):
        header["arrays"]["begin"][2] = header["arrays"]["transition"][2]

    (tmp_path / "file").write_bytes(with_header(saved.read_bytes(), change))
    with pytest.raises(ValueError, match="the arrays of the file overlap"):
        load_tagger(tmp_path / "file")


def counted():
    return EmpiricalCRF().fit(X, Y).tagger().content()


def many_sums():
    content = counted()
    labels = [str(i) for i in range(300)]
    n = len(labels)
    arrays = {
        **content.arrays,
        "transition": np.zeros((n, n)),
        "begin": np.zeros(n),
        "end": np.zeros(n),
        "common": np.zeros(2 * 10**5, dtype=np.int32),
    }
    return Content({**content.settings, "labels": labels}, arrays)


def many_ranks():
    content = counted()
    arrays = {name: it for name, it in content.arrays.items() if not name.startswith("pair")}
    arrays["groups"] = np.array([[0, 0, 0, -1]] * 7, dtype=np.int32)
    arrays["pair_slots"] = np.zeros((0, 5), dtype=np.int32)
    for g in range(7):
        arrays[f"pairs{g}.indptr"] = np.zeros(1, dtype=np.int32)
        arrays[f"pairs{g}.second"] = np.zeros(0, dtype=np.int32)
        arrays[f"pairs{g}.bits"] = np.zeros((2**18, 1), dtype=np.uint64)
    return Content(content.settings, arrays)


def many_slots():
    content = counted()
    slots = np.zeros((150000, 4), dtype=np.int32)
    slots[:, 0] = np.arange(len(slots))
    arrays = {"single_slots": slots, "single_starts": np.zeros(len(slots) + 1, dtype=np.int64)}
    return Content(content.settings, {**content.arrays, **arrays})


def many_values():
    content = counted()
    return Content({**content.settings, "more": [[[]]] * 4 * 10**5}, content.arrays)


@pytest.mark.parametrize("make", [many_sums, many_ranks, many_slots, many_values])
def test_files_that_ask_for_more_memory_than_allowed(make, tmp_path):
    limit = 2**24
    write_content(tmp_path / "file.gz", make())
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=f"more than max_bytes={limit}"):
            load_tagger(tmp_path / "file.gz", max_bytes=limit)
        assert tracemalloc.get_traced_memory()[1] < 4 * limit
    finally:
        tracemalloc.stop()


def test_limits_of_files(saved):
    for limit in (None, 2**20):
        assert load_tagger(saved, max_bytes=limit)(X[0]) == Y[0]
    with pytest.raises(ValueError, match="more than max_bytes=100"):
        load_tagger(saved, max_bytes=100)
    with pytest.raises(TypeError, match="max_bytes"):
        load_tagger(saved, max_bytes="all")
