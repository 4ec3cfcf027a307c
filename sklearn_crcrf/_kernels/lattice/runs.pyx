"""Runs of candidate labels: their keys, scores, best paths and covariances."""

import numpy as np

from libc.math cimport INFINITY, NAN
from libc.stdint cimport int32_t, int64_t

from sklearn_crcrf._kernels.chain.edges cimport Edges, find_entry
from sklearn_crcrf._kernels.chain.k_best cimport Heap, best_ways
from sklearn_crcrf._kernels.chain.scores cimport BatchScores
from sklearn_crcrf._kernels.machine cimport give_turn, take_turn
from sklearn_crcrf._kernels.searching cimport place_from
from sklearn_crcrf._kernels.vectors cimport fetch_row, real

include "best_paths.pxi"
include "keys.pxi"
include "run_scores.pxi"
include "chains.pxi"
include "k_best.pxi"
include "covariance.pxi"
include "candidate_pairs.pxi"
