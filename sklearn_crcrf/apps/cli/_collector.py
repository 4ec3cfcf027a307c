"""When Python looks for garbage."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["paused_collector"]


@contextmanager
def paused_collector() -> Iterator[None]:
    """Look for no garbage, while modules are imported and a model is loaded.

    All that is made there stays, and to look through it again and again would take a tenth of a
    second.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
