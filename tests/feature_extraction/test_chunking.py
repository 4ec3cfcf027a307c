"""The template of the chunking task, on its corpus."""

import os

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from sklearn_crcrf.datasets import fetch_conll2000
from sklearn_crcrf.feature_extraction import SequenceVectorizer, TemplateFeatures, Window

WORDS = [f"word[{i}]" for i in range(-2, 3)] + ["word[-1]|word[0]", "word[0]|word[1]"]
TAGS = [f"pos[{i}]" for i in range(-2, 3)]
TAGS += [f"pos[{i}]|pos[{i + 1}]" for i in range(-2, 2)]
TAGS += [f"pos[{i}]|pos[{i + 1}]|pos[{i + 2}]" for i in range(-2, 1)]

# The same in the language of CRF++: each line has the offsets and the column of its symbols.
MACROS = [([i], 0) for i in range(-2, 3)] + [([-1, 0], 0), ([0, 1], 0)]
MACROS += [([i], 1) for i in range(-2, 3)]
MACROS += [([i, i + 1], 1) for i in range(-2, 2)] + [([i, i + 1, i + 2], 1) for i in range(-2, 1)]
LINES = ["/".join(f"%x[{i},{column}]" for i in offsets) for offsets, column in MACROS]
TEMPLATE = "\n".join(["# Unigram", *(f"U{n:02}:{x}" for n, x in enumerate(LINES)), "", "B"])

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(
        not os.environ.get("SKLEARN_CRCRF_DATA"), reason="SKLEARN_CRCRF_DATA is not set"
    ),
]


@pytest.fixture(scope="module")
def train():
    return fetch_conll2000("train", return_X_y=True)[0]


def test_attributes_of_crfpp(train):
    X = train[:1000]
    vectorizer = SequenceVectorizer(separator=":")
    rows = vectorizer.fit_transform(TemplateFeatures(TEMPLATE).transform(X))
    expected = set()
    for sentence in X:
        n = len(sentence)
        outside = [f"_B{d:+d}" for d in (-2, -1)], ["_B+1", "_B+2"]
        padded = [
            [*outside[0], *(token[key] for token in sentence), *outside[1]]
            for key in ("word", "pos")
        ]
        for number, (offsets, column) in enumerate(MACROS):
            shifted = zip(*(padded[column][i + 2 : i + 2 + n] for i in offsets), strict=True)
            expected |= {f"U{number:02}:" + "/".join(symbols) for symbols in shifted}
    assert len(expected) == rows.data.shape[1]
    assert set(vectorizer.get_feature_names_out()) == expected
    assert rows.data.nnz == sum(map(len, X)) * 19


def test_number_of_attributes(train):
    steps = make_pipeline(Window(WORDS + TAGS), SequenceVectorizer(dtype=np.float32))
    rows = steps.fit_transform(train)
    assert rows.data.shape == (211_727, 338_551)
    assert rows.data.nnz == 211_727 * 19
    new, _ = fetch_conll2000("test", return_X_y=True)
    # What is known is found: rows seen in training have the strings of their tokens.
    names = steps.get_feature_names_out()
    vocabulary = set(names)
    transformed = steps.transform(new[:50]).data
    windows = Window(WORDS + TAGS).transform(new[:50]).data
    columns = [windows.column(name).tolist() for name in windows.names]
    for i, row in enumerate(transformed):
        written = [f"{n}={c[i]}" for n, c in zip(windows.names, columns, strict=True)]
        assert names[row.indices].tolist() == [s for s in written if s in vocabulary]
