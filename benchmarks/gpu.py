"""Layers of torch, and training of CRF, on the CPU and, where there is one, on a GPU."""

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from _common import begin, yes_or_no  # before numpy

# isort: split
import _gpu_training as trained
import torch

from sklearn_crcrf.torch import torchcrf as ours

try:
    import torchcrf
except ImportError:
    torchcrf = None
try:
    from torch_struct import LinearChainCRF
except ImportError:
    LinearChainCRF = None

# Sequences, tokens and labels of a batch; the most milliseconds of loss and gradient, and of
# decoding, with scores on a GPU.
SHAPES = {
    (32, 128, 9): (1.4, 0.24),
    (32, 128, 20): (1.7, 0.37),
    (16, 512, 20): (1.8, 0.65),
    (8, 128, 205): (6.0, 1.5),
}
LEAST_RATIO = 30  # of the times of pytorch-crf and of ours, on the CPU
FEW, MANY = 3, 40  # repetitions of what is slow and of what is fast
COLUMNS = [
    "sequences, tokens, labels",
    "pytorch-crf, ms",
    "ours, ms",
    "faster",
    "decoding of pytorch-crf, ms",
    "our decoding, ms",
    "error of pytorch-crf's gradient",
    "of ours",
    "target",
    "met",
]
TABLES = ["check", "training", "tokens", "sums", "layers"]
NAMES = {"cpu": "the CPU", "cuda": "a GPU"}


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("gpu.py", description=__doc__)
    parser.add_argument("--tables", nargs="+", default=TABLES, choices=TABLES)
    parser.add_argument("--devices", nargs="+", default=available(), choices=available())
    torch.set_num_threads(1)
    args = begin(parser, argv, *notes())
    warnings.filterwarnings("ignore", module="torch_struct")
    failed: list[str] = []
    for name in args.tables:
        for title, columns, rows in tables(name, args):
            args.report.table(title, columns, trained.attempts(rows, len(columns), failed))
    if failed:
        sys.exit(f"{len(failed)} rows failed: {failed}")


def tables(name: str, args: argparse.Namespace) -> Iterator[tuple[str, list[str], Iterator]]:
    """The title, columns and rows of some tables; only layers are measured on all devices."""
    device = args.devices[-1]
    if name == "check":
        yield "Is it right? Differences from the kernels", trained.CHECKED, trained.checks(device)
    if name == "training":
        rows = trained.training(args, device)
        yield "Training of CRF, float32, wall time", trained.TRAINED, rows
    if name == "tokens":
        title = "Many tokens: sentences of Brown, repeated"
        yield title, trained.MANY, trained.many_tokens(args, device)
    if name == "sums":
        yield "Log-partitions and derivatives", trained.SUMS, trained.log_partitions(device)
    for device in args.devices if name == "layers" else ():
        title = f"Loss and gradient, and decoding, with scores on {NAMES[device]}"
        columns = COLUMNS if device == "cpu" else [*COLUMNS, "torch-struct, ms"]
        yield title, columns, (partial(layer_row, shape, device) for shape in SHAPES)


def available() -> list[str]:
    """The devices of this machine."""
    return ["cpu", *["cuda"] * torch.cuda.is_available()]


def notes() -> Iterator[str]:
    """What torch is, and how time is taken."""
    card = torch.cuda.get_device_name(0) if torch.cuda.is_available() else "no GPU"
    yield f"torch {torch.__version__}, {card}"
    yield (
        "Times are the least of several runs that take turns: CPU times of one thread, or "
        "wall-clock times with a GPU; ours has the copies from and to the GPU"
    )
    yield "Scores are float32; errors are the largest differences from pytorch-crf in float64"


def layer_row(shape: tuple[int, int, int], device: str) -> list[str]:
    """One shape of a batch; packages that are not installed are left out."""
    limits, n_labels = SHAPES[shape], shape[2]
    torch.manual_seed(0)
    x = torch.randn(shape, device=device, requires_grad=True)
    y = torch.randint(n_labels, shape[:2], device=device)
    crf = ours.CRF(n_labels, batch_first=True).to(device)
    layers = {"our": crf}
    if torchcrf is not None:
        layers["their"] = torchcrf.CRF(n_labels, batch_first=True).to(device)
        layers["their"].load_state_dict(crf.state_dict())
    exact = (ours if torchcrf is None else torchcrf).CRF(n_labels, batch_first=True)
    exact.load_state_dict(crf.state_dict())
    exact = exact.to(device).double()
    reference = gradient(exact, x.detach().double().requires_grad_(), y)
    jobs, errors = {}, {}
    for name, layer in layers.items():
        errors[name] = f"{(gradient(layer, x, y) - reference).abs().max().item():.0e}"
        jobs[name] = partial(gradient, layer, x, y)
        jobs[f"{name} decoding"] = partial(layer.decode, x, y >= 0)
    # On the CPU it takes seconds, and gigabytes where there are many labels.
    if device == "cuda" and LinearChainCRF is not None:
        pairs = (shape[0], shape[1] - 1, n_labels, n_labels)
        scores = torch.randn(pairs, device=device, requires_grad=True)
        jobs["struct"] = lambda: LinearChainCRF(scores).partition.sum().backward()
    least = least_milliseconds(jobs, device)
    ratio = least.get("their", float("nan")) / least["our"]
    if device == "cpu":
        target, met = f">= {LEAST_RATIO} x", ratio >= LEAST_RATIO
    else:
        target = f"<= {limits[0]}, {limits[1]} ms"
        met = least["our"] <= limits[0] and least["our decoding"] <= limits[1]
    others = {name: f"{least[name]:.1f}" for name in least}
    return [
        ", ".join(map(str, shape)),
        others.get("their", "not installed"),
        f"{least['our']:.2f}",
        f"{ratio:.0f} x",
        others.get("their decoding", "not installed"),
        f"{least['our decoding']:.2f}",
        errors.get("their", "not installed"),
        errors["our"],
        target,
        yes_or_no(met),
        *[others.get("struct", "not installed")][: device != "cpu"],
    ]


def gradient(crf: Any, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The derivatives of the loss of a batch by the scores."""
    x.grad = None
    (-crf(x, y, y >= 0)).backward()  # pytorch-crf warns of its own masks, which are of bytes
    return x.grad


def least_milliseconds(jobs: dict[str, Callable[[], Any]], device: str) -> dict[str, float]:
    """The least time of each job; ours, which are fast, have more turns."""
    seconds = {"cpu": time.process_time, "cuda": synchronised_seconds}[device]
    least = dict.fromkeys(jobs, float("inf"))
    for turn in range(MANY):
        for name, job in jobs.items():
            if turn < FEW or name.startswith("our"):
                start = seconds()
                job()
                least[name] = min(least[name], 1e3 * (seconds() - start))
    return least


def synchronised_seconds() -> float:
    """The time at which a GPU has done what it was given."""
    torch.cuda.synchronize()
    return time.perf_counter()


if __name__ == "__main__":
    main()
