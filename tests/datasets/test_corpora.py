import dataclasses
import gzip
import hashlib
import os
from zipfile import ZipFile

import pytest

from sklearn_crcrf.datasets import _corpora, _fetch, fetch_brown, fetch_conll2000, fetch_conll2002
from sklearn_crcrf.datasets._fetch import undo_latin1

data = pytest.mark.data
needs_data = pytest.mark.skipif(
    not os.environ.get("SKLEARN_CRCRF_DATA"), reason="SKLEARN_CRCRF_DATA is not set"
)

# The members of each archive in their original form, and the text in columns of each part.
ORIGINALS = {
    "conll2000": {
        "conll2000/README": "about",
        "conll2000/train.txt": "The DT B-NP\ndog NN I-NP\n\nbarks VBZ B-VP\n",
        "conll2000/test.txt": "Good JJ B-NP\n\n\n",
    },
    "conll2002": {
        "conll2002/esp.train": "El DA O\n",
        "conll2002/ned.train": "-DOCSTART- -DOCSTART- O\nItalië N B-LOC\n\nà Prep O\n\n",
        "conll2002/ned.testa": "Årst N I-ORG\n\n",
        "conll2002/ned.testb": "Den Art B-LOC\nHaag N I-LOC\n\n",
    },
    "brown": {
        "brown/README": "about/nn",
        "brown/cb01": "\n\tRun/vb 1/2/cd mile/nn ./.\n\n",
        "brown/ca01": "\n\n\tThe/at jury/nn-tl //. \n\n\nYes/uh\n",
    },
}
TEXTS = {
    "conll2000": {
        "train": "The\tDT\tB-NP\ndog\tNN\tI-NP\n\nbarks\tVBZ\tB-VP\n\n",
        "test": "Good\tJJ\tB-NP\n\n",
    },
    "conll2002": {
        "train": "-DOCSTART-\t-DOCSTART-\tO\nItalië\tN\tB-LOC\n\nà\tPrep\tO\n\n",
        "testa": "Årst\tN\tI-ORG\n\n",
        "testb": "Den\tArt\tB-LOC\nHaag\tN\tI-LOC\n\n",
    },
    "brown": {
        "all": "The\tat\njury\tnn-tl\n/\t.\n\nYes\tuh\n\nRun\tvb\n1/2\tcd\nmile\tnn\n.\t.\n\n",
    },
}
FETCHERS = {"conll2000": fetch_conll2000, "conll2002": fetch_conll2002, "brown": fetch_brown}


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A data home without data, and archives of tiny corpora to download."""
    server = tmp_path / "server"
    server.mkdir()
    for name, texts in TEXTS.items():
        with ZipFile(server / f"{name}.zip", "w") as archive:
            for member, text in ORIGINALS[name].items():
                archive.writestr(member, text)
        variable = name.upper()
        corpus = getattr(_corpora, variable)
        parts = {
            part: corpus.parts[part]._replace(sha256=hashlib.sha256(text.encode()).hexdigest())
            for part, text in texts.items()
        }
        monkeypatch.setattr(_corpora, variable, dataclasses.replace(corpus, parts=parts))
    monkeypatch.setattr(_fetch, "BASE_URL", f"file://localhost{server}")
    monkeypatch.delenv("SKLEARN_CRCRF_DATA", raising=False)
    return tmp_path / "home"


def cached(home):
    return sorted(path.name for path in (home / "sklearn_crcrf").glob("*"))


@pytest.mark.parametrize("name", TEXTS)
def test_download_converts_and_caches_all_parts(name, home, monkeypatch):
    bunch = FETCHERS[name](data_home=home)
    corpus = getattr(_corpora, name.upper())
    assert cached(home) == sorted(part.filename for part in corpus.parts.values())
    for part, text in TEXTS[name].items():
        path = home / "sklearn_crcrf" / corpus.parts[part].filename
        assert gzip.decompress(path.read_bytes()).decode() == text
    monkeypatch.setattr(_fetch, "BASE_URL", "file://localhost/nowhere")
    assert FETCHERS[name](data_home=home) == bunch


def test_bunch(home):
    bunch = fetch_conll2000("all", data_home=home)
    assert bunch.data == [
        [{"word": "The", "pos": "DT"}, {"word": "dog", "pos": "NN"}],
        [{"word": "barks", "pos": "VBZ"}],
        [{"word": "Good", "pos": "JJ"}],
    ]
    assert bunch.target == [["B-NP", "I-NP"], ["B-VP"], ["B-NP"]]
    assert bunch.target_names == ["B-NP", "B-VP", "I-NP"]
    assert bunch.feature_names == ["word", "pos"]
    assert [os.path.basename(name) for name in bunch.filenames] == [
        "conll2000-train.tsv.gz",
        "conll2000-test.tsv.gz",
    ]
    assert "Buchholz" in bunch.DESCR
    assert fetch_conll2000("test", data_home=home, return_X_y=True) == (
        bunch.data[2:],
        bunch.target[2:],
    )


def test_brown_in_order_of_its_files(home):
    X, y = fetch_brown(data_home=home, return_X_y=True)
    assert X == [["The", "jury", "/"], ["Yes"], ["Run", "1/2", "mile", "."]]
    assert y == [["at", "nn-tl", "."], ["uh"], ["vb", "cd", "nn", "."]]


def test_folder_of_the_environment_comes_first(home, tmp_path, monkeypatch):
    fetch_conll2000(data_home=home)
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "conll2000-test.tsv.gz").write_bytes(
        gzip.compress(TEXTS["conll2000"]["test"].encode())
    )
    monkeypatch.setenv("SKLEARN_CRCRF_DATA", str(folder))
    filenames = fetch_conll2000("all", data_home=home).filenames
    assert filenames[0].startswith(str(home))
    assert filenames[1].startswith(str(folder))


def test_folder_of_the_environment_needs_no_data_home(home, tmp_path, monkeypatch):
    filename = "conll2000-test.tsv.gz"
    (tmp_path / filename).write_bytes(gzip.compress(TEXTS["conll2000"]["test"].encode()))
    monkeypatch.setenv("SKLEARN_CRCRF_DATA", str(tmp_path))
    fetch_conll2000("test", data_home=home)
    assert not home.exists()


def test_missing_data_without_download(home):
    with pytest.raises(OSError, match=r"conll2000-train\.tsv\.gz is neither in .*home"):
        fetch_conll2000(data_home=home, download_if_missing=False)
    assert cached(home) == []


def test_damaged_download_is_not_cached(home, monkeypatch):
    with ZipFile(home.parent / "server" / "conll2000.zip", "w") as archive:
        archive.writestr("conll2000/train.txt", "The DT I-NP\n")
        archive.writestr("conll2000/test.txt", "")
    with pytest.raises(OSError, match=r"SHA256 checksum .* differs from the expected"):
        fetch_conll2000(data_home=home)
    assert cached(home) == []


def test_damaged_file_is_refused(home):
    fetch_conll2000(data_home=home)
    path = home / "sklearn_crcrf" / "conll2000-train.tsv.gz"
    for damaged in (gzip.compress(b"The\tDT\tB-NP\n\n"), path.read_bytes()[:-20], b"\xff"):
        path.write_bytes(damaged)
        with pytest.raises(OSError, match="delete it to fetch it again"):
            fetch_conll2000(data_home=home)


def test_failed_download_is_retried(home, monkeypatch):
    monkeypatch.setattr(_fetch, "BASE_URL", "file://localhost/nowhere")
    with pytest.warns(UserWarning, match="Retry downloading"), pytest.raises(OSError):
        fetch_conll2000(data_home=home, n_retries=1, delay=0)


def test_bad_parameters():
    with pytest.raises(ValueError, match=r"subset must be one of \['train', 'test', 'all'\]"):
        fetch_conll2000("dev")
    with pytest.raises(ValueError, match="language must be 'ned'"):
        fetch_conll2002(language="esp")


def test_utf8_read_as_latin1_is_undone():
    original = "één\tN\tO\nà\tPrep\tO\ndàt\tV\tO\nÅrst\tN\tI-ORG\nvoilà\tAdv\tO\n\n"
    misread = original.encode().decode("latin-1")
    cut = "\n".join("\t".join(line.split()) for line in misread.split("\n"))
    assert cut != misread
    assert undo_latin1(cut) == original
    assert undo_latin1(original) == original
    assert undo_latin1("plain\tN\tO\n\n") == "plain\tN\tO\n\n"


@data
@needs_data
def test_real_conll2000():
    for subset, n_sequences, n_tokens in [("train", 8936, 211727), ("test", 2012, 47377)]:
        X, y = fetch_conll2000(subset, return_X_y=True, download_if_missing=False)
        assert (len(X), sum(map(len, y))) == (n_sequences, n_tokens)


@data
@needs_data
def test_real_conll2002():
    sizes = [("train", 15806, 202931), ("testa", 2895, 37761), ("testb", 5195, 68994)]
    for subset, n_sequences, n_tokens in sizes:
        X, y = fetch_conll2002(subset, return_X_y=True, download_if_missing=False)
        assert (len(X), sum(map(len, y))) == (n_sequences, n_tokens)
        words = {token["word"] for tokens in X for token in tokens}
        assert "België" in words
        assert not any("Ã" in word for word in words)


@data
@needs_data
def test_real_corpora_survive_their_original_form(tmp_path, monkeypatch):
    """What is written in the original form, zipped and downloaded has the expected checksum."""
    members = {"train": "train.txt", "test": "test.txt"}
    with ZipFile(tmp_path / "conll2000.zip", "w") as archive:
        for subset, member in members.items():
            X, y = fetch_conll2000(subset, return_X_y=True, download_if_missing=False)
            lines = [
                "\n".join(f"{x['word']} {x['pos']} {label}" for x, label in zip(*pair, strict=True))
                for pair in zip(X, y, strict=True)
            ]
            archive.writestr(f"conll2000/{member}", "\n\n".join(lines) + "\n\n")
    monkeypatch.setattr(_fetch, "BASE_URL", f"file://localhost{tmp_path}")
    monkeypatch.delenv("SKLEARN_CRCRF_DATA")
    assert fetch_conll2000("test", data_home=tmp_path, return_X_y=True) == (X, y)
