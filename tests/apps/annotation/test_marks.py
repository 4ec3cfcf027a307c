"""Marks as labels, and back."""

import pytest
from cases import for_each
from hypothesis import given
from hypothesis import strategies as st

from sklearn_crcrf.apps.annotation import SegmentMarks, TagMarks, marks_for
from sklearn_crcrf.apps.annotation.marks import best_marks


@given(
    st.lists(st.sampled_from(["PER", "LOC", None]), max_size=12), st.sampled_from(["IOB2", "IOBES"])
)
def test_segments_are_written_and_read(names, scheme):
    marks = SegmentMarks(["PER", "LOC"], scheme)
    segments = [[t, t + 1, name] for t, name in enumerate(names) if name]
    assert marks.read(marks.write(segments, len(names))) == segments


@for_each(
    ("segments", "problem"),
    [
        ([[0, 1, "XXX"]], "'XXX' is not among"),
        ([[0, 3, "PER"]], "leave|segment"),
        ([[0, 2, "PER"], [1, 2, "LOC"]], "overlap|segment"),
        ([[1, 1, "PER"]], "empty|segment"),
        ([[0, True, "PER"]], "start, end and type"),
        ([[0, 10**30, "PER"]], "end <= 2"),
        ([[-(10**30), 1, "PER"]], "0 <= start"),
        ("x", "start, end and type"),
        ([[0, 1]], "start, end and type"),
    ],
)
def test_segments_that_do_not_fit_are_refused(segments, problem):
    with pytest.raises(ValueError, match=problem):
        SegmentMarks(["PER", "LOC"]).write(segments, 2)


@for_each("tags", [["D"], ["D", "X"], "DD", [1, 2]])
def test_tags_that_do_not_fit_are_refused(tags):
    with pytest.raises(ValueError, match=r"must be 2 tags|is not among"):
        TagMarks(["D", "N"]).write(tags, 2)


def test_marks_follow_from_labels():
    marks = marks_for(["O", "B-PER", "E-PER", "S-LOC"])
    assert (marks.kind, marks.names, marks.scheme) == ("segments", ["LOC", "PER"], "IOBES")
    marks = marks_for(["N", "D", "N"])
    marks.add("V")
    assert (marks.kind, marks.names, marks.blank(2)) == ("tags", ["N", "D", "V"], ["N", "N"])


def test_labellings_that_stand_for_the_same_marks_are_joined():
    paths = [(["O", "O"], 0.4), (["B-PER", "O"], 0.3), (["I-PER", "O"], 0.25)]
    best, other = best_marks(SegmentMarks(["PER"]), paths)
    assert (best["marks"], round(best["share"], 9)) == ([[0, 1, "PER"]], 0.55)
    assert other == {"marks": [], "share": 0.4}
