"""Draw the figures of the page on co-occurrence rates.

``python docs/user_guide/figures/co_occurrence.py`` writes them next to this file. Their numbers are
counted here:

>>> label_rates()[2].round(2)
array([[0.  , 2.33, 0.  ],
       [0.  , 0.  , 2.33],
       [7.  , 0.  , 0.  ]])
"""

from itertools import pairwise
from pathlib import Path

import numpy as np

Y = [["D", "N", "V"], ["D", "N"], ["N", "V"], ["N", "V", "D", "N"]]
LABELS = ["D", "N", "V"]
PRIORS = [0.05, 0.3, 0.8]
STRENGTHS = {1.0: "-", 0.25: ":"}
HERE = Path(__file__).parent


def label_rates() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """p(y, y') of neighbouring labels, p(y) p(y'), and their ratio."""
    joint = np.zeros((len(LABELS), len(LABELS)))
    for labels in Y:
        for pair in pairwise(labels):
            joint[tuple(map(LABELS.index, pair))] += 1.0
    joint /= joint.sum()
    apart = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    return joint, apart, joint / apart


def draw_rates(figure) -> None:
    """Three tables: together, if independent, and the rate."""
    titles = ["together: p(y, y')", "if independent: p(y) p(y')", "rate: CR(y; y')"]
    colours = ["Blues", "Blues", "RdBu"]
    axes = figure.subplots(1, 3)
    for ax, title, table, colour in zip(axes, titles, label_rates(), colours, strict=True):
        shown = np.log2(np.maximum(table, 2.0**-3)) if colour == "RdBu" else table
        limits = {"vmin": -3, "vmax": 3} if colour == "RdBu" else {"vmin": 0, "vmax": 0.7}
        ax.imshow(shown, cmap=colour, **limits)
        for (i, j), value in np.ndenumerate(table):
            dark = colour == "RdBu" and abs(shown[i, j]) > 2
            ax.text(j, i, f"{value:.2g}", ha="center", va="center", color="w" if dark else "k")
        ax.set(title=title, xticks=range(3), yticks=range(3), xlabel="y', the next label")
        ax.set(xticklabels=LABELS, yticklabels=LABELS)
    axes[0].set_ylabel("y, a label")


def draw_smoothing(figure) -> None:
    """(n + k q) / (n + k) against n."""
    ax, n = figure.subplots(), np.linspace(0, 10, 101)
    for colour, q in zip(("C0", "C1", "C2"), PRIORS, strict=True):
        for k, line in STRENGTHS.items():
            label = f"q = {q:g}, k = {k:g}"
            ax.plot(n, (n + k * q) / (n + k), line, color=colour, label=label)
    ax.set(xlabel="times seen, always with this label", ylabel="probability of the label")
    ax.set(ylim=(0, 1.02), xlim=(0, 10))
    ax.legend(ncols=3, fontsize="small", loc="lower right")


FIGURES = {
    "rates": (draw_rates, (8, 3)),
    "smoothing": (draw_smoothing, (8, 3)),
}


def main() -> None:
    """Draw all figures."""
    import matplotlib.pyplot as plt

    plt.rcParams["svg.hashsalt"] = "co-occurrence"
    for name, (draw, size) in FIGURES.items():
        figure = plt.figure(figsize=size, layout="constrained", facecolor="w")
        draw(figure)
        figure.savefig(HERE / f"{name}.svg", metadata={"Date": None})
        plt.close(figure)


if __name__ == "__main__":
    main()
