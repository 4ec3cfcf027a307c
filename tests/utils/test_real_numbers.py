"""Real numbers from what the user passes."""

import numpy as np
import pytest
from cases import for_each

from sklearn_crcrf import CRF, HMM, OpinionPoolCRF, StructuredPerceptron
from sklearn_crcrf.metrics import segment_f1, sequence_accuracy, token_accuracy, token_f1
from sklearn_crcrf.utils.real_numbers import real_numbers

X, Y = [["a", "b"], ["b"]] * 2, [["B-A", "O"], ["O"]] * 2
COMPLEX = [
    [1j] * 4,
    np.ones(4, dtype=complex),
    np.array([1, 1, 1, np.complex64(1)], dtype=object),
    [np.complex128(1)] * 4,
]


@for_each("values", COMPLEX)
def test_complex_weights_are_refused(values):
    for call in (
        lambda: CRF().fit(X, Y, sample_weight=values),
        lambda: HMM().fit(X, Y, sample_weight=values),
        lambda: StructuredPerceptron().fit(X, Y, sample_weight=values),
        lambda: HMM().fit(X, Y).score(X, Y, sample_weight=values),
        lambda: CRF(class_weight={"O": values[3]}).fit(X, Y),
        lambda: OpinionPoolCRF([("a", HMM())], weights=values[3:]).fit(X, Y),
        *(
            lambda metric=metric: metric(Y, Y, sample_weight=values)
            for metric in (token_accuracy, token_f1, sequence_accuracy, segment_f1)
        ),
    ):
        with pytest.raises(ValueError, match="not complex ones"):
            call()


DATES = [np.array(["2020-01-01"], "M8[D]"), np.ones(2, "m8[s]")]


@for_each("values", [["x"], [[1], [1, 2]], [10**400], object(), *DATES])
def test_what_is_no_number_is_refused(values):
    with pytest.raises(ValueError, match=r"^numbers$"):
        real_numbers(values, "numbers")


@for_each("values", [[1, 2], np.array([1, 2], dtype=object), ["1", "2"], np.float32([1, 2])])
def test_real_numbers_stay(values):
    assert real_numbers(values, "numbers").tolist() == [1.0, 2.0]
