"""Tokens and labels as plain text."""

from collections.abc import Iterator, Sequence


def aligned(
    rows: Sequence[Sequence[str]], heads: Sequence[str] = (), width: int = 80
) -> Iterator[str]:
    """Yield rows with aligned columns, wrapped at a width.

    Parameters
    ----------
    rows : sequence of n_rows sequences of n_columns str
    heads : sequence of n_rows str, optional
        Stands before each row, in every block.
    width : int

    Yields
    ------
    str
        A block of n_rows lines.

    Examples
    --------
    >>> print(*aligned([["the", "dog"], ["D", "N"]], ["tokens", "labels"]))
    tokens the dog
    labels D   N
    """
    columns = [_column(entries) for entries in zip(*rows, strict=True)]
    first = [_column(heads)] if heads else []
    block, used = list(first), sum(len(head[0]) for head in first)
    for column in columns:
        used += len(column[0]) + 1
        if used > width and len(block) > len(first):
            yield _lines(block)
            block, used = list(first), sum(len(c[0]) + 1 for c in (*first, column))
        block.append(column)
    if len(block) > len(first):
        yield _lines(block)


def _column(entries: Sequence[str]) -> list[str]:
    size = max(map(len, entries))
    return [entry.ljust(size) for entry in entries]


def _lines(block: list[list[str]]) -> str:
    return "\n".join(" ".join(row).rstrip() for row in zip(*block, strict=True))
