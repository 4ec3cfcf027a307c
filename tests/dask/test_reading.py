"""Files as bags."""

import dask
import pytest

from sklearn_crcrf.dask import DaskEmpiricalCRF, DaskHMM, read_conll, reading


@pytest.fixture
def folder(tmp_path):
    for number, text in enumerate(["The D\ndog N\n\nBark V\n", "", "Dogs N\nbark V\n"]):
        (tmp_path / f"{number}.txt").write_text(text)
    return tmp_path


@pytest.fixture
def reads(monkeypatch):
    """The files that were read."""
    names, read = [], reading.read_one

    def spy(file, **options):
        names.append(file.name)
        return read(file, **options)

    monkeypatch.setattr(reading, "read_one", spy)
    return names


def test_a_partition_is_a_file(folder, reads):
    X, y = read_conll(folder / "*.txt")
    assert X.npartitions == y.npartitions == 3
    assert reads == []
    assert X.compute() == [["The", "dog"], ["Bark"], ["Dogs", "bark"]]
    assert dask.compute(*y.to_delayed()) == ([["D", "N"], ["V"]], [], [["N", "V"]])


def test_a_fit_reads_a_file_once(folder, reads, client):
    X, y = read_conll([folder / "0.txt", str(folder / "2.txt")])
    model = DaskHMM(client=client).fit(X, y)
    assert len(reads) == 2
    assert model.score(X, y) == 1.0
    assert len(reads) == 4


def test_options_and_columns(folder):
    (folder / "a.tsv").write_bytes("Häuser\tNN\tN\n".encode("latin-1"))
    options = {"sep": "\t", "encoding": "latin-1"}
    X, y = read_conll(f"{folder}/a.tsv", ["word", "pos", "label"], **options)
    assert X.compute() == [[{"word": "Häuser", "pos": "NN"}]] and y.compute() == [["N"]]
    X, y = read_conll(folder / "a.tsv", ["word", None, None], **options)
    assert X.compute() == [["Häuser"]] and y is None


def test_addresses_of_other_file_systems(folder):
    import fsspec

    memory = fsspec.filesystem("memory")
    memory.pipe("/corpus/1.txt", b"The D\n")
    X, y = read_conll("memory://corpus/*.txt")
    assert X.compute() == [["The"]] and y.compute() == [["D"]]


def test_errors_have_the_file_and_the_line(folder, client):
    (folder / "1.txt").write_text("a b\n\nc d e\n")
    X, y = read_conll(folder / "*.txt")
    expected = r"1\.txt: line 3 has 3 columns, expected 2: 'c d e'"
    for fit in (DaskEmpiricalCRF().fit, DaskEmpiricalCRF(client=client).fit):
        with pytest.raises(ValueError, match=expected):
            fit(X, y)
    (folder / "1.txt").write_text("a\n")
    X, y = read_conll(folder / "*.txt")
    assert X.count().compute() == 4
    with pytest.raises(ValueError, match=r"1\.txt: there is no column of labels"):
        y.compute()


def test_missing_files(folder):
    with pytest.raises(ValueError, match="there is no file"):
        read_conll(folder / "*.csv")
    X, _ = read_conll([folder / "0.txt", folder / "9.txt"])
    with pytest.raises(FileNotFoundError, match=r"9\.txt"):
        X.compute()
