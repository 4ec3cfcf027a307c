"""Between tensors of any device and the arrays of kernels, which are on the host."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np
import torch

WIDE = (torch.float32, torch.float64)

Compute = Callable[[], tuple[np.ndarray, Callable[[np.ndarray], list[np.ndarray | None]]]]
"""A function that returns a value, and its pullback: from weights of the value to gradients."""


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
        if tensor.is_floating_point() and tensor.dtype not in WIDE:
            tensor = tensor.float()
        copies.append(tensor.to("cpu", non_blocking=tensor.is_cuda))
        if tensor.is_cuda:
            streams.add(torch.cuda.current_stream(tensor.device))
    for event in [stream.record_event() for stream in streams]:
        event.synchronize()
    return [None if copy is None else copy.numpy() for copy in copies]


def on_device(array: np.ndarray, device: torch.device, dtype: Any = None) -> torch.Tensor:
    """Return an array as a tensor; a GPU copies it from pinned memory without being waited for."""
    tensor = torch.from_numpy(np.ascontiguousarray(array))
    if device.type == "cuda":
        tensor = tensor.pin_memory()
    return tensor.to(device, non_blocking=device.type == "cuda").to(dtype or tensor.dtype)


class _Computed(torch.autograd.Function):
    """What a function computes on the host, with the gradients that its pullback returns."""

    @staticmethod
    def forward(ctx: Any, compute: Compute, dtype: torch.dtype, *tensors: Any) -> torch.Tensor:
        value, ctx.pullback = compute()
        ctx.save_for_backward(*tensors)
        ctx.kinds = [None if t is None else (t.device, t.dtype) for t in tensors]
        return on_device(value, tensors[0].device, dtype)

    @staticmethod
    def backward(ctx: Any, weight: torch.Tensor) -> tuple:
        if torch.is_grad_enabled():
            raise RuntimeError("create_graph: sklearn_crcrf.torch has no second derivatives")
        _ = ctx.saved_tensors  # raises an error if they were modified, as arrays share their memory
        (host,) = on_host(weight)
        gradients, needed = ctx.pullback(host.astype(float)), ctx.needs_input_grad[2:]
        found = zip(gradients, ctx.kinds, needed, strict=True)
        return None, None, *(on_device(g, *kind) if need else None for g, kind, need in found)


def computed(compute: Compute, tensors: Sequence[Any]) -> torch.Tensor:
    """Return what ``compute`` computes from the numbers of tensors, as a function of them.

    Parameters
    ----------
    compute : callable
        Returns a value, and a pullback to one gradient for each of the tensors.
    tensors : sequence of Tensor or None
        The value is on the device of the first one; float64 if that is, else float32.

    Returns
    -------
    Tensor
    """
    dtype = torch.float64 if tensors[0].dtype == torch.float64 else torch.float32
    return _Computed.apply(compute, dtype, *tensors)


def uncompiled(function: Callable) -> Callable:
    """Let ``torch.compile`` call a function as it is, rather than trace what it does."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        # As a decorator, ``torch.compiler.disable`` would import the compiler, which takes seconds.
        if torch.compiler.is_compiling():
            return torch.compiler.disable(function)(*args, **kwargs)
        return function(*args, **kwargs)

    return call
