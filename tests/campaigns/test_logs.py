"""Losses of annotations are found, whatever loses them."""

import sys
from random import Random

import pytest

from sklearn_crcrf.apps.annotation import Log

SKIP = {"do": "skip", "by": "ann"}
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="campaigns need Linux")


@pytest.mark.parametrize("number", range(8))
def test_no_fault_loses_what_was_acknowledged(load, tmp_path, monkeypatch, number):
    monkeypatch.chdir(tmp_path)
    logs = load("_logs")
    monkeypatch.setattr(logs, "can_mount", lambda: False)
    monkeypatch.setattr(logs.resource, "setrlimit", lambda *limits: None)  # it is for good
    assert logs.write_meanwhile(Random(number), number).name == list(logs.FAULTS)[number]


def test_a_log_that_goes_on_in_a_file_that_is_no_longer_there_is_found(load, tmp_path):
    logs, path = load("_logs"), tmp_path / "log.jsonl"
    with Log(path) as log:
        acknowledged = [
            log.append({"do": "skip", "sentence": k, "by": "ann"})["id"].encode() for k in range(5)
        ]
    logs._check("moved", path, acknowledged, 3, 0)
    path.unlink()
    with pytest.raises(load("_campaign").Wrong, match="acknowledged after the fault"):
        logs._check("moved", path, acknowledged, 3, 0)


def test_entries_that_a_repair_does_not_keep_are_found(load, tmp_path):
    logs, path = load("_logs"), tmp_path / "log.jsonl"
    with Log(path) as log:
        acknowledged = [
            log.append({"do": "skip", "sentence": k, "by": "ann"})["id"].encode() for k in range(5)
        ]
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2] + lines[4:]))
    with pytest.raises(load("_campaign").Wrong, match="acknowledged entries are lost"):
        logs._check("a bit flipped", path, acknowledged, 5, 1)
