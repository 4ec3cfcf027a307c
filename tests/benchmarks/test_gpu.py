"""The program that measures the layers of torch."""

import pytest

pytest.importorskip("torch")
pytest.importorskip("torchcrf")
pytest.importorskip("torch_struct")


def test_every_shape_has_a_row(load, monkeypatch, capsys):
    gpu = load("gpu")
    monkeypatch.setattr(gpu, "SHAPES", {(2, 5, 3): (1.0, 1.0), (3, 4, 2): (1.0, 1.0)})
    gpu.main(["--tables", "layers", "--devices", "cpu"])
    rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines() if line[:1] == "|"]
    assert [row[0] for row in rows[2:]] == ["| 2, 5, 3", "| 3, 4, 2"]
    assert {len(row) for row in rows} == {len(gpu.COLUMNS)}
    for row in rows[2:]:
        assert float(row[2]) > 0 and max(map(float, row[6:8])) < 1e-5
