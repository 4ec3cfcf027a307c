"""What can be numbered by integers of 32 bits."""

__all__ = ["LARGEST", "check_number"]

LARGEST = 2**31 - 1


def check_number(n: int, what: str, largest: int = LARGEST) -> None:
    """Raise OverflowError if there are more than ``largest``; ``what`` is the noun it is said of.

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
