"""How many things 32-bit integers can number, and how deep and large nested input may be."""

LARGEST = 2**31 - 1
# Levels of a feature dict, and attributes of a token with nested dicts.
DEEPEST, MOST_NESTED = 100, 2**20


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


def problem_of_nesting(level: int, n_attributes: int) -> str | None:
    """What is wrong with a nested feature dict, for an error message; None if nothing is.

    A dict of a few items has no end if it contains itself, and 2 ** 50 items if each of 50 dicts
    holds the next one twice.

    Parameters
    ----------
    level : int
        Number of dicts that are inside each other.
    n_attributes : int
        Number of attributes of the token so far.

    Examples
    --------
    >>> from sklearn_crcrf._kernels.sizes import problem_of_nesting
    >>> problem_of_nesting(101, 0)
    'is nested more than 100 levels deep, or contains itself'
    """
    if level > DEEPEST:
        return f"is nested more than {DEEPEST} levels deep, or contains itself"
    if n_attributes > MOST_NESTED:
        return f"has more than {MOST_NESTED:,} attributes in nested dicts"
    return None
