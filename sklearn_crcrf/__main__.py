"""The command line: ``python -m sklearn_crcrf``, or ``sklearn-crcrf``."""

import gc
import sys

from .utils import interruption

__all__ = ["main"]


def main() -> int:
    """Run the command line as the only thing that this process does.

    Returns
    -------
    int
        Exit status; see ``sklearn_crcrf.apps.cli.main``.
    """
    interruption.install()
    from .apps.cli import main as run

    status = run()
    gc.freeze()  # at its end, Python need not look through all objects for garbage
    return status


if __name__ == "__main__":
    sys.exit(main())
