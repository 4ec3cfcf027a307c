"""Messages between linked tokens, the orders they are sent in, and what they say."""

import numpy as np

from libc.math cimport INFINITY, exp
from libc.stdint cimport int32_t, int64_t, uint8_t

from sklearn_crcrf._kernels.arrays cimport integers_at, numbers_at
from sklearn_crcrf._kernels.log_sums cimport log_of_sum
from sklearn_crcrf._kernels.machine cimport give_turn, take_turn
from sklearn_crcrf._kernels.searching cimport place_from

include "graph_messages.pxi"
include "order.pxi"
include "beliefs.pxi"
include "forest_bound.pxi"
include "simplicial.pxi"
