"""Given paths, the k best paths, and best paths with and without a span."""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t, uint8_t

from sklearn_crcrf._kernels.chain.edges cimport (
    Edges, argmax_sum, count_transitions, edges_of, fill_transitions, find_entry
)
from sklearn_crcrf._kernels.chain.k_best cimport Heap, best_ways
from sklearn_crcrf._kernels.chain.scores cimport BatchCounts, BatchScores
from sklearn_crcrf._kernels.machine cimport give_turn, take_turn
from sklearn_crcrf._kernels.searching cimport place_from
from sklearn_crcrf._kernels.vectors cimport prefetch, real

include "path_scores.pxi"
include "neighbours.pxi"
include "k_best.pxi"
include "span_margins.pxi"
