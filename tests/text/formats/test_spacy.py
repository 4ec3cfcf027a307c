"""The binary files of spaCy."""

import pytest

from sklearn_crcrf.text import Span, read_spans, write_spans

pytest.importorskip("spacy")


def test_a_doc_bin_is_read_and_written(tmp_path):
    texts = ["Ann Lee sings  in Rome.\r\n\tBob \U0001f600 x", "", "\xe9"]
    spans = [[Span(0, 7, "PER"), Span(18, 22, "LOC")], [], []]
    write_spans(tmp_path / "a.spacy", texts, spans)
    assert read_spans(tmp_path / "a.spacy")[:2] == (texts, spans)


@pytest.mark.parametrize(
    ("span", "message"),
    [
        ((0, 2, "P"), "document 0, characters 0 to 2: .*tokens of spaCy"),
        ((0, 7, "Q"), "document 0: spans overlap"),
    ],
)
def test_what_spacy_cannot_hold(span, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        write_spans(tmp_path / "a.spacy", ["Ann Lee"], [[(0, 3, "P"), span]])
