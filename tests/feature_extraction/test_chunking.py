"""The template of the chunking task, on its corpus."""

import os

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from sklearn_crcrf.datasets import fetch_conll2000
from sklearn_crcrf.feature_extraction import SequenceVectorizer, Window

WORDS = [f"word[{i}]" for i in range(-2, 3)] + ["word[-1]|word[0]", "word[0]|word[1]"]
TAGS = [f"pos[{i}]" for i in range(-2, 3)]
TAGS += [f"pos[{i}]|pos[{i + 1}]" for i in range(-2, 2)]
TAGS += [f"pos[{i}]|pos[{i + 1}]|pos[{i + 2}]" for i in range(-2, 1)]


@pytest.mark.data
@pytest.mark.skipif(
    not os.environ.get("SKLEARN_CRCRF_DATA"), reason="SKLEARN_CRCRF_DATA is not set"
)
def test_number_of_attributes():
    steps = make_pipeline(Window(WORDS + TAGS), SequenceVectorizer(dtype=np.float32))
    X, _ = fetch_conll2000("train", return_X_y=True)
    rows = steps.fit_transform(X)
    assert rows.data.shape == (211_727, 338_551)
    assert rows.data.nnz == 211_727 * 19
    new, _ = fetch_conll2000("test", return_X_y=True)
    # What is known is found: the strings of rows seen in training are those of the tokens.
    names = steps.get_feature_names_out()
    vocabulary = set(names)
    transformed = steps.transform(new[:50]).data
    windows = Window(WORDS + TAGS).transform(new[:50]).data
    columns = [windows.column(name).tolist() for name in windows.names]
    for i, row in enumerate(transformed):
        written = [f"{n}={c[i]}" for n, c in zip(windows.names, columns, strict=True)]
        assert names[row.indices].tolist() == [s for s in written if s in vocabulary]
