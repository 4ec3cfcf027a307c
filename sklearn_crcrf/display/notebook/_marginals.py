"""The probabilities of the labels of tokens, as displays show them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["SURE", "Marginals"]

# A label with a lower probability is marked as unsure.
SURE = 0.9
# Labels with a lower probability are not listed.
LEAST, MOST_LABELS = 0.005, 5


class Marginals:
    """The probabilities of the labels of tokens.

    Parameters
    ----------
    values : array-like of shape (n_tokens, n_labels)
    classes : sequence of labels or None
    n_tokens : int

    Raises
    ------
    ValueError
        If the shapes do not agree.

    Examples
    --------
    >>> from sklearn_crcrf.display.notebook._marginals import Marginals
    >>> marginals = Marginals([[0.9, 0.1], [0.001, 0.999]], ["D", "N"], 2)
    >>> marginals.likeliest(1), marginals.of(0, "D")
    ([('N', 0.999)], 0.9)
    """

    def __init__(self, values: Any, classes: Sequence[Any] | None, n_tokens: int):
        self.values, self._classes = np.asarray(values, dtype=float), list(classes or [])
        shape = n_tokens, len(self._classes)
        if self.values.shape != shape:
            raise ValueError(
                f"marginals has shape {self.values.shape}, but tokens and classes are {shape}"
            )

    def of(self, t: int, label: Any) -> float:
        """The probability of a label of token t; 0 for an unknown label."""
        return self._shares(t).get(label, 0.0)

    def likeliest(self, t: int) -> list[tuple[Any, float]]:
        """The likeliest labels of token t, with their probabilities."""
        shares = sorted(self._shares(t).items(), key=lambda item: -item[1])
        return [(label, p) for label, p in shares[:MOST_LABELS] if p >= LEAST]

    def _shares(self, t: int) -> dict[Any, float]:
        return dict(zip(self._classes, self.values[t].tolist(), strict=True))
