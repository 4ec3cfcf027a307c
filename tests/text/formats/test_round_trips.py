"""Documents are the same after they were written and read again, or refused by name."""

import re
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_crcrf.text import Span, read_spans, write_spans
from sklearn_crcrf.text.formats.registry import FORMATS

PIECES = [
    "Ann",
    "Lee",
    ".",
    "#",
    "-DOCSTART-",
    "e\u0301",
    "\u00e9",
    "\U0001f600",
    "\U0001f468\u200d\U0001f469",
]
PIECES += [
    "\U0001f1e9\U0001f1ea",
    "猫",
    "\u0645\u06cc\u200c\u062e\u0648",
    "\u00ad",
    "\u2028",
    "\x0c",
    "a, b",
    '"',
    "|",
    "\\n",
    "1",
]
BLANKS = [" ", "  ", "\t", "\n", "\r\n", "\r", "\u00a0", ""]
LABELS = ["PER", "B-PER", "Full Name", "O", "ORG|X", "É", "#", "PER\tX", "-"]


@st.composite
def documents(draw):
    pieces = st.lists(st.sampled_from(PIECES + BLANKS * 2) | st.text(max_size=3), max_size=12)
    texts = draw(st.lists(pieces.map("".join), min_size=1, max_size=4))
    spans = []
    for text in texts:
        found = []
        for _ in range(draw(st.integers(0, 3)) if text else 0):
            start = draw(st.integers(0, len(text) - 1))
            end = draw(st.integers(start + 1, len(text)))
            found.append(Span(start, end, draw(st.sampled_from(LABELS))))
        spans.append(sorted(found, key=lambda span: span[:2]))
    names = st.lists(st.text("ab-_ü.1", min_size=1), min_size=len(texts), max_size=len(texts))
    groups = draw(st.none() | names)
    return texts, spans, groups


LOST = re.compile("the spaces between|holds no spaces|names no documents|become one|UTF-16")


@pytest.mark.parametrize(
    ("format", "name"),
    [*((format, "f" if format == "brat" else "f.txt") for format in FORMATS), ("csv", "f.tsv")],
)
def test_documents_are_equal_or_refused_by_name(format, name, tmp_path_factory):
    @settings(max_examples=100, deadline=None)
    @given(documents())
    def check(given):
        texts, spans, groups = given
        path = tmp_path_factory.mktemp("d") / name
        try:
            with warnings.catch_warnings(record=True) as lost:
                warnings.simplefilter("always")
                write_spans(path, texts, spans, format, groups=groups)
        except ValueError as error:
            assert re.search(r"document \d+", str(error)), error
            return
        with warnings.catch_warnings(record=True) as more:
            warnings.simplefilter("always")
            found = read_spans(path, format)
            assert read_spans(path) == found
        assert all(LOST.search(str(it.message)) for it in [*lost, *more]), [
            str(it.message) for it in [*lost, *more]
        ]
        if not any(re.search("spaces|become one", str(it.message)) for it in lost):
            wanted, read = [*zip(texts, spans, strict=True)], [*zip(*found[:2], strict=True)]
            if format == "brat" and groups:  # files are read in the order of their names
                wanted, read = sorted(wanted), sorted(read)
            elif groups and not any("names no documents" in str(it.message) for it in lost):
                assert found.groups == groups
            assert read == wanted

    check()


@pytest.mark.parametrize("name", ["f.csv", "f.tsv"])
@pytest.mark.parametrize("odd", ['a"b', "a,b", "a\tb", "a\nb", " a", "a\x1fb"])
def test_labels_and_groups_of_a_table_are_equal_or_refused_by_name(name, odd, tmp_path):
    for label, group in ((odd, "a"), ("PER", odd)):
        try:
            write_spans(tmp_path / name, ["Ann"], [[(0, 3, label)]], "csv", groups=[group])
        except ValueError as error:
            assert "document 0" in str(error)
        else:
            assert read_spans(tmp_path / name) == (["Ann"], [[Span(0, 3, label)]], [group])
