"""Sequence arrays over every kind of data."""

import pytest
from sequence_arrays import DATA, OFFSETS

from sklearn_crcrf import SequenceArray


@pytest.fixture(params=DATA, ids=["labels", "rows", "csr_array", "csr_matrix", "symbols"])
def array(request):
    return SequenceArray(request.param(), OFFSETS)
