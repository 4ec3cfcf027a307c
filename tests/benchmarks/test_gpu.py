"""The program that measures the layers of torch, and training on a device."""

import pytest

pytest.importorskip("torch")


def tables_of(text):
    """The cells of all rows of tables, without their heads."""
    rows = [line.split(" | ") for line in text.splitlines() if line[:1] == "|"]
    heads = [i for i, row in enumerate(rows) if row[0] == "| ---"]
    return [row for i, row in enumerate(rows) if i not in heads and i + 1 not in heads]


def test_every_shape_has_a_row(load, monkeypatch, capsys):
    pytest.importorskip("torchcrf")
    gpu = load("gpu")
    monkeypatch.setattr(gpu, "SHAPES", {(2, 5, 3): (1.0, 1.0), (3, 4, 2): (1.0, 1.0)})
    gpu.main(["--tables", "layers", "--devices", "cpu"])
    rows = tables_of(capsys.readouterr().out)
    assert [row[0] for row in rows] == ["| 2, 5, 3", "| 3, 4, 2"]
    assert {len(row) for row in rows} == {len(gpu.COLUMNS)}
    for row in rows:
        assert float(row[2]) > 0 and max(map(float, row[6:8])) < 1e-5


def test_what_is_not_installed_is_left_out(load, monkeypatch, capsys):
    gpu = load("gpu")
    monkeypatch.setattr(gpu, "torchcrf", None)
    monkeypatch.setattr(gpu, "SHAPES", {(2, 5, 3): (1.0, 1.0)})
    gpu.main(["--tables", "layers", "--devices", "cpu"])
    (row,) = tables_of(capsys.readouterr().out)
    assert row[1] == row[4] == row[6] == "not installed" and float(row[7]) < 1e-5


def test_the_device_is_right_and_a_row_that_fails_leaves_the_others(load, monkeypatch, capsys):
    gpu = load("gpu")
    monkeypatch.setattr(gpu.trained, "SHAPES", ((4, 5, 3), (0, 0, 0), (2, 3, 2)))
    with pytest.raises(SystemExit, match="1 rows failed"):
        gpu.main(["--tables", "check", "sums", "--devices", "cpu"])
    rows = tables_of(capsys.readouterr().out)
    right = [row[-1] for row in rows if len(row) == len(gpu.trained.CHECKED)]
    assert len(right) > 15 and set(right) == {"yes |"}
    sums = [row[0] for row in rows if len(row) == len(gpu.trained.SUMS)]
    assert sums[0] == "| 4, 5, 3" and "Error" in sums[1] and sums[2] == "| 2, 3, 2"
