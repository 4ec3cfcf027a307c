"""How often the labels that a model proposed were accepted."""

from collections.abc import Sequence

__all__ = ["Agreement"]

# Number of sentences of which a point of the curve is the mean.
WINDOW = 25


class Agreement:
    """A learning curve: the share of tokens whose proposed label was accepted.

    A proposal is made before the sentence is learned, so the curve is honest, although it is about
    the sentences that the model doubted most.

    Examples
    --------
    >>> from sklearn_crcrf.apps.annotation.agreement import Agreement
    >>> agreement = Agreement()
    >>> agreement.add(["D", "N"], ["D", "V"])
    >>> agreement.add(["D", "N"], ["D", "N"])
    >>> agreement.curve
    [0.5, 0.75]
    """

    def __init__(self):
        self._counts: list[tuple[int, int]] = []
        self.curve: list[float] = []

    def add(self, predicted: Sequence[str], accepted: Sequence[str]) -> None:
        """Take up one accepted sentence."""
        same = sum(a == b for a, b in zip(predicted, accepted, strict=True))
        self._counts = [*self._counts[1 - WINDOW :], (same, len(accepted))]
        right, total = (sum(column) for column in zip(*self._counts, strict=True))
        self.curve.append(right / total if total else 1.0)
