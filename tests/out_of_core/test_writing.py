"""Corpus folders: what is written is read, and what is not complete or not sound is refused."""

import gzip
import json
import pickle
import zlib

import numpy as np
import pytest

from sklearn_crcrf import TokenFeatures
from sklearn_crcrf.out_of_core import CorpusFolder, write_corpus, writing
from sklearn_crcrf.out_of_core.corpus_folder import LABELS, TOKENS
from sklearn_crcrf.out_of_core.writing import pieces_of

TEXT = "Zürich NNP\nis V\n\n\nW\u00a0x V\n\nend NN\n"
X = [["Zürich", "is"], ["W\u00a0x"], ["end"]]
Y = [["NNP", "V"], ["V"], ["NN"]]


@pytest.fixture
def files(tmp_path):
    (tmp_path / "a").write_text("\ufeff" + TEXT, encoding="utf-8", newline="\r\n")
    (tmp_path / "b.gz").write_bytes(gzip.compress(TEXT.encode()))
    (tmp_path / "empty").write_text("\n\n")
    return [tmp_path / "a", tmp_path / "empty", tmp_path / "b.gz"]


@pytest.mark.parametrize("lines", [1, 4, 100])
def test_what_is_written_is_read(files, tmp_path, lines):
    write_corpus(files, tmp_path / "c", lines_per_part=lines)
    corpus = pickle.loads(pickle.dumps(CorpusFolder(tmp_path / "c")))
    assert (corpus.n_sequences, corpus.n_tokens, len(corpus)) == (6, 8, {1: 6, 4: 4, 100: 2}[lines])
    assert [s.tolist() for X, _ in corpus for s in X] == 2 * X
    assert [s.tolist() for _, y in corpus for s in y] == 2 * Y
    assert corpus[-1][0] == corpus[len(corpus) - 1][0]


def test_columns_and_transformers(tmp_path):
    (tmp_path / "a").write_text("a x A\nb y B\n")
    columns = ["word", "pos", "label"]
    plain, _ = write_corpus([tmp_path / "a"], tmp_path / "c", columns)[0]
    assert plain.data.names == ("word", "pos")
    assert plain.data.column("pos").tolist() == ["x", "y"]
    features = TokenFeatures().fit(plain)
    X, _ = write_corpus([tmp_path / "a"], tmp_path / "d", columns, transformer=features)[0]
    assert features.transform(plain) == X


def test_an_interrupted_write_goes_on(files, tmp_path, monkeypatch):
    folder, written = tmp_path / "c", []
    write_part = writing.write_part

    def interrupted(part, *args):
        written.append(part.name)
        if len(written) == 3:
            (part.parent / f"{part.name}.unfinished").mkdir()
            raise KeyboardInterrupt
        write_part(part, *args)

    monkeypatch.setattr(writing, "write_part", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_corpus(files, folder, lines_per_part=4)
    with pytest.raises(ValueError, match="is incomplete: write it again"):
        CorpusFolder(folder)
    corpus = write_corpus(files, folder, lines_per_part=4)
    assert written == ["part-00000", "part-00001", "part-00002", "part-00002", "part-00003"]
    assert [s.tolist() for X, _ in corpus for s in X] == 2 * X
    assert sorted(path.name for path in folder.iterdir())[:2] == ["corpus.json", "part-00000"]
    with pytest.raises(ValueError, match="holds a complete corpus"):
        write_corpus(files, folder)


def test_a_part_from_another_text_is_written_again(files, tmp_path):
    folder = tmp_path / "c"
    write_corpus(files, folder, lines_per_part=1)
    (folder / "corpus.json").unlink()
    files[0].write_text("new N\n")
    corpus = write_corpus(files, folder, lines_per_part=100)
    assert len(list(folder.glob("part-*"))) == len(corpus) == 2
    assert corpus[0][0].tolist() == [["new"]]


# Arrays that cannot be right, of whatever a file holds.
FORGERIES = {
    "negative": lambda array: -1 - array.astype(np.int64),
    "large": lambda array: array.astype(np.int64) + 10**6,
    "floats": lambda array: array.astype(float),
    "deep": lambda array: array[None, None],
    "short": lambda array: array[:-1],
    "objects": lambda array: array.astype(object),
}


def damage(corpus, what):
    part = corpus.folder / "part-00000"
    if what == "array":
        data = bytearray((part / "codes.npy").read_bytes())
        data[-1] ^= 1
        (part / "codes.npy").write_bytes(data)
    elif what == "short":
        (part / "labels.npy").write_bytes((part / "labels.npy").read_bytes()[:-1])
    elif what == "missing":
        (part / "offsets.npy").unlink()
    elif what == "part":
        (part / "part.json").write_text("{")
    elif what == "key":
        (part / "part.json").write_text('{"checksums": {}}')
    elif what.startswith("forged"):
        name = what.split()[1]
        if what.endswith("header"):
            data = (part / f"{name}.npy").read_bytes()
            (part / f"{name}.npy").write_bytes(data.replace(b"{", b"(", 1).replace(b"}", b"(", 1))
        else:
            array = np.load(part / f"{name}.npy")
            np.save(part / f"{name}.npy", FORGERIES[what.split()[2]](array))
        described = json.loads((part / "part.json").read_text())
        described["checksums"][name] = zlib.crc32((part / f"{name}.npy").read_bytes())
        (part / "part.json").write_text(json.dumps(described))
    elif what.startswith("says"):
        described = json.loads((part / "part.json").read_text())
        (part / "part.json").write_text(json.dumps({**described, what.split()[1]: [["x"]]}))
    else:
        described = json.loads((corpus.folder / "corpus.json").read_text())
        content = {
            "version": {**described, "version": 2},
            "format": {"x": 1},
            "json": [],
            "parts": {**described, "parts": 1},
            "twice": {**described, "parts": described["parts"] + described["parts"][:1]},
            "tokens": {**described, "n_tokens": described["n_tokens"] + 1},
        }[what]
        (corpus.folder / "corpus.json").write_text(json.dumps(content))


@pytest.mark.parametrize(
    "what, message",
    [
        ("array", "codes.npy is damaged"),
        ("short", "labels.npy is damaged"),
        ("missing", "part-00000 is damaged"),
        ("part", "part.json is damaged"),
        ("key", "part-00000/part.json is damaged"),
        ("forged codes header", "codes.npy is damaged"),
        ("version", "version 2 of the format; this is 1"),
        ("format", "is no corpus folder"),
        ("json", "corpus.json is damaged"),
        ("parts", "corpus.json is damaged"),
        ("twice", "corpus.json is damaged: it says"),
        ("tokens", "corpus.json is damaged: it says"),
        *((f"forged {name} {how}", name) for name in TOKENS + LABELS for how in FORGERIES),
        *(
            (f"says {name}", "part.json")
            for name in ("is_strings", "columns", "n_symbols", "n_tokens", "checksums")
        ),
    ],
)
def test_what_is_not_sound_is_refused(files, tmp_path, what, message):
    damage(write_corpus(files, tmp_path / "c"), what)
    with pytest.raises(ValueError, match=message):
        CorpusFolder(tmp_path / "c")[0]


def test_errors(files, tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        CorpusFolder(tmp_path / "none")
    with pytest.raises(ValueError, match="is no corpus folder"):
        CorpusFolder(tmp_path)
    with pytest.raises(ValueError, match="holds no corpus, but"):
        write_corpus(files, tmp_path)
    with pytest.raises(ValueError, match="have no tokens"):
        write_corpus(files[1:2], tmp_path / "c")
    files[0].write_text("a A\n\nb B\nc\n")
    with pytest.raises(ValueError, match="a: line 4"):
        write_corpus(files, tmp_path / "c", lines_per_part=1)
    files[2].write_bytes(files[2].read_bytes()[:-9])
    with pytest.raises(ValueError, match=r"b\.gz: cannot be read after line"):
        list(pieces_of(files[2], 1))
    files[0].write_bytes(b"\xff")
    with pytest.raises(ValueError, match="line 1 cannot be decoded as utf-8"):
        list(pieces_of(files[0], 1))
