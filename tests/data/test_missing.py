"""Values that are missing."""

import numpy as np
import pandas as pd
from cases import for_each

from sklearn_crcrf.data.missing import are_missing

NAT = np.array(["2020-01-01", "NaT"], dtype="datetime64[D]")


@for_each(
    "values, missing",
    [
        (np.array([1.0, np.nan]), [1]),
        (NAT, [1]),
        (np.array(["a", "b"], dtype=object), []),
        (np.array(["a", "b"]), []),
        (np.array([3, 4]), []),
        (
            np.array(["a", None, pd.NA, float("nan"), pd.NaT, 0, "", False], dtype=object),
            [1, 2, 3, 4],
        ),
        (np.array([{1}, None, ("a",)], dtype=object), [1]),
        (np.array([None, np.ones(2), "a"], dtype=object), [0]),
        (np.array([], dtype=object), []),
    ],
)
def test_missing_values_are_found(values, missing):
    assert np.flatnonzero(are_missing(values)).tolist() == missing
