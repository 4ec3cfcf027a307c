"""Layers of torch, and training of CRF, on the CPU and, where there is one, on a GPU."""

import argparse
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from _common import begin, yes_or_no  # before numpy

# isort: split
import torch
import torchcrf
from _gpu_training import training_tables
from torch_struct import LinearChainCRF

from sklearn_crcrf.torch import torchcrf as ours

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


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("gpu.py", description=__doc__)
    parser.add_argument("--tables", nargs="+", default=TABLES, choices=TABLES)
    parser.add_argument("--devices", nargs="+", default=available(), choices=available())
    torch.set_num_threads(1)
    args = begin(parser, argv, *notes())
    warnings.filterwarnings("ignore", module="torch_struct")
    for device in args.devices:
        if "layers" in args.tables:
            title = f"Loss and gradient, and decoding, with scores on {NAMES[device]}"
            columns = COLUMNS if device == "cpu" else [*COLUMNS, "torch-struct, ms"]
            args.report.table(title, columns, layer_rows(device))
    if "training" in args.tables:
        training_tables(args, args.devices[-1])


TABLES = ["layers", "training"]
NAMES = {"cpu": "the CPU", "cuda": "a GPU"}


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


def layer_rows(device: str) -> Iterator[list[str]]:
    """One row for each shape of a batch."""
    for shape, limits in SHAPES.items():
        n_labels = shape[2]
        torch.manual_seed(0)
        x = torch.randn(shape, device=device, requires_grad=True)
        y = torch.randint(n_labels, shape[:2], device=device)
        theirs = torchcrf.CRF(n_labels, batch_first=True).to(device)
        crf = ours.CRF(n_labels, batch_first=True).to(device)
        crf.load_state_dict(theirs.state_dict())
        exact = torchcrf.CRF(n_labels, batch_first=True).to(device).double()
        exact.load_state_dict(theirs.state_dict())
        reference = gradient(exact, x.detach().double().requires_grad_(), y)
        errors = [(gradient(one, x, y) - reference).abs().max().item() for one in (theirs, crf)]
        jobs = {
            "theirs": lambda crf=theirs, x=x, y=y: gradient(crf, x, y),
            "ours": lambda crf=crf, x=x, y=y: gradient(crf, x, y),
            "their decoding": lambda crf=theirs, x=x, y=y: crf.decode(x, y >= 0),
            "our decoding": lambda crf=crf, x=x, y=y: crf.decode(x, y >= 0),
        }
        # On the CPU it takes seconds, and gigabytes where there are many labels.
        if device == "cuda":
            pairs = (shape[0], shape[1] - 1, n_labels, n_labels)
            scores = torch.randn(pairs, device=device, requires_grad=True)
            jobs["struct"] = lambda scores=scores: LinearChainCRF(scores).partition.sum().backward()
        least = least_milliseconds(jobs, device)
        ratio = least["theirs"] / least["ours"]
        if device == "cpu":
            target, met = f">= {LEAST_RATIO} x", ratio >= LEAST_RATIO
        else:
            target = f"<= {limits[0]}, {limits[1]} ms"
            met = least["ours"] <= limits[0] and least["our decoding"] <= limits[1]
        yield [
            ", ".join(map(str, shape)),
            f"{least['theirs']:.1f}",
            f"{least['ours']:.2f}",
            f"{ratio:.0f} x",
            f"{least['their decoding']:.1f}",
            f"{least['our decoding']:.2f}",
            *(f"{error:.0e}" for error in errors),
            target,
            yes_or_no(met),
            *(f"{least[name]:.1f}" for name in ["struct"] if name in least),
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
