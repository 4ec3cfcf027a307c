"""Sums, maxima, samples and covariances on junction trees."""

import numpy as np

from libc.math cimport INFINITY, NAN, exp
from libc.stdint cimport int32_t, int64_t

from sklearn_crcrf._kernels.arrays cimport integers_at
from sklearn_crcrf._kernels.chain.edges cimport maximum
from sklearn_crcrf._kernels.log_sums cimport log_of_sum
from sklearn_crcrf._kernels.machine cimport give_turn, take_turn

include "junction_factors.pxi"
include "junction_messages.pxi"
include "junction_sums.pxi"
include "junction_labels.pxi"
include "junction_covariances.pxi"
