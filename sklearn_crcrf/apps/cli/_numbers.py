"""Numbers among the arguments."""

import argparse

__all__ = ["positive", "whole"]


def whole(text: str) -> int:
    """A number such as 0 or 3."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"must be a number such as 3, got {text!r}")
    return int(text)


def positive(text: str) -> int:
    """A number such as 1 or 3."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a number of at least 1, got {text!r}")
    return int(text)
