"""What kernels of semi-Markov chains read beside BatchScores, and the best segmentation."""

import numpy as np

from libc.math cimport INFINITY, NAN
from libc.stdint cimport int32_t, int64_t

from sklearn_crcrf._kernels.chain.edges cimport Edges
from sklearn_crcrf._kernels.chain.scores cimport BatchScores
from sklearn_crcrf._kernels.machine cimport give_turn, take_turn

include "batch_segments.pxi"
include "maxima.pxi"
