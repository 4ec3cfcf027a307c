"""The packages that this room needs, with a clear message if they are missing."""

from importlib import import_module
from typing import Any


def require_dask(module: str = "dask") -> Any:
    """Import a module of Dask.

    Parameters
    ----------
    module : str, default="dask"

    Returns
    -------
    module

    Raises
    ------
    ImportError
        If Dask is not installed; the message says how to install it.

    Examples
    --------
    >>> from sklearn_crcrf.dask.packages import require_dask
    >>> require_dask("dask.bag").__name__
    'dask.bag'
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("dask", "distributed", "fsspec"):
            raise
        raise ImportError(
            f'sklearn_crcrf.dask needs {error.name}: pip install "dask[distributed]"'
        ) from error
