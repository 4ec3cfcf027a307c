"""Weights of sparse rows: single weights, rows with exponents, products and penalties."""

import numpy as np

from libc.math cimport fabs
from libc.stdint cimport INT64_MAX, int32_t, int64_t, int8_t, uint8_t

from sklearn_crcrf._kernels.machine cimport give_turn, take_turn
from sklearn_crcrf._kernels.vectors cimport fetch_row, prefetch, real

from sklearn_crcrf._kernels.sizes import check_number

include "pair_counts.pxi"
include "single_weights.pxi"
include "scores.pxi"
include "estimates.pxi"
include "product.pxi"
include "gaussian.pxi"
include "orthants.pxi"
