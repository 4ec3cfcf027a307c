"""Between tensors of any device and the arrays of kernels, which are on the host."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
import torch


def on_host(*tensors: torch.Tensor | None) -> list[Any]:
    """Return tensors as arrays; halves become float32.

    From a GPU all are copied to pinned memory at once, and only these copies are waited for, with
    what must be computed before them; not what the stream does afterwards, nor other streams.
    """
    copies: list[Any] = []
    streams = set()
    for tensor in tensors:
        if tensor is None:
            copies.append(None)
            continue
        tensor = tensor.detach()
        if tensor.is_floating_point():
            tensor = tensor.to(wide(tensor))
        copies.append(tensor.to("cpu", non_blocking=tensor.is_cuda))
        if tensor.is_cuda:
            streams.add(torch.cuda.current_stream(tensor.device))
    for event in [stream.record_event() for stream in streams]:
        event.synchronize()
    return [None if copy is None else copy.numpy() for copy in copies]


def wide(tensor: torch.Tensor) -> torch.dtype:
    """Return the type in which a function of a tensor is computed: float64, or float32."""
    return torch.float64 if tensor.dtype == torch.float64 else torch.float32


def on_device(array: np.ndarray, device: torch.device, dtype: torch.dtype) -> torch.Tensor:
    """Return an array as a tensor; a GPU copies it from pinned memory without being waited for."""
    tensor = torch.from_numpy(np.asarray(array, order="C")).to(dtype)
    if device.type != "cuda":
        return tensor.to(device)
    return tensor.pin_memory().to(device, non_blocking=True)


class Computed(torch.autograd.Function):
    """A value that was computed on the host, as a function of tensors, given its pullback.

    ``apply`` takes the value, an array; the pullback, from a weight of the value to the gradients
    of the tensors; and the tensors, or None. The value is on the device of the first tensor, of the
    type float64 if that is, else float32.
    """

    @staticmethod
    def forward(ctx: Any, value: np.ndarray, pullback: Callable, *tensors: Any) -> torch.Tensor:
        ctx.pullback = pullback
        ctx.save_for_backward(*tensors)
        return on_device(value, tensors[0].device, wide(tensors[0]))

    @staticmethod
    def backward(ctx: Any, weight: torch.Tensor) -> tuple:
        if torch.is_grad_enabled():
            raise RuntimeError("create_graph: sklearn_crcrf.torch has no second derivatives")
        _ = ctx.saved_tensors  # raises an error if they were modified, as arrays share their memory
        return None, None, *ctx.pullback(weight)


def uncompiled(function: Callable) -> Callable:
    """Let ``torch.compile`` call a function as it is, rather than trace what it does."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        # As a decorator, ``torch.compiler.disable`` would import the compiler, which takes seconds.
        if torch.compiler.is_compiling():
            return torch.compiler.disable(function)(*args, **kwargs)
        return function(*args, **kwargs)

    return call
