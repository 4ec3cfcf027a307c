"""The append-only log."""

import errno
import json
import os

import pytest

from sklearn_crcrf.annotation import Log
from sklearn_crcrf.annotation.log import read_entries

ENTRIES = [{"do": "skip", "sentence": 0, "by": "ann"}, {"do": "label", "name": "ÄÖ", "by": "é"}]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "log.jsonl"


def write(path, entries):
    with Log(path) as log:
        for entry in entries:
            log.append(entry)


def test_entries_are_kept_in_order(path):
    write(path, ENTRIES[:1])
    write(path, ENTRIES[1:])
    with Log(path) as log:
        assert log.entries == ENTRIES
    assert [json.loads(line) for line in path.read_text("utf-8").splitlines()] == ENTRIES


@pytest.mark.parametrize("cut", [1, 10, 40])
def test_a_half_written_last_line_is_removed_with_a_notice(path, cut):
    write(path, ENTRIES)
    path.write_bytes(path.read_bytes()[:-cut])
    notices = []
    with Log(path, notices.append) as log:
        kept = ENTRIES if cut == 1 else ENTRIES[:1]
        assert log.entries == kept
        log.append(ENTRIES[1])
    assert bool(notices) == (cut > 1)
    with Log(path) as log:
        assert log.entries == [*kept, ENTRIES[1]]


def test_one_process_at_a_time(path):
    pytest.importorskip("fcntl")
    with Log(path), pytest.raises(BlockingIOError, match="another process"):
        Log(path)
    Log(path).close()


@pytest.mark.parametrize("line", ["[]", "3", "{", '"a"'])
def test_a_damaged_line_is_named(path, line):
    path.write_text(json.dumps(ENTRIES[0]) + "\n" + line + "\n" + json.dumps(ENTRIES[1]) + "\n")
    with pytest.raises(ValueError, match="line 2: not a JSON object"):
        Log(path)
    assert read_entries(b"\n\n", "log") == []


class FullDisk:
    """A file that takes only a part of a line."""

    def __init__(self, file):
        self._file = file

    def __getattr__(self, name):
        return getattr(self._file, name)

    def write(self, line):
        self._file.write(line[:5])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_leaves_the_log_as_it_was(path):
    with Log(path) as log:
        log.append(ENTRIES[0])
        before, file = path.read_bytes(), log._file
        log._file = FullDisk(file)
        with pytest.raises(OSError, match="No space"):
            log.append(ENTRIES[1])
        log._file = file
        assert path.read_bytes() == before
        assert log.entries == ENTRIES[:1]
        log.append(ENTRIES[1])
    with Log(path) as log:
        assert log.entries == ENTRIES


@pytest.mark.parametrize("text", ["a text", "a text\nof two lines", "a text\n"])
def test_a_file_that_is_no_log_stays_as_it_is(path, text):
    path.write_text(text)
    with pytest.raises(ValueError, match="JSON object"):
        Log(path)
    assert path.read_text() == text
