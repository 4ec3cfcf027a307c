"""Small files of taggers: rounded weights, weights that are left out, damage."""

import gzip
import json
import struct
import zlib

import numpy as np
import pytest
from cases import for_each
from odd_words import corpus, others

from sklearn_crcrf import CRF, EmpiricalCRF
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.model_files import load_model
from sklearn_crcrf.serving import Tagger, load_tagger
from sklearn_crcrf.serving.small import packed, unpacked

X, Y = corpus(120)


def taggers():
    features = [[{"word": word, "length": len(word)} for word in words] for words in X]
    return {
        "counted": EmpiricalCRF().fit(X, Y).tagger(),
        "with counts": EmpiricalCRF().fit(X, Y).tagger(counts=True),
        "order 2": EmpiricalCRF(order=2).fit(X, Y).tagger(),
        "columns": EmpiricalCRF()
        .fit([[{"word": w, "tag": w[:1]} for w in s] for s in X], Y)
        .tagger(),
        "linear": CRF().fit(features, Y).tagger(),
        "observed": CRF(features="observed").fit(X, Y).tagger(),
        "few labels": EmpiricalCRF(experts=[]).fit([["a"]], [["A"]]).tagger(),
    }


@for_each("tagger", taggers().values())
def test_a_file_without_hash_tables_has_the_same_content(tagger):
    content = tagger.content()
    again = unpacked(packed(content, None))
    assert again.settings == content.settings and again.arrays.keys() == content.arrays.keys()
    for name, array in content.arrays.items():
        if not name.endswith((".slots", ".key")):
            np.testing.assert_array_equal(again.arrays[name], array)
            assert again.arrays[name].dtype == array.dtype


def size_of(tagger, path, **options):
    assert tagger.save(path, **options) is None
    return path.stat().st_size


@for_each("name, tagger", taggers().items())
def test_weights_are_rounded_and_files_get_smaller(name, tagger, tmp_path):
    sizes = [size_of(tagger, tmp_path / "file.gz")]
    for bits in (16, 8):
        sizes.append(size_of(tagger, tmp_path / "file", bits=bits))
        again = load_tagger(tmp_path / "file").content()
        for part in ("coef", "coef.data", "state.data", "edge.data"):
            if part in again.arrays:
                wanted = tagger.content().arrays[part]
                step = np.abs(wanted).max(initial=0.0) / (2 ** (bits - (wanted < 0).any()) - 1)
                np.testing.assert_allclose(again.arrays[part], wanted, rtol=0, atol=step * 0.501)
    if name != "few labels":
        assert sizes == sorted(sizes, reverse=True)


def test_the_size_is_kept_and_changes_are_counted(tmp_path):
    X, y = make_addresses(400, random_state=0)
    cases = [(EmpiricalCRF(), 0.01), (CRF(), 0.1), (CRF(features="observed"), 0.1)]
    for estimator, most_changed in cases:
        tagger = estimator.fit(X[:300], y[:300]).tagger()
        whole = tagger.save(tmp_path / "file", bits=8, check=X[300:])
        assert whole.n_tokens == sum(map(len, X[300:]))
        most = int(whole.n_bytes * 0.85)
        saved = tagger.save(tmp_path / "file", bits=8, max_bytes=most, check=X[300:])
        assert saved.n_bytes == (tmp_path / "file").stat().st_size <= most
        assert saved.n_bytes > 0.9 * most
        found = load_tagger(tmp_path / "file").label_ids(X[300:])
        assert saved.n_changed == (found != tagger.label_ids(X[300:])).sum()
        assert whole.n_changed <= saved.n_changed < most_changed * saved.n_tokens


def test_estimates_of_single_symbols_stay(tmp_path):
    tagger = EmpiricalCRF().fit(X, Y).tagger(counts=True)
    most = int(0.9 * size_of(tagger, tmp_path / "file", bits=8))
    tagger.save(tmp_path / "file", bits=8, max_bytes=most)
    before, after = tagger.content(), load_tagger(tmp_path / "file").content()
    n = before.settings["first_word_row"] + len(before.arrays["kinds"])
    (old, rows), (new, again) = (
        [
            c.arrays["state.counts"],
            c.arrays["state.base"][np.arange(n) >> 6] + c.arrays["state.offset"][:n],
        ]
        for c in (before, after)
    )
    np.testing.assert_array_equal(rows, again)
    np.testing.assert_array_equal(old[: rows[-1]], new[: rows[-1]])
    assert len(new) < len(old)
    for name in ("pairs.counts", "first.counts", "last.counts"):
        np.testing.assert_array_equal(before.arrays[name], after.arrays[name])


def test_what_cannot_be_saved(tmp_path):
    tagger = EmpiricalCRF().fit(X, Y).tagger()
    path = tmp_path / "file"
    path.write_bytes(b"before")
    with pytest.raises(ValueError, match=r"max_bytes=1000: the file needs [0-9]+ bytes"):
        tagger.save(path, max_bytes=1000)
    with pytest.raises(ValueError, match="bits must be 8, 16 or None, got 7"):
        tagger.save(path, bits=7)
    with pytest.raises(TypeError, match="max_bytes must be an int"):
        tagger.save(path, max_bytes="2 MB")
    assert path.read_bytes() == b"before"
    for parameters in ({"min_count": 2}, {"order": 2}, {"experts": ["token[-1]"]}):
        with pytest.raises(ValueError, match=r"tagger\(counts=True\) needs"):
            EmpiricalCRF(**parameters).fit(X, Y).tagger(counts=True)


def use(data, path):
    path.write_bytes(gzip.compress(data, 1))
    try:
        tagger = load_tagger(path, max_bytes=2**26)
        for tokens in [*X[:5], *others()[:40]]:
            assert set(tagger(tokens)) <= set(tagger.labels)
            tagger.probabilities(tokens)
    except ValueError:
        pass


def test_any_byte_changed(tmp_path):
    rng = np.random.default_rng(0)
    tagger = EmpiricalCRF().fit(*corpus(10)).tagger(counts=True)
    tagger.save(tmp_path / "file", bits=8)
    data = gzip.decompress((tmp_path / "file").read_bytes())
    for place in rng.integers(0, len(data), 400):
        changed = bytearray(data)
        changed[place] ^= 1 << int(rng.integers(8))
        use(bytes(changed), tmp_path / "file")


def test_types_and_scales_that_lie(tmp_path):
    CRF().fit(X, Y).tagger().save(tmp_path / "file", bits=8)
    data = gzip.decompress((tmp_path / "file").read_bytes())
    magic, version, length, _ = struct.unpack("<24sIII", data[:36])
    body = data[-(-(36 + length) // 64) * 64 :]
    for part in ("types", "scales"):
        for name in json.loads(data[36 : 36 + length])["settings"][part]:
            for value in ("|O", "<f8", "|u1", "<U4", None, 3, 1e400, "x", []):
                header = json.loads(data[36 : 36 + length])
                header["settings"][part][name] = value
                text = json.dumps(header).encode()
                start = struct.pack("<24sIII", magic, version, len(text), zlib.crc32(text)) + text
                use(start + bytes(-len(start) % 64) + body, tmp_path / "file")


def test_tables_of_strings_that_lie():
    content = packed(EmpiricalCRF().fit(X, Y).tagger().content(), 8)
    for name, array in content.arrays.items():
        for worse in (array[:0], array[..., :-1], np.zeros_like(array), np.full_like(array, 255)):
            try:
                tagger = Tagger(unpacked(content._replace(arrays={**content.arrays, name: worse})))
                assert set(tagger(["dog", "walks"])) <= set(tagger.labels)
            except ValueError:
                pass


def test_small_files_are_compact_models(tmp_path):
    crf = EmpiricalCRF().fit(X, Y)
    crf.tagger().save(tmp_path / "file", bits=16)
    compact = load_model(tmp_path / "file").estimator
    assert [*compact.predict(X)] == load_tagger(tmp_path / "file").many(X)


def test_a_check_set_that_cannot_be_labelled_leaves_the_file_as_it_was(tmp_path):
    X, y = make_addresses(100, random_state=0)
    tagger, path = EmpiricalCRF().fit(X, y).tagger(), tmp_path / "file"
    tagger.save(path)
    before = path.read_bytes()
    with pytest.raises(TypeError, match="position 0"):
        tagger.save(path, bits=8, check=[[3]])
    assert path.read_bytes() == before
