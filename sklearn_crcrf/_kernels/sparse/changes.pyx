"""Changes of counts, and rows of the counts as they are after the changes."""

import numpy as np

from libc.stdint cimport INT32_MAX, UINT32_MAX, int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset

from sklearn_crcrf._kernels.searching cimport place_from
from sklearn_crcrf._kernels.vectors cimport prefetch

include "changed_rows.pxi"
