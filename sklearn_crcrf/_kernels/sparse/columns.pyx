"""Columns and entries of sparse matrices: which are equal, come together or are sorted."""

import numpy as np

from libc.stdint cimport int32_t, int64_t, int8_t, uint8_t

from sklearn_crcrf._kernels.searching cimport place_from
from sklearn_crcrf._kernels.sparse.tables cimport Slot, Table, find, mix
from sklearn_crcrf._kernels.vectors cimport prefetch, real

from sklearn_crcrf._kernels.sizes import check_number

include "equal_columns.pxi"
include "factoring.pxi"
include "entries.pxi"
include "row_order.pxi"
include "conjunctions.pxi"
