"""Files of models: written by skops, checked when they are read, and never a pickle."""

import importlib
import os
import zipfile
from collections.abc import Sequence
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

from . import __version__

__all__ = ["StoredModel", "load_model", "require_skops", "save_model"]

FORMAT, VERSION = "sklearn-crcrf model", 1
# Data of fitted estimators that skops asks about, besides what this package defines.
TRUSTED = {
    "scipy.sparse._csr.csr_array",
    "scipy.sparse._csc.csc_array",
    "scipy.sparse._coo.coo_array",
    "sklearn.tree._classes.DecisionTreeRegressor",
    "sklearn.tree._tree.Tree",
}


class StoredModel(NamedTuple):
    """What a model file holds.

    Parameters
    ----------
    estimator : estimator
        Fitted: a sequence classifier, or a pipeline that ends in one.
    columns : list of str or None, or None
        The columns of the file that it was trained on, see
        :func:`~sklearn_crcrf.datasets.read_conll`, if these are known.

    Examples
    --------
    >>> from sklearn_crcrf import HMM
    >>> from sklearn_crcrf.model_files import StoredModel
    >>> stored = StoredModel(HMM().fit([["the", "dog"]], [["D", "N"]]), ["word", "label"])
    >>> stored.estimator.predict([["dog"]]).tolist(), stored.columns
    ([['N']], ['word', 'label'])
    """

    estimator: Any
    columns: list[str | None] | None


def save_model(
    estimator: Any, path: str | os.PathLike, columns: Sequence[str | None] | None = None
) -> None:
    """Write a fitted estimator to a file; one that is there is replaced when all is written.

    Parameters
    ----------
    estimator : fitted estimator
        A sequence classifier of this package, or a pipeline that ends in one.
    path : str or path-like
    columns : sequence of str or None, optional
        The columns of the file that it was trained on.

    Raises
    ------
    ImportError
        If skops is not installed.
    ValueError
        If :func:`load_model` could not read the file, because the estimator has parts that are
        defined elsewhere.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn_crcrf import HMM
    >>> from sklearn_crcrf.model_files import load_model, save_model
    >>> hmm = HMM().fit([["the", "dog"]], [["D", "N"]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(hmm, Path(folder) / "model.skops")
    ...     load_model(Path(folder) / "model.skops").estimator.predict([["the", "dog"]]).tolist()
    [['D', 'N']]
    """
    io = require_skops()
    path = os.fspath(path)
    content = {
        "format": FORMAT,
        "version": VERSION,
        "package": __version__,
        "columns": None if columns is None else list(columns),
        "estimator": estimator,
    }
    written = f"{path}.{os.getpid()}.part"
    try:
        io.dump(content, written, compression=zipfile.ZIP_DEFLATED, compresslevel=1)
        foreign = _foreign(io.get_untrusted_types(file=written))
        if foreign:
            raise ValueError(f"a model file cannot hold {', '.join(foreign)}")
        os.replace(written, path)
    finally:
        if os.path.exists(written):
            os.remove(written)


def load_model(path: str | os.PathLike) -> StoredModel:
    """Read a file that :func:`save_model` wrote.

    Nothing but data, and classes of this package, scikit-learn, NumPy and SciPy, is made of it,
    so a file of unknown origin cannot run code of its own.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    StoredModel

    Raises
    ------
    ImportError
        If skops is not installed.
    OSError
        If the file cannot be opened.
    ValueError
        If it is damaged, is no model file, or holds what is not trusted.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn_crcrf import HMM
    >>> from sklearn_crcrf.model_files import load_model, save_model
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.skops"
    ...     save_model(HMM().fit([["the", "dog"]], [["D", "N"]]), path, ["word", "label"])
    ...     load_model(path)
    StoredModel(estimator=HMM(), columns=['word', 'label'])
    """
    io = require_skops()
    with open(path, "rb") as file:
        data = file.read()
    if not data.startswith(b"PK\x03\x04"):
        raise ValueError(f"{path} is not a model file of sklearn-crcrf")
    try:
        untrusted = io.get_untrusted_types(data=data)
        foreign = _foreign(untrusted)
        content = None if foreign else io.loads(data, trusted=untrusted)
    except Exception as error:  # what is damaged fails in many ways
        raise ValueError(f"{path} is damaged, or not a model file: {error}") from error
    if foreign:
        raise ValueError(f"{path} is not trusted: it holds {', '.join(foreign)}")
    return _checked(content, path)


def require_skops() -> ModuleType:
    """The module ``skops.io``.

    Raises
    ------
    ImportError
        If it is not installed; the message says how to.
    """
    try:
        import skops.io
    except ImportError as error:
        raise ImportError(
            'model files need skops, which is not installed: pip install "sklearn-crcrf[cli]"'
        ) from error
    return skops.io


def _checked(content: Any, path: Any) -> StoredModel:
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(
            f"{path} is not a model file of sklearn-crcrf: it holds a {type(content).__name__}"
        )
    if content.get("version") != VERSION:
        raise ValueError(
            f"{path} has version {content.get('version')} of the format, and this is "
            f"sklearn-crcrf {__version__}, which reads version {VERSION}; it was written by "
            f"sklearn-crcrf {content.get('package')}"
        )
    return StoredModel(content["estimator"], content["columns"])


def _foreign(names: list[str]) -> list[str]:
    """Those of the names that do not stand for anything that is trusted."""
    return sorted(name for name in names if name not in TRUSTED and not _is_ours(name))


def _is_ours(name: str) -> bool:
    """Whether this is a class or function that this package defines, not one it imports."""
    package = f"{__package__}."
    module, _, attribute = name.rpartition(".")
    if not module.startswith(package):
        return False
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError):
        return False
    return isinstance(found, type | FunctionType) and found.__module__.startswith(package)
