"""How many things 32-bit integers can number."""

__all__ = ["LARGEST", "check_number"]

LARGEST = 2**31 - 1


def check_number(n: int, what: str, largest: int = LARGEST) -> None:
    """Raise OverflowError if n exceeds ``largest``; ``what`` is the noun for the message.

    Examples
    --------
    >>> from sklearn_crcrf._kernels.sizes import check_number
    >>> check_number(2**31, "pairs")
    Traceback (most recent call last):
        ...
    OverflowError: there are 2147483648 pairs, but at most 2147483647 can be numbered
    """
    if n > largest:
        raise OverflowError(f"there are {n} {what}, but at most {largest} can be numbered")
