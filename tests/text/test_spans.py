"""Spans of characters, from and to labels of tokens."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_crcrf.text import Span, find_tokens, labels_to_spans, spans_to_labels

TEXT = "x3/21/2008 Dr. John"
WORDS = TEXT.split()
ONE_TO_ONE = ["IOB1", "IOB2", "IOBES", "BIOES", "BILOU", "BMES"]


def test_arguments_are_named():
    for call, message in [
        (lambda: labels_to_spans("a b", ["X-A", "O"], ["a", "b"]), "labels: label 'X-A'"),
        (lambda: spans_to_labels(None, [(0, 1, "A")], [(0, 1)]), "text must be a string"),
        (lambda: find_tokens(b"a"), "text must be a string"),
        (
            lambda: spans_to_labels("a b", [(0, 1, "A"), (2, 3, "A")], ["a", "b"], scheme="IO"),
            "spans: the scheme IO cannot spell 'A' from character 0 to 1 and from 2 to 3",
        ),
    ]:
        with pytest.raises(ValueError, match=message):
            call()


def test_tokens_may_be_strings_of_numpy():
    assert spans_to_labels("a b", [(0, 1, "A")], np.array(["a", "b"])) == ["B-A", "O"]


@pytest.mark.parametrize("place", [(1, 12), (1, 10), (0, 5), (4, 6)])
def test_a_span_within_a_token_takes_this_token(place):
    labels = spans_to_labels(TEXT, [(*place, "DATE")], WORDS)
    assert labels[0] == "B-DATE" and labels[2] == "O"
    assert labels[1] == ("I-DATE" if place[1] > 11 else "O")


def test_contract_takes_whole_tokens_only():
    spans = [(1, 14, "DATE"), (12, 19, "PER")]
    assert spans_to_labels(TEXT, spans, WORDS, "contract") == ["O", "B-DATE", "B-PER"]
    assert spans_to_labels(TEXT, [(1, 10, "DATE")], WORDS, "contract") == ["O", "O", "O"]


def test_spaces_at_the_ends_do_not_count():
    for alignment in ("expand", "contract"):
        assert spans_to_labels(TEXT, [(10, 15, "T")], WORDS, alignment) == ["O", "B-T", "O"]
    with pytest.raises(
        ValueError, match=r"spans: 'T' from character 10 to 15, ' Dr. ' begins at a space"
    ):
        spans_to_labels(TEXT, [(10, 15, "T")], WORDS, "strict")
    with pytest.raises(ValueError, match=r"ends at a space; .*, 'Dr.',"):
        spans_to_labels(TEXT, [(11, 15, "T")], WORDS, "strict")
    with pytest.raises(ValueError, match="'T' from character 10 to 11, ' ' has no token"):
        spans_to_labels(TEXT, [(10, 11, "T")], WORDS)
    assert spans_to_labels(TEXT, [(10, 11, "T")], WORDS, "contract") == ["O", "O", "O"]


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ((1, 10), "begins within a token; .* 'x3/21/2008',"),
        ((0, 12), "ends within a token; .* 'x3/21/2008 Dr.',"),
    ],
)
def test_strict_names_the_characters(place, message):
    with pytest.raises(
        ValueError, match=f"'DATE' from character {place[0]} to {place[1]}.*{message}"
    ):
        spans_to_labels(TEXT, [(*place, "DATE")], WORDS, "strict")


def test_nested_spans():
    spans = [(11, 19, "PER"), (11, 14, "TITLE")]
    assert spans_to_labels(TEXT, spans, WORDS) == ["O", "B-PER", "I-PER"]
    assert spans_to_labels(TEXT, spans, WORDS, "contract") == ["O", "B-TITLE", "O"]
    with pytest.raises(ValueError, match=r"'TITLE' from .* 'Dr.' and 'PER' from .* overlap"):
        spans_to_labels(TEXT, spans, WORDS, "strict")


def test_crossing_spans():
    spans = [(0, 14, "A"), (11, 19, "B")]
    assert spans_to_labels(TEXT, spans, WORDS) == ["B-A", "I-A", "O"]
    assert spans_to_labels(TEXT, spans, WORDS, "contract") == ["O", "B-B", "I-B"]
    # A span between others that overlap only with it, and an equal one.
    spans = [(0, 14, "A"), (11, 19, "B"), (15, 19, "C"), (0, 14, "D")]
    assert spans_to_labels(TEXT, spans, WORDS) == ["B-A", "I-A", "B-C"]


def test_spans_that_share_only_a_token():
    text, spans = "Paris-Dakar 2008", [(0, 5, "START"), (6, 11, "FINISH")]
    assert spans_to_labels(text, spans, text.split()) == ["B-START", "O"]
    assert spans_to_labels(text, spans, text.split(), "contract") == ["O", "O"]
    assert spans_to_labels(text, spans, ["Paris", "-", "Dakar", "2008"], "strict") == [
        "B-START",
        "O",
        "B-FINISH",
        "O",
    ]


@pytest.mark.parametrize(
    ("spans", "message"),
    [
        ([(0, 20, "A")], "leaves the text of 19 characters"),
        ([(-1, 2, "A")], "leaves the text"),
        ([(3, 3, "A")], "is empty"),
        ([(0, 1, None)], "the label of a span must be a string, got None"),
        ([(0, 1.0, "A")], "must be integers"),
        ([(0, 1)], r"must be \(start, end, label\)"),
        ([3], "must be"),
        (["abc"], "must be"),
        ('[[0, 1, "A"]]', "must be a list of .*; json.loads reads a list"),
        ([{"start": 0, "end": 1, "label": "A"}], r"must be \(start, end, label\), got {"),
    ],
)
def test_spans_that_are_none(spans, message):
    with pytest.raises(ValueError, match=f"spans.*{message}"):
        spans_to_labels(TEXT, spans, WORDS)


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (["Dr.", "x3"], "token 1, 'x3', is not in the text from 14 on"),
        (["Dr.", None], "token 1, None"),
        ([(0, 2), (1, 3)], "token 1, from character 1 to 3, is empty, overlaps"),
        ([(0, 20)], "leaves the text of 19"),
        ([(2, 2)], "is empty"),
        ([0, 2], "must be strings, or pairs"),
    ],
)
def test_tokens_that_are_none(tokens, message):
    with pytest.raises(ValueError, match=f"tokens.*{message}"):
        spans_to_labels(TEXT, [], tokens)
    with pytest.raises(ValueError, match=f"tokens.*{message}"):
        labels_to_spans(TEXT, ["O"] * len(tokens), tokens)


def test_other_bad_input():
    with pytest.raises(ValueError, match="alignment must be one of expand, contract, strict"):
        spans_to_labels(TEXT, [], WORDS, "outside")
    with pytest.raises(ValueError, match="scheme"):
        spans_to_labels(TEXT, [], WORDS, scheme="BOI")
    with pytest.raises(ValueError, match="there are 1 labels, but 3 tokens"):
        labels_to_spans(TEXT, ["O"], WORDS)
    with pytest.raises(ValueError, match="does not fit the scheme"):
        labels_to_spans(TEXT, ["O", "X-A", "O"], WORDS)


def test_no_tokens():
    assert spans_to_labels(" ", [], []) == []
    assert labels_to_spans(" ", [], []) == []
    assert spans_to_labels("a", [(0, 1, "A")], [], "contract") == []


def test_broken_labels_are_forgiven():
    spans = labels_to_spans(TEXT, ["I-DATE", "O", "I-PER"], WORDS)
    assert spans == [Span(0, 10, "DATE"), Span(15, 19, "PER")]


@st.composite
def spans_of_tokens(draw):
    """A text, its tokens, and spans that begin and end with tokens and do not overlap."""
    words = draw(st.lists(st.text("ab\u0301🙂", min_size=1, max_size=3), max_size=8))
    text, tokens = "", []
    for word in words:
        text += draw(st.sampled_from(["", " ", "\r\n", "\t "]))
        tokens.append((len(text), len(text) + len(word)))
        text += word
    text += draw(st.sampled_from(["", "\n"]))
    cuts = draw(st.lists(st.integers(0, len(words)), unique=True).map(sorted))
    pairs = pairwise(cuts)
    places = [pair for pair in pairs if draw(st.booleans())]
    labels = st.sampled_from(["PER", "LOC-2", ""])
    return text, tokens, [Span(tokens[i][0], tokens[j - 1][1], draw(labels)) for i, j in places]


@given(spans_of_tokens(), st.sampled_from(ONE_TO_ONE))
def test_round_trip(case, scheme):
    text, tokens, spans = case
    for alignment in ("strict", "expand", "contract"):
        labels = spans_to_labels(text, spans[::-1], tokens, alignment, scheme)
        assert labels_to_spans(text, labels, tokens, scheme) == spans


@given(spans_of_tokens(), st.data())
def test_any_spans_are_aligned_or_refused(case, data):
    text, tokens, _ = case
    place = st.tuples(st.integers(0, len(text)), st.integers(0, len(text))).filter(
        lambda pair: pair[0] < pair[1]
    )
    spans = data.draw(st.lists(st.tuples(place, st.sampled_from("AB")), max_size=4 if text else 0))
    spans = [(*pair, label) for pair, label in spans]
    found = labels_to_spans(text, spans_to_labels(text, spans, tokens, "contract"), tokens)
    # Neighbours of the same label stay apart, and nothing outside of the given spans has a label.
    for span in found:
        assert any(s <= span.start and span.end <= e and span.label == k for s, e, k in spans)
    touched = [s for s in spans if any(a < s[1] and s[0] < b for a, b in tokens)]
    found = labels_to_spans(text, spans_to_labels(text, touched, tokens, "expand"), tokens)
    for s, e, _ in touched:
        assert any(span.start < e and s < span.end for span in found)
    try:
        labels = spans_to_labels(text, spans, tokens, "strict")
    except ValueError as error:
        assert "from character" in str(error)
    else:
        assert labels_to_spans(text, labels, tokens) == sorted(Span(*span) for span in spans)
