"""What kernels of chains and trees read beside the arrays of state scores."""

import numpy as np

from libc.math cimport INFINITY, exp
from libc.stdint cimport int64_t

from sklearn_crcrf._kernels.chain.edges cimport edges_of

include "batch_scores.pxi"
include "potentials.pxi"
