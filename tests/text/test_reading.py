"""Texts as sequences of tokens."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sklearn_crcrf.text import find_tokens, labels_to_spans
from sklearn_crcrf.text.reading import TokenizedTexts

texts = st.lists(st.text("ab .\r\n\u0301🙂猫", max_size=20), max_size=4)


@given(texts, st.sampled_from(["words", "characters"]), st.sampled_from(["lines", "rule"]))
def test_every_token_is_in_one_sequence(texts, tokenizer, sentences):
    read = TokenizedTexts.of(texts, tokenizer, sentences)
    tokens = [t[i:j] for t in texts for i, j in find_tokens(t, tokenizer)]
    assert [token for sequence in read.tokens() for token in sequence] == tokens
    assert all(read.tokens()) and len(read.documents()) == len(read.tokens())
    assert (np.diff(read.bounds) > 0).all()
    of_text = np.bincount(read.documents(), np.diff(read.bounds), minlength=len(texts))
    assert of_text.tolist() == [len(find_tokens(text, tokenizer)) for text in texts]


@given(texts, st.data())
def test_spans_of_tokens_come_back(texts, data):
    read = TokenizedTexts.of(texts, "words", "lines")
    spans = []
    for text in texts:
        offsets = find_tokens(text)
        n = len(offsets)
        cuts = sorted(data.draw(st.sets(st.integers(0, n), max_size=4))) if n else []
        pairs = zip(cuts[::2], cuts[1::2], strict=False)
        spans.append([(offsets[i, 0].item(), offsets[j - 1, 1].item(), "A") for i, j in pairs])
    whole, y = read.labelled(spans, "strict", "IOB2")
    assert {*whole.bounds.tolist()} <= {*read.bounds.tolist()}
    assert [len(tokens) for tokens in whole.tokens()] == y.lengths.tolist()
    labels = y.data.tolist()
    for text, own, first in zip(texts, spans, read.first.tolist(), strict=False):
        offsets = find_tokens(text)
        found = labels_to_spans(text, labels[first : first + len(offsets)], offsets)
        assert [span[:3] for span in found] == own
