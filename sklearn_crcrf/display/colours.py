"""The colours of labels, which are the same wherever a label is shown."""

from collections.abc import Iterable
from typing import Any
from zlib import crc32

# Hues in degrees, of which two in a row differ much; more labels lie half-way, then at quarters.
HUES, BETWEEN = [(25 + 80 * k) % 360 for k in range(9)], (0, 20, 10, 30)


def hues_of(kinds: Iterable[Any]) -> dict[Any, int]:
    """Choose the hues of labels by their names, whatever their order, in degrees.

    A label that is added changes no other hue, unless there are more than 9, or it comes before
    one of the same hue in the alphabet.

    Examples
    --------
    >>> from sklearn_crcrf.display.colours import hues_of
    >>> hues_of(["PER", "LOC"]) == hues_of(["LOC", "PER", None])
    True
    """
    n_taken, found = [0] * len(HUES), dict[Any, int]()
    for kind in sorted({kind for kind in kinds if kind is not None}, key=str):
        place = crc32(str(kind).encode("utf-8", "surrogatepass")) % len(HUES)
        while n_taken[place] > min(n_taken):
            place = (place + 1) % len(HUES)
        found[kind] = (HUES[place] + BETWEEN[n_taken[place] % len(BETWEEN)]) % 360
        n_taken[place] += 1
    return found
