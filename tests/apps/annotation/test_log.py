"""The append-only log."""

import errno
import json
import os
import stat
from itertools import pairwise

import pytest

from sklearn_crcrf.apps.annotation import Annotations, Log
from sklearn_crcrf.apps.annotation.log import read_entries, repair_log

ACCEPTED = {"do": "accept", "sentence": 2, "tokens": ["a"], "labels": ["O"], "by": "ann"}
ENTRIES = [{"do": "skip", "sentence": 0, "by": "ann"}, {"do": "label", "name": "ÄÖ", "by": "é"}]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "log.jsonl"


def write(path, entries):
    with Log(path) as log:
        for entry in entries:
            log.append(entry)


def said(entries):
    """Entries without what makes them a chain."""
    return [{k: v for k, v in entry.items() if k not in ("id", "after")} for entry in entries]


def test_entries_are_kept_in_order_and_linked(path):
    write(path, ENTRIES[:1])
    write(path, ENTRIES[1:])
    with Log(path) as log:
        assert said(log.entries) == ENTRIES
        assert [json.loads(line) for line in path.read_text("utf-8").splitlines()] == log.entries
        assert log.entries[0]["after"] == ""
        assert all(b["after"] == a["id"] for a, b in pairwise(log.entries))


def test_entries_are_added_at_once_or_one_by_one(path, tmp_path):
    entries = [{"do": "skip", "sentence": k, "by": "ann"} for k in range(5)]
    with Log(path) as log, Log(tmp_path / "other") as other:
        assert log.extend([]) == []
        assert log.extend(iter(entries)) == [other.append(entry) for entry in entries]
    assert path.read_bytes() == (tmp_path / "other").read_bytes()


def test_a_new_log_is_for_its_owner_only(path):
    write(path, [])
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("cut", [1, 10, 40])
def test_a_half_written_last_line_is_removed_with_a_notice(path, cut):
    write(path, ENTRIES)
    path.write_bytes(path.read_bytes()[:-cut])
    notices = []
    with Log(path, notices.append) as log:
        kept = ENTRIES if cut == 1 else ENTRIES[:1]
        assert said(log.entries) == kept
        log.append(ENTRIES[1])
    assert bool(notices) == (cut > 1)
    with Log(path) as log:
        assert said(log.entries) == [*kept, ENTRIES[1]]


@pytest.mark.parametrize("cut", [0, 1, 10])
def test_zeros_at_the_end_are_removed_with_a_notice(path, cut):
    write(path, ENTRIES)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) - cut] + bytes(5000))
    notices = []
    with Log(path, notices.append) as log:
        assert said(log.entries) == ENTRIES[: 2 - (cut > 1)]
    assert bool(notices) == (cut != 1)
    assert b"\0" not in path.read_bytes() and path.read_bytes().endswith(b"\n")


def test_one_process_at_a_time(path):
    pytest.importorskip("fcntl")
    with Log(path), pytest.raises(BlockingIOError, match="another process"):
        Log(path)
    Log(path).close()


@pytest.mark.parametrize("line", ["[]", "3", "{", '"a"'])
def test_a_damaged_line_is_named(path, line):
    write(path, ENTRIES)
    first, second = path.read_text("utf-8").splitlines()
    path.write_text(f"{first}\n{line}\n{second}\n", "utf-8")
    with pytest.raises(
        ValueError, match=r"line 2: it is not a JSON object\. 2 of 3 lines are sound"
    ):
        Log(path)
    assert read_entries(b"\n\n", "log", print) == ([], 2)


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
        assert said(log.entries) == ENTRIES[:1]
        log.append(ENTRIES[1])
    with Log(path) as log:
        assert said(log.entries) == ENTRIES


@pytest.mark.parametrize("text", ["a text", "a text\nof two lines", "a text\n"])
def test_a_file_that_is_no_log_stays_as_it_is(path, text):
    path.write_text(text)
    with pytest.raises(ValueError, match="JSON object"):
        Log(path)
    assert path.read_text() == text


def replace(path):
    path.with_name("new").write_bytes(path.read_bytes())
    os.replace(path.with_name("new"), path)


def cut_all(path):
    path.write_bytes(b"")


def add_a_line(path):
    with path.open("ab") as file:
        file.write(b"{}\n")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (replace, "replaced"),
        (os.remove, "removed"),
        (cut_all, "changed"),
        (add_a_line, "changed"),
    ],
)
def test_nothing_is_acknowledged_once_another_program_has_touched_the_file(path, change, problem):
    with Log(path) as log:
        log.append(ENTRIES[0])
        change(path)
        changed = path.read_bytes() if path.exists() else None
        for _ in range(2):
            with pytest.raises(OSError, match=f"another program has {problem} it"):
                log.append(ENTRIES[1])
        assert said(log.entries) == ENTRIES[:1]
        assert (path.read_bytes() if path.exists() else None) == changed


def test_a_change_while_a_line_is_written_is_not_acknowledged(path, monkeypatch):
    with Log(path) as log:
        fsync = os.fsync

        def fsync_and_replace(file):
            fsync(file)
            replace(path)

        monkeypatch.setattr(os, "fsync", fsync_and_replace)
        with pytest.raises(OSError, match="replaced it"):
            log.append(ENTRIES[0])
        assert log.entries == []


MANY = [{"do": "skip", "sentence": k, "by": "ann"} for k in range(4)]


@pytest.fixture
def lines(path):
    write(path, MANY)
    return path.read_bytes().splitlines(keepends=True)


@pytest.mark.parametrize(
    ("order", "number", "kept"),
    [
        ([0, 1, 1, 2, 3], 3, [0, 1, 2, 3]),
        ([0, 1, 2, 3, 0], 5, [0, 1, 2, 3]),
        ([1, 0, 2, 3], 1, [0, 1, 2, 3]),
        ([0, 3, 2, 1], 2, [0, 1, 2, 3]),
        ([1, 2, 3], 1, [1, 2, 3]),
        ([0, 3], 2, [0, 3]),
    ],
)
def test_lines_that_are_lost_repeated_or_moved_are_found(path, lines, order, number, kept):
    path.write_bytes(b"".join(lines[k] for k in order))
    with pytest.raises(ValueError, match=f"line {number}: it does not follow the line before it"):
        Log(path)
    assert repair_log(path)[1:] == (len(kept), len(order) - len(kept))
    with Log(path) as log:
        assert [entry["sentence"] for entry in log.entries] == kept


def test_any_flipped_bit_is_found_and_costs_at_most_its_line(path, lines):
    data, bit = b"".join(lines), 0
    ends = [place for place, byte in enumerate(data) if byte == ord("\n")] * 8
    for place in [*range(0, len(data), 7), *ends]:
        changed = bytearray(data)
        changed[place] ^= 1 << (bit := (bit + 1) % 8)
        path.write_bytes(changed)
        with pytest.raises(ValueError, match=r"log\.jsonl(, line \d)?: "):
            read_entries(bytes(changed), str(path), print)
        damaged, n_kept, _ = repair_log(path)
        assert n_kept == (4 if place in ends else 3)
        with open(damaged, "rb") as file:
            assert file.read() == changed
        with Log(path) as log:
            kept = [entry["sentence"] for entry in log.entries]
        assert len(kept) == n_kept and kept == sorted(kept)


def test_repairing_keeps_an_undo_with_its_entry_and_drops_it_without(path):
    with Log(path) as log:
        for entry in MANY[:2]:
            log.append(entry)
        for entry in log.entries[:2]:
            log.append({"do": "undo", "entry": entry["id"], "by": "ann"})
    path.write_bytes(path.read_bytes().replace(b'"sentence": 0', b'"sentence": 7'))
    assert repair_log(path)[1:] == (2, 2)
    with Log(path) as log:
        kept, undone = log.entries
        assert kept["sentence"] == 1 and undone["entry"] == kept["id"]
    assert repair_log(path) == (None, 2, 0)
    path.write_bytes(path.read_bytes() + b"{")
    assert repair_log(path) == (f"{path}.damaged-2", 2, 1)
    assert sorted(file.name for file in path.parent.iterdir()) == [
        "log.jsonl",
        "log.jsonl.damaged",
        "log.jsonl.damaged-2",
    ]


@pytest.mark.parametrize(
    "odd",
    [
        {"do": "undo", "entry": [], "by": "ann"},
        {"do": "undo", "entry": {}, "by": "ann"},
        {"do": [], "by": "ann"},
        {"do": "skip", "sentence": -1, "by": "ann"},
        {"do": "label", "name": "ÄÖ", "by": "bob"},
        {**ACCEPTED, "predicted": 3},
        {**ACCEPTED, "predicted": ["O", "O"]},
    ],
)
def test_entries_that_cannot_follow_are_not_kept(path, odd):
    write(path, [*ENTRIES, odd, MANY[1]])
    with pytest.raises(ValueError, match="entry 2 of the log"):
        Annotations(read_entries(path.read_bytes(), "log", print)[0])
    assert repair_log(path)[1:] == (3, 1)
    with Log(path) as log:
        assert said(Annotations(log.entries) and log.entries) == [*ENTRIES, MANY[1]]


def test_two_logs_that_went_on_from_one_are_both_kept(path):
    write(path, ENTRIES)
    begun = path.read_bytes()
    write(path, MANY[1:3])
    one = path.read_bytes()
    path.write_bytes(begun)
    write(path, [ACCEPTED])
    path.write_bytes(one + path.read_bytes()[len(begun) :])
    assert repair_log(path)[1:] == (5, 0)
    with Log(path) as log:
        assert said(log.entries) == [*ENTRIES, *MANY[1:3], ACCEPTED]


def test_a_repair_that_fails_or_follows_a_link_leaves_no_second_file(path, monkeypatch):
    write(path, ENTRIES)
    path.write_bytes(path.read_bytes() + b"{")
    before, fsync = path.read_bytes(), os.fsync

    def fail(file):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space"):
        repair_log(path)
    assert path.read_bytes() == before and os.listdir(path.parent) == ["log.jsonl"]
    monkeypatch.setattr(os, "fsync", fsync)
    link = path.with_name("link")
    link.symlink_to(path)
    assert repair_log(link)[0] == f"{path}.damaged"
    assert link.is_symlink()
    if os.name == "posix":
        assert {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()} == {0o600}


def test_what_editors_change_does_no_harm(path, lines):
    path.write_bytes(b"\xef\xbb\xbf" + b"\n".join(lines).replace(b"\n", b"\r\n"))
    with Log(path) as log:
        assert said(log.entries) == MANY
        log.append(ENTRIES[1])
    with Log(path) as log:
        assert said(log.entries) == [*MANY, ENTRIES[1]]


def test_text_that_is_no_unicode_is_not_written(path):
    with Log(path) as log:
        with pytest.raises(ValueError, match="surrogates"):
            log.append({"do": "skip", "sentence": 0, "by": "\ud800"})
        assert path.read_bytes() == b"" and log.entries == []
