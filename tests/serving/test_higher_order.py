"""Scores of several labels in a row, which may come from a file."""

import numpy as np
import pytest
from cases import for_each

from sklearn_crcrf.serving.content import Content
from sklearn_crcrf.serving.sums import RunTables


@for_each("starts", [[0, 2, 1, 2, 2], [1, 1, 1, 2, 2], [0, 1, 1, 1, 1]])
def test_starts_that_are_out_of_order(starts):
    arrays = {
        "trigrams.starts": np.array(starts),
        "trigrams.last": np.zeros(2, dtype=np.int32),
        "trigrams.score": np.zeros(2),
        "trigrams.unseen": np.zeros(4),
    }
    RunTables(Content({}, arrays | {"trigrams.starts": np.array([0, 1, 1, 2, 2])}), 2)
    with pytest.raises(ValueError, match=r"'trigrams\.starts' has values out of range"):
        RunTables(Content({}, arrays), 2)
