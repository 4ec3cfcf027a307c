"""Warnings that point at the line of the user."""

import os
import sys
import warnings
from types import FrameType

# The packages that may stand between the user and a warning.
BETWEEN = __name__.partition(".")[0], "sklearn", "joblib"


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line that called this package, be it through a pipeline or a grid search.

    Parameters
    ----------
    message : str
    category : type of Warning, default=UserWarning

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_caller("the labels have spaces in them")
    >>> caught[0].filename
    '<doctest sklearn_crcrf.utils.warning.warn_caller[1]>'
    """
    loaded = [sys.modules[name] for name in BETWEEN if sys.modules.get(name)]
    folders = tuple(os.path.dirname(str(module.__file__)) + os.sep for module in loaded)
    frame: FrameType | None = sys._getframe()
    level = 0
    while frame is not None and frame.f_code.co_filename.startswith(folders):
        frame, level = frame.f_back, level + 1
    # In a thread of joblib, no line of the user is among the callers.
    warnings.warn(message, category, stacklevel=level + (frame is not None))
