import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_crcrf import SequenceArray
from sklearn_crcrf.segments import (
    Segments,
    convert_scheme,
    segments_to_labels,
    spell_segments,
    to_segments,
)

SCHEMES = {"IOB1": "BI", "IOB2": "BI", "IOBES": "BIES"}
schemes = st.sampled_from(sorted(SCHEMES))
readings = st.sampled_from(["conlleval", "strict"])


def as_tuples(segments):
    return list(zip(*(a.tolist() for a in segments), strict=True))


def label_lists(prefixes, min_size=0):
    """Sequences of labels that mostly break every scheme."""
    labels = st.sampled_from(["O", *(f"{p}-{t}" for p in prefixes for t in ("X", "Y-Z"))])
    return st.lists(st.lists(labels, max_size=12), min_size=min_size, max_size=5)


@st.composite
def labels_of_a_scheme(draw):
    scheme = draw(schemes)
    return scheme, draw(label_lists(SCHEMES[scheme]))


@st.composite
def segmentations(draw):
    """Any segmentation: sequences cut into pieces of some type or of none."""
    piece = st.tuples(st.integers(1, 4), st.sampled_from([None, "X", "Y", ""]))
    sequences = draw(st.lists(st.lists(piece, max_size=6), max_size=5))
    rows, lengths = [], []
    for i, pieces in enumerate(sequences):
        t = 0
        for length, kind in pieces:
            if kind is not None:
                rows.append((i, t, t + length, kind))
            t += length
        lengths.append(t)
    return rows, lengths


def forgiven(labels):
    """The forgiving reading of one sequence, one label after another."""
    found, start, previous = [], None, ("O", "")
    for t, label in enumerate([*labels, "O"]):
        tag, _, kind = label.partition("-")
        ended = start is not None and (
            tag in ("O", "B", "S") or previous[0] in ("E", "S") or previous[1] != kind
        )
        if ended:
            found.append((start, t, previous[1]))
            start = None
        if start is None and tag != "O":
            start = t
        previous = (tag, kind)
    return found


def well_formed(labels, scheme):
    """All spans whose labels are what the scheme prescribes, by trying every span."""
    found = []
    for start in range(len(labels)):
        kind = labels[start].partition("-")[2]
        before = labels[start - 1].partition("-") if start else ("O", "", "")
        same_before = before[0] != "O" and before[2] == kind
        for end in range(start + 1, len(labels) + 1):
            if labels[start] == "O":
                continue
            length = end - start
            inside = [f"I-{kind}"] * length
            if scheme == "IOB1":
                expected = [f"{'B' if same_before else 'I'}-{kind}", *inside[1:]]
            elif scheme == "IOB2":
                expected = [f"B-{kind}", *inside[1:]]
            elif length == 1:
                expected = [f"S-{kind}"]
            else:
                expected = [f"B-{kind}", *inside[2:], f"E-{kind}"]
            goes_on = scheme != "IOBES" and end < len(labels) and labels[end] == f"I-{kind}"
            if labels[start:end] == expected and not goes_on:
                found.append((start, end, kind))
    return found


@given(labels_of_a_scheme())
def test_forgiving_reading_follows_the_rules_label_by_label(case):
    scheme, y = case
    expected = [(i, *s) for i, labels in enumerate(y) for s in forgiven(labels)]
    assert as_tuples(to_segments(y, scheme)) == expected


@given(labels_of_a_scheme())
def test_strict_reading_finds_the_well_formed_spans(case):
    scheme, y = case
    expected = [(i, *s) for i, labels in enumerate(y) for s in well_formed(labels, scheme)]
    assert as_tuples(to_segments(y, scheme, reading="strict")) == expected


@given(labels_of_a_scheme())
def test_strict_segments_are_among_the_forgiving_ones(case):
    scheme, y = case
    strict = as_tuples(to_segments(y, scheme, "strict"))
    assert set(strict) <= set(as_tuples(to_segments(y, scheme, "conlleval")))


@given(segmentations(), schemes, readings)
def test_segments_survive_being_written_as_labels(case, scheme, reading):
    rows, lengths = case
    columns = list(zip(*rows, strict=True)) if rows else [[], [], [], []]
    labels = segments_to_labels(Segments(*columns), lengths, scheme)
    assert labels.lengths.tolist() == lengths
    assert as_tuples(to_segments(labels, scheme, reading)) == rows


@given(segmentations(), schemes, schemes)
def test_conversion_and_back_is_the_identity(case, source, target):
    rows, lengths = case
    columns = list(zip(*rows, strict=True)) if rows else [[], [], [], []]
    y = segments_to_labels(Segments(*columns), lengths, source)
    assert convert_scheme(convert_scheme(y, source, target), target, source) == y


@st.composite
def paths(draw):
    """Label ids of a few sequences, classes of which some may be missing, and the scheme."""
    scheme = draw(schemes)
    every = ["O", *(f"{p}-{t}" for p in SCHEMES[scheme] for t in ("X", "Y-Z"))]
    classes = draw(st.lists(st.sampled_from(every), min_size=1, unique=True))
    y = draw(st.lists(st.lists(st.sampled_from(classes), max_size=8), max_size=4))
    labels = SequenceArray.from_sequences(y)
    ids = np.array([classes.index(label) for label in labels.data], dtype=np.int32)
    return y, ids, labels.offsets, classes, scheme


@given(paths())
def test_spelled_segments_are_those_of_the_forgiving_reading(case):
    y, ids, offsets, classes, scheme = case
    spelled = spell_segments(ids, offsets, classes, scheme)
    assert as_tuples(spelled.segments) == as_tuples(to_segments(y, scheme))
    written = [[classes[i] for i in labels] for labels in spelled.labels]
    sequence, start, end, _ = spelled.segments
    assert written == [y[s][a:b] for s, a, b in zip(sequence, start, end, strict=True)]


@given(paths())
def test_neighbours_tell_whether_the_labels_are_a_segment_of_their_own(case):
    _, ids, offsets, classes, scheme = case
    spelled = spell_segments(ids, offsets, classes, scheme)
    assert spelled.before.shape == spelled.after.shape == (len(spelled.labels), len(classes))
    for k, labels in enumerate(spelled.labels):
        span = [classes[i] for i in labels]
        kind = spelled.segments.type[k]
        assert forgiven(span) == [(0, len(span), kind)]
        for j, label in enumerate(classes):
            is_apart = (0, len(span), kind) in forgiven([*span, label])
            assert spelled.after[k, j] == is_apart
            assert is_apart or forgiven([*span, label]) == [(0, len(span) + 1, kind)]
            is_apart = (1, len(span) + 1, kind) in forgiven([label, *span])
            assert spelled.before[k, j] == is_apart
            assert is_apart or forgiven([label, *span]) == [(0, len(span) + 1, kind)]


@pytest.mark.parametrize(
    ("scheme", "labels", "before", "after"),
    [
        ("IOB1", "I-X", "O", "B-X O"),
        ("IOB1", "B-X", "B-X I-X O", "B-X O"),
        ("IOB2", "B-X I-X", "B-X I-X O", "B-X O"),
        ("IOB2", "I-X", "O", "B-X O"),
        ("IOBES", "B-X E-X", "B-X I-X E-X S-X O", "B-X I-X E-X S-X O"),
        ("IOBES", "B-X I-X", "B-X I-X E-X S-X O", "B-X S-X O"),
        ("IOBES", "E-X", "E-X S-X O", "B-X I-X E-X S-X O"),
        ("IOBES", "S-X", "B-X I-X E-X S-X O", "B-X I-X E-X S-X O"),
    ],
)
def test_neighbours_by_hand(scheme, labels, before, after):
    classes = np.array([*(f"{p}-X" for p in SCHEMES[scheme]), "O"])
    ids = np.array([classes.tolist().index(label) for label in labels.split()])
    spelled = spell_segments(ids, np.array([0, len(ids)]), classes, scheme)
    assert set(classes[spelled.before[0]]) == set(before.split())
    assert set(classes[spelled.after[0]]) == set(after.split())


@pytest.mark.parametrize("make", [list, np.array])
def test_classes_of_spelled_segments_must_fit_the_scheme(make):
    with pytest.raises(ValueError, match=r"^classes: label 'E-X' does not fit the scheme IOB2"):
        spell_segments(np.array([0]), np.array([0, 1]), make(["O", "E-X"]))


@pytest.mark.parametrize(
    ("scheme", "labels", "forgiving", "strict"),
    [
        ("IOB1", "I-X I-X B-X O", [(0, 2, "X"), (2, 3, "X")], [(0, 2, "X"), (2, 3, "X")]),
        ("IOB1", "O B-X I-X B-X", [(1, 3, "X"), (3, 4, "X")], [(3, 4, "X")]),
        ("IOB1", "I-X B-Y", [(0, 1, "X"), (1, 2, "Y")], [(0, 1, "X")]),
        ("IOB2", "I-X I-X B-X O", [(0, 2, "X"), (2, 3, "X")], [(2, 3, "X")]),
        ("IOB2", "B-X I-X I-Y", [(0, 2, "X"), (2, 3, "Y")], [(0, 2, "X")]),
        ("IOBES", "B-X E-X S-X", [(0, 2, "X"), (2, 3, "X")], [(0, 2, "X"), (2, 3, "X")]),
        ("IOBES", "B-X I-X O E-X", [(0, 2, "X"), (3, 4, "X")], []),
        ("IOBES", "B-X E-X I-X E-X", [(0, 2, "X"), (2, 4, "X")], [(0, 2, "X")]),
        ("IOBES", "B-X E-Y", [(0, 1, "X"), (1, 2, "Y")], []),
        ("IOB2", "B I O I", [(0, 2, ""), (3, 4, "")], [(0, 2, "")]),
    ],
)
def test_examples_by_hand(scheme, labels, forgiving, strict):
    y = [labels.split()]
    assert as_tuples(to_segments(y, scheme)) == [(0, *s) for s in forgiving]
    assert as_tuples(to_segments(y, scheme, "strict")) == [(0, *s) for s in strict]


def test_a_segment_does_not_cross_sequences():
    y = [["B-X"], [], ["I-X", "I-X"]]
    assert as_tuples(to_segments(y)) == [(0, 0, 1, "X"), (2, 0, 2, "X")]
    assert as_tuples(to_segments(y, reading="strict")) == [(0, 0, 1, "X")]
    # In IOB1, only the end of the sequence before hides the segment that B would be parted from.
    assert as_tuples(to_segments([["I-X"], ["B-X"]], "IOB1", "strict")) == [(0, 0, 1, "X")]


def test_layouts_agree():
    nested = [["B-X", "I-X"], ["O", "B-Y"]]
    expected = as_tuples(to_segments(nested))
    array = SequenceArray(np.array(["B-X", "I-X", "O", "B-Y"]), [0, 2, 4])
    objects = np.empty(2, dtype=object)
    objects[:] = nested
    assert as_tuples(to_segments(array)) == expected
    assert as_tuples(to_segments(objects)) == expected
    assert as_tuples(to_segments(np.array(nested))) == expected
    for flat in (["B-X", "I-X", "O", "B-Y"], array.data):
        assert as_tuples(to_segments(flat)) == [(0, 0, 2, "X"), (0, 3, 4, "Y")]


def test_conversion_keeps_the_layout():
    nested = [["B-X", "I-X"], ["B-Y"]]
    wanted = [["B-X", "E-X"], ["S-Y"]]
    array = SequenceArray.from_sequences(nested)
    assert convert_scheme(nested, "IOB2", "IOBES") == wanted
    assert convert_scheme(array, "IOB2", "IOBES") == SequenceArray.from_sequences(wanted)
    assert convert_scheme(array.data, "IOB2", "IOBES").tolist() == ["B-X", "E-X", "S-Y"]
    assert array.tolist() == nested


def test_conversion_mends_broken_labels():
    y = [["I-X", "I-X", "I-Y"]]
    assert convert_scheme(y, "IOB2", "IOB2") == [["B-X", "I-X", "B-Y"]]
    assert convert_scheme(y, "IOB2", "IOB2", reading="strict") == [["O", "O", "O"]]


@pytest.mark.parametrize("y", [[], [[]], [[], []], np.empty(0, dtype=object), [["O", "O"]]])
@pytest.mark.parametrize("reading", ["conlleval", "strict"])
def test_no_segments(y, reading):
    for scheme in SCHEMES:
        assert as_tuples(to_segments(y, scheme, reading)) == []


@pytest.mark.parametrize(
    ("label", "scheme"),
    [
        ("X-PER", "IOB2"),
        ("PER", "IOB2"),
        ("E-PER", "IOB2"),
        ("S-PER", "IOB1"),
        ("O-PER", "IOBES"),
        ("BI-PER", "IOBES"),
        ("-PER", "IOB2"),
        ("", "IOB2"),
        ("b-PER", "IOB2"),
        (None, "IOB2"),
        (3, "IOB2"),
        (float("nan"), "IOB2"),
    ],
)
def test_label_that_does_not_fit_is_named_with_its_place(label, scheme):
    with pytest.raises(ValueError, match=r"^y: label .* at position 1 of sequence 2 .*" + scheme):
        to_segments([["O"], [], ["O", label]], scheme)


def test_unknown_options():
    with pytest.raises(ValueError, match="scheme must be one of IOB1, IOB2, IOBES, got 'BIO'"):
        to_segments([["O"]], "BIO")
    with pytest.raises(ValueError, match="reading must be one of conlleval, strict"):
        to_segments([["O"]], reading="lenient")
    with pytest.raises(ValueError, match="scheme"):
        segments_to_labels(Segments([], [], [], []), [1], "BIO")


@pytest.mark.parametrize(
    "rows",
    [
        [(0, 1, 1, "X")],
        [(0, 0, 4, "X")],
        [(0, -1, 1, "X")],
        [(0, 0, 2, "X"), (0, 1, 3, "Y")],
        [(0, 1, 3, "Y"), (0, 0, 2, "X")],
        [(0, 0, 1, "X"), (0, 0, 1, "X")],
    ],
)
def test_segments_out_of_place(rows):
    with pytest.raises(ValueError, match="of sequence 0 is empty, leaves"):
        segments_to_labels(Segments(*zip(*rows, strict=True)), [3, 5])


def test_segment_of_a_sequence_that_is_not_there():
    with pytest.raises(ValueError, match="no sequence 2 of 2"):
        segments_to_labels(Segments([2], [0], [1], ["X"]), [3, 5])


def test_read_only_input_is_left_alone():
    data = np.array(["B-X", "I-X"], dtype=object)
    data.flags.writeable = False
    y = SequenceArray(data, [0, 2])
    assert as_tuples(to_segments(y)) == [(0, 0, 2, "X")]
    assert convert_scheme(y, "IOB2", "IOB1").tolist() == [["I-X", "I-X"]]


@pytest.mark.parametrize("lengths", [None, 5, [-1], [0.5], ["a"], [[1]]])
def test_lengths_must_be_integers(lengths):
    with pytest.raises(ValueError, match="lengths must be the lengths of sequences"):
        segments_to_labels(Segments([], [], [], []), lengths)
