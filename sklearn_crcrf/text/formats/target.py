"""What documents are written to."""

from typing import NamedTuple

from .documents import Losses


class Target(NamedTuple):
    """How documents are written.

    Parameters
    ----------
    suffix : str
        The ending of the file's name.
    alignment : {"expand", "contract", "strict"}
        What becomes of spans that begin or end within a token, in formats of tokens.
    losses : Losses
        Takes what the format does not hold.
    """

    suffix: str
    alignment: str
    losses: Losses
