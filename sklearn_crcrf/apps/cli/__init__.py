"""The command line: ``python -m sklearn_crcrf``, or ``sklearn-crcrf``."""

from .app import main

__all__ = ["main"]
