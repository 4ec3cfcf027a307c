"""Layers of torch: losses and decoding of labelled sequences at the end of any network.

Kernels compute on the CPU; scores of a GPU are copied, which takes less time than recursions in
torch, step by step, take on the GPU.
"""

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError("sklearn_crcrf.torch needs torch: pip install torch") from error

from .chain_crf import ChainCRF
from .loss import StructuredLoss

__all__ = ["ChainCRF", "StructuredLoss"]
