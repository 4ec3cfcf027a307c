"""Growth of time and memory of training with the number of tokens, from 10^5 to 10^7."""

import argparse
import math
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import linear_regression
from typing import NamedTuple

from _common import (
    MODES,
    begin,
    cpu_seconds,
    in_fresh_process,
    load_splits,
    memory_growth,
    n_tokens,
)

SIZES = [10**5, 316_228, 10**6, 3_162_278, 10**7]
CHANGED = 0.1
LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Cost(NamedTuple):
    """Time and memory of one training."""

    n_tokens: int
    seconds: float
    memory: int


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("scaling.py", description=__doc__)
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES, help="numbers of tokens")
    parser.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES), help="both")
    parser.add_argument("--plot", type=Path, help="PNG file to draw (needs matplotlib)")
    args = begin(parser, argv)
    X, y = load_splits("32623-1000", args).train
    costs = {mode: [] for mode in args.modes}
    columns = ["mode", "tokens", "words", "CPU s", "us per token", "memory, MB", "bytes per token"]
    args.report.table("Training time and memory", columns, rows(X, y, args.sizes, costs))
    for mode, of_mode in costs.items():
        if len(of_mode) > 1:
            power = slope(of_mode)
            args.report.remark(f"{mode} mode: time grows with the power {power:.2f} of the size.")
    if args.plot:
        draw(costs, args.plot)


def rows(X, y, sizes: Sequence[int], costs: dict[str, list[Cost]]) -> Iterator[list[str]]:
    """Train on every size in every mode; the costs are added to the lists."""
    for size in sizes:
        words, labels = enlarge(X, y, size)
        n_words = len({word for sentence in words for word in sentence})
        for mode, of_mode in costs.items():
            cost = in_fresh_process(fit_cost, mode, words, labels)
            of_mode.append(cost)
            yield [
                mode,
                f"{cost.n_tokens:,}",
                f"{n_words:,}",
                f"{cost.seconds:.2f}",
                f"{1e6 * cost.seconds / cost.n_tokens:.2f}",
                f"{cost.memory / 2**20:.0f}",
                f"{cost.memory / cost.n_tokens:.0f}",
            ]


def enlarge(X: Sequence, y: Sequence, size: int, seed: int = 0) -> tuple[list, list]:
    """Repeat a corpus up to a number of tokens; in repetitions, every tenth word is changed."""
    rng = random.Random(seed)
    words, labels, n = [], [], 0
    while n < size:
        for sentence, tags in zip(X, y, strict=True):
            repeats = len(words) >= len(X)
            words.append([change(word, rng) for word in sentence] if repeats else sentence)
            labels.append(tags)
            n += len(sentence)
            if n >= size:
                break
    return words, labels


def change(word: str, rng: random.Random) -> str:
    """Now and then, put two letters into a word."""
    if rng.random() >= CHANGED:
        return word
    k = rng.randrange(len(word) + 1)
    return word[:k] + rng.choice(LETTERS) + rng.choice(LETTERS) + word[k:]


def fit_cost(mode: str, X: Sequence, y: Sequence) -> Cost:
    """Train once."""
    MODES[mode]().fit(X[:10], y[:10])  # imports modules that are imported at first use
    memory, (seconds, _) = memory_growth(lambda: cpu_seconds(lambda: MODES[mode]().fit(X, y)))
    return Cost(n_tokens(X), seconds, memory)


def slope(costs: Sequence[Cost]) -> float:
    """The power of the size with which the time grows."""
    sizes, seconds = ([math.log(cost[k]) for cost in costs] for k in (0, 1))
    return linear_regression(sizes, seconds).slope


def draw(costs: dict[str, list[Cost]], path: Path) -> None:
    """Plot time against size, both on logarithmic axes."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise SystemExit("--plot needs matplotlib: pip install matplotlib") from None
    figure = Figure(figsize=(5, 4), layout="constrained")
    axes = figure.subplots()
    for mode, of_mode in costs.items():
        n, seconds, _ = zip(*of_mode, strict=True)
        label = f"{mode} mode, slope {slope(of_mode):.2f}" if len(n) > 1 else f"{mode} mode"
        axes.loglog(n, seconds, marker="o", label=label)
    axes.set(xlabel="training tokens", ylabel="CPU seconds of fit, one core")
    axes.legend()
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
