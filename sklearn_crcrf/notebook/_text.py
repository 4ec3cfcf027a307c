"""Tokens and labels as plain text."""

from collections.abc import Iterator, Sequence

__all__ = ["aligned"]


def aligned(rows: Sequence[Sequence[str]], width: int = 80) -> Iterator[str]:
    """Lines of rows whose entries stand below each other, cut where they are wide.

    Parameters
    ----------
    rows : sequence of sequences of n_columns str
    width : int

    Yields
    ------
    str
        One block of as many lines as there are rows.

    Examples
    --------
    >>> print(*aligned([["the", "dog"], ["D", "N"]]))
    the dog
    D   N
    """
    block = []
    for column in zip(*rows, strict=True):
        size = max(map(len, column))
        if block and sum(map(len, next(zip(*block, strict=True)))) + len(block) + size > width:
            yield _lines(block)
            block = []
        block.append([entry.ljust(size) for entry in column])
    if block:
        yield _lines(block)


def _lines(block: list[list[str]]) -> str:
    return "\n".join(" ".join(row).rstrip() for row in zip(*block, strict=True))
