import itertools

import numpy as np
import pytest
from cases import for_each
from hypothesis import given
from hypothesis import strategies as st
from label_schemes import LETTERS, in_iobes_letters, labels_of

from sklearn_crcrf import SequenceArray
from sklearn_crcrf.labels import (
    Segments,
    convert_scheme,
    segments_to_labels,
    spell_segments,
    to_segments,
)
from sklearn_crcrf.labels.segments.schemes import detect_scheme

schemes = st.sampled_from(sorted(LETTERS))
readings = st.sampled_from(["conlleval", "strict"])


def as_tuples(segments):
    return list(zip(*(a.tolist() for a in segments), strict=True))


def label_lists(scheme):
    """Sequences of labels that mostly break the scheme."""
    return st.lists(st.lists(st.sampled_from(labels_of(scheme)), max_size=12), max_size=5)


@st.composite
def labels_of_a_scheme(draw):
    scheme = draw(schemes)
    return scheme, draw(label_lists(scheme))


@st.composite
def segmentations(draw, kinds=("X", "Y", "")):
    """Any segmentation: sequences cut into pieces of some type or of none."""
    piece = st.tuples(st.integers(1, 4), st.sampled_from([None, *kinds]))
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


def forgiven(labels, scheme="IOBES"):
    """The forgiving reading of one sequence, one label after another."""
    labels = [in_iobes_letters(label, scheme) for label in labels]
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
    labels = [in_iobes_letters(label, scheme) for label in labels]
    has_ends = LETTERS[scheme][2:] != ""
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
            if scheme in ("IOB1", "IO"):
                expected = [f"{'B' if same_before else 'I'}-{kind}", *inside[1:]]
            elif scheme == "IOB2":
                expected = [f"B-{kind}", *inside[1:]]
            elif length == 1:
                expected = [f"S-{kind}"]
            else:
                expected = [f"B-{kind}", *inside[2:], f"E-{kind}"]
            goes_on = not has_ends and end < len(labels) and labels[end] == f"I-{kind}"
            if labels[start:end] == expected and not goes_on:
                found.append((start, end, kind))
    return found


@given(labels_of_a_scheme())
def test_forgiving_reading_follows_the_rules_label_by_label(case):
    scheme, y = case
    expected = [(i, *s) for i, labels in enumerate(y) for s in forgiven(labels, scheme)]
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


spelling_all = st.sampled_from([scheme for scheme in LETTERS if scheme != "IO"])


@given(segmentations(), spelling_all, readings)
def test_segments_survive_being_written_as_labels(case, scheme, reading):
    rows, lengths = case
    columns = list(zip(*rows, strict=True)) if rows else [[], [], [], []]
    labels = segments_to_labels(Segments(*columns), lengths, scheme)
    assert labels.lengths.tolist() == lengths
    assert as_tuples(to_segments(labels, scheme, reading)) == rows


@given(segmentations(), spelling_all, spelling_all)
def test_conversion_and_back_is_the_identity(case, source, target):
    rows, lengths = case
    columns = list(zip(*rows, strict=True)) if rows else [[], [], [], []]
    y = segments_to_labels(Segments(*columns), lengths, source)
    assert convert_scheme(convert_scheme(y, source, target), target, source) == y


@given(segmentations(["X", "Y-Z"]), readings)
def test_bare_types_spell_segments_unless_neighbours_have_one_type(case, reading):
    rows, lengths = case
    segments = Segments(*(zip(*rows, strict=True) if rows else [[], [], [], []]))
    merge = [a for a, b in itertools.pairwise(rows) if a[0::2] == (b[0], b[1]) and a[3] == b[3]]
    if merge:
        with pytest.raises(ValueError, match=r"IO cannot spell two neighbouring segments of type"):
            segments_to_labels(segments, lengths, "IO")
        return
    labels = segments_to_labels(segments, lengths, "IO")
    assert set(labels.data) <= {"O", "X", "Y-Z"}
    assert as_tuples(to_segments(labels, "IO", reading)) == rows


@pytest.mark.parametrize("kind", ["", "O"])
def test_bare_types_cannot_be_empty_or_outside(kind):
    with pytest.raises(ValueError, match=f"IO cannot spell the type '{kind}', at position 1 of"):
        segments_to_labels(Segments([1], [1], [2], [kind]), [1, 3], "IO")


@for_each(
    ("labels", "scheme"),
    [
        ("B-PER I-PER O", "IOB2"),
        ("S-X O", "IOBES"),
        ("B-X L-X O", "BILOU"),
        ("B M E S", "BMES"),
        ("B-X U-X", "BILOU"),
        ("U L", None),
        ("M-X E-X O", None),
        ("B-X M-X L-X", None),
        ("street city O", None),
        ("O", None),
        ("", None),
    ],
)
def test_schemes_that_labels_show(labels, scheme):
    assert detect_scheme(labels.split()) == scheme
    assert detect_scheme([*labels.split(), 3]) is None


@st.composite
def paths(draw):
    """Label ids of a few sequences, classes of which some may be missing, and the scheme."""
    scheme = draw(schemes)
    classes = draw(st.lists(st.sampled_from(labels_of(scheme)), min_size=1, unique=True))
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
    letters = [in_iobes_letters(label, scheme) for label in classes]
    spelled = spell_segments(ids, offsets, classes, scheme)
    assert spelled.before.shape == spelled.after.shape == (len(spelled.labels), len(classes))
    for k, labels in enumerate(spelled.labels):
        span = [letters[i] for i in labels]
        kind = spelled.segments.type[k]
        assert forgiven(span) == [(0, len(span), kind)]
        for j, label in enumerate(letters):
            is_apart = (0, len(span), kind) in forgiven([*span, label])
            assert spelled.after[k, j] == is_apart
            assert is_apart or forgiven([*span, label]) == [(0, len(span) + 1, kind)]
            is_apart = (1, len(span) + 1, kind) in forgiven([label, *span])
            assert spelled.before[k, j] == is_apart
            assert is_apart or forgiven([label, *span]) == [(0, len(span) + 1, kind)]


@for_each(
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
        ("BILOU", "L-X", "L-X U-X O", "B-X I-X L-X U-X O"),
        ("IO", "X", "O", "O"),
    ],
)
def test_neighbours_by_hand(scheme, labels, before, after):
    classes = np.array(labels_of(scheme, ["X"]))
    ids = np.array([classes.tolist().index(label) for label in labels.split()])
    spelled = spell_segments(ids, np.array([0, len(ids)]), classes, scheme)
    assert set(classes[spelled.before[0]]) == set(before.split())
    assert set(classes[spelled.after[0]]) == set(after.split())


@pytest.mark.parametrize("make", [list, np.array])
def test_classes_of_spelled_segments_must_fit_the_scheme(make):
    with pytest.raises(ValueError, match=r"^classes: label 'E-X' does not fit the scheme IOB2$"):
        spell_segments(np.array([0]), np.array([0, 1]), make(["O", "E-X"]))


@for_each(
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
        ("BMES", "B M E S B E", [(0, 3, ""), (3, 4, ""), (4, 6, "")], None),
        (
            "BILOU",
            "B-X L-X U-X L-Y",
            [(0, 2, "X"), (2, 3, "X"), (3, 4, "Y")],
            [(0, 2, "X"), (2, 3, "X")],
        ),
        ("IO", "X X O X Y-Z Y-Z", [(0, 2, "X"), (3, 4, "X"), (4, 6, "Y-Z")], None),
    ],
)
def test_examples_by_hand(scheme, labels, forgiving, strict):
    y = [labels.split()]
    assert as_tuples(to_segments(y, scheme)) == [(0, *s) for s in forgiving]
    wanted = forgiving if strict is None else strict
    assert as_tuples(to_segments(y, scheme, "strict")) == [(0, *s) for s in wanted]


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


@for_each("y", [[], [[]], [[], []], np.empty(0, dtype=object), [["O", "O"]]])
@for_each("reading", ["conlleval", "strict"])
def test_no_segments(y, reading):
    for scheme in LETTERS:
        assert as_tuples(to_segments(y, scheme, reading)) == []


@for_each(
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
        ("E-PER", "BILOU"),
        ("I-PER", "BMES"),
        ("", "IO"),
        (3, "IO"),
        (None, "IOB2"),
        (3, "IOB2"),
        (float("nan"), "IOB2"),
    ],
)
def test_label_that_does_not_fit_is_named_with_its_place(label, scheme):
    with pytest.raises(ValueError, match=r"^y: label .* at position 1 of sequence 2 .*" + scheme):
        to_segments([["O"], [], ["O", label]], scheme)


def test_unknown_options():
    with pytest.raises(ValueError, match=r"scheme must be one of IOB1, IOB2, .*got 'BIO'"):
        to_segments([["O"]], "BIO")
    with pytest.raises(ValueError, match="scheme must be one of IOB1, IOB2"):
        to_segments(np.array([["O"]]), np.array([["O"], ["O"]]))
    with pytest.raises(ValueError, match="reading must be one of conlleval, strict"):
        to_segments([["O"]], reading="lenient")
    with pytest.raises(ValueError, match="scheme"):
        segments_to_labels(Segments([], [], [], []), [1], "BIO")


@for_each(
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


@for_each("lengths", [None, 5, [-1], [0.5], ["a"], [[1]]])
def test_lengths_must_be_integers(lengths):
    with pytest.raises(ValueError, match="lengths must be the lengths of sequences"):
        segments_to_labels(Segments([], [], [], []), lengths)


@for_each(
    "name, meant",
    [
        ("BIO", "IOB2"),
        ("IOB", "IOB2"),
        ("BIO2", "IOB2"),
        ("iob2", "IOB2"),
        ("BIO1", "IOB1"),
        ("BIOSE", "IOBES"),
        ("BIOUL", "BILOU"),
        ("BMESO", "BMES"),
        ("BMEWO", "BMES"),
    ],
)
def test_other_names_of_schemes_are_told(name, meant):
    with pytest.raises(ValueError, match=f"got '{name}'; '{name}' is '{meant}'"):
        to_segments(["O"], name)


def test_a_label_with_a_dash_needs_a_type():
    for scheme, label in (("IOB2", "B-"), ("IOBES", "S-"), ("BILOU", "U-")):
        message = f"'{label}' at position 1 of sequence 0 .* no type after the '-'"
        with pytest.raises(ValueError, match=message):
            to_segments([["O", label]], scheme)
    assert to_segments([["B", "O"]]).type.tolist() == [""]
