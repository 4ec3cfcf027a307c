"""Integers to consecutive numbers, and equal rows of numbers counted."""

import numpy as np

from libc.stdint cimport UINT32_MAX, int32_t, int64_t, uint32_t, uint64_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from sklearn_crcrf._kernels.sparse.tables cimport Slot, Table, find, mix
from sklearn_crcrf._kernels.vectors cimport prefetch

from sklearn_crcrf._kernels.sizes import check_number

include "numbering.pxi"
include "counting.pxi"
