"""Trees by level; sums over labellings in logarithms, and what starts from their messages."""

import numpy as np

from libc.math cimport INFINITY, NAN, exp, isnan, log, log1p
from libc.stdint cimport int32_t, int64_t, uint8_t

from sklearn_crcrf._kernels.chain.edges cimport (
    Edges, argmax_sum, count_transitions, fill_transitions, maximum, reversed_edges
)
from sklearn_crcrf._kernels.chain.scores cimport BatchScores
from sklearn_crcrf._kernels.log_sums cimport log_of_sum
from sklearn_crcrf._kernels.machine cimport give_turn, take_turn

include "order.pxi"
include "log_products.pxi"
include "conditionals.pxi"
include "upward.pxi"
include "covariance.pxi"
include "excluding.pxi"
include "sampling.pxi"
