"""Model files: a header in JSON and arrays, checked when they are read, and never a pickle."""

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from .._version import __version__
from ..base.classifier import BaseSequenceClassifier
from ..base.unwrap import single_steps, steps_of
from ..serving import Tagger
from ..serving.content import Content
from ..serving.files import MODEL, WrongFileError, is_tagger_file, read_content, write_content
from ..text import TextTagger
from ..utils.replaced_parts import check_fitted
from ..utils.unpacking import MAX_BYTES, Budget, TooLargeError, check_max_bytes
from .compact import CompactClassifier, load_compact, save_compact
from .objects import Reader, UntrustedError, Writer, check_names

VERSION = 1
# Of compression.
LEVEL = 1


class _Stored(NamedTuple):
    estimator: Any
    columns: list[str | None] | None


class StoredModel(_Stored):
    """The content of a model file, which unpacks to the estimator and the columns.

    Parameters
    ----------
    estimator : estimator
        A fitted sequence classifier, or a pipeline that ends in one.
    columns : list of str or None, or None
        The columns of the training file, see :func:`~sklearn_crcrf.datasets.read_conll`, if known.

    Attributes
    ----------
    separator : str or None
        What separated the columns, as ``sep`` of :func:`~sklearn_crcrf.datasets.read_conll`.

    Examples
    --------
    >>> from sklearn_crcrf import HMM
    >>> from sklearn_crcrf.model_files import StoredModel
    >>> stored = StoredModel(HMM().fit([["the", "dog"]], [["D", "N"]]), ["word", "label"])
    >>> stored.estimator.predict([["dog"]]).tolist(), stored.columns
    ([['N']], ['word', 'label'])
    """

    separator: str | None = None

    @classmethod
    def of(cls, estimator: Any, columns: Any, separator: Any) -> "StoredModel":
        """Make one with all three; ValueError if the separator is no text."""
        if not isinstance(separator, str | None):
            raise ValueError("the separator of columns is not text")
        stored = cls(estimator, columns)
        stored.separator = separator
        return stored


def save_model(
    estimator: Any,
    path: str | os.PathLike,
    columns: Sequence[str | None] | None = None,
    *,
    separator: str | None = None,
    compact: bool = False,
) -> None:
    """Write a fitted estimator to a file; an old file is replaced once the new one is complete.

    Parameters
    ----------
    estimator : fitted estimator
        A sequence classifier of this package, or a pipeline that ends in one.
    path : str or path-like
        The file to write, usually ``.crcrf``.
    columns : sequence of str or None, optional
        The columns of the training file, to be kept with the model.
    separator : str, optional
        What separates them, as ``sep`` of :func:`~sklearn_crcrf.datasets.read_conll`.
    compact : bool, default=False
        Whether to keep only what prediction needs, with weights in single precision. The file is
        about a quarter as large, and is mapped into memory; if its name ends in ".gz", it is
        compressed. :func:`load_model` makes a
        :class:`~sklearn_crcrf.model_files.CompactClassifier` of it, which cannot be trained on.

    Raises
    ------
    NotFittedError
        If the estimator, or a transformer before it, is not fitted; the message names it.
    TypeError
        If labels are neither str, int, float, bool nor None, and ``compact`` is true.
    ValueError
        If ``columns`` is not a list of names.
        If ``compact`` is true and the estimator has no :class:`~sklearn_crcrf.serving.Tagger`; the
        message says why.
        If :func:`load_model` could not read the file, because the estimator contains classes of
        other packages, or is not sound; or if ``path`` is not a regular file. An old file stays
        as it was.
    OSError
        If the file cannot be written. An old file stays as it was.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn_crcrf import HMM
    >>> from sklearn_crcrf.model_files import load_model, save_model
    >>> hmm = HMM().fit([["the", "dog"]], [["D", "N"]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(hmm, Path(folder) / "model.crcrf")
    ...     load_model(Path(folder) / "model.crcrf").estimator.predict([["the", "dog"]]).tolist()
    [['D', 'N']]
    """
    if hasattr(estimator, "best_estimator_"):
        raise ValueError("a model file holds a model, not a search: pass its best_estimator_")
    if isinstance(estimator, Tagger):
        raise ValueError("a model file holds a model, not a tagger: write that by its method save")
    if isinstance(estimator, CompactClassifier) and not compact:
        raise ValueError("a compact model has nothing to train on with: pass compact=True")
    if isinstance(estimator, TextTagger) and compact:
        raise ValueError(
            "a compact file holds what labels tokens, not how text is cut into them: save the "
            "estimator_ of the TextTagger, or pass compact=False"
        )
    names = _checked_names(columns)
    if not compact:
        check_model(estimator)
    transformers, last = steps_of(estimator)
    for part in [*single_steps(transformers), last]:
        check_fitted(part)
    if compact:
        save_compact(estimator, path, names, separator)
        return
    writer = Writer()
    try:
        tree = writer.write(estimator)
        check_names(tree)
        Reader(writer.arrays, Budget(None)).read(tree)
    except RecursionError:
        raise ValueError(
            "a model file cannot hold this estimator: one of its attributes is nested too deep, or "
            "contains itself"
        ) from None
    except UntrustedError as error:
        raise ValueError(f"a model file cannot hold this estimator: {error}") from None
    settings = {"version": VERSION, "columns": names, "separator": separator, "estimator": tree}
    write_content(path, Content(settings, writer.arrays), MODEL, LEVEL)


def _checked_names(columns: Sequence[str | None] | None) -> list[str | None] | None:
    """Return the names of columns, as they are stored."""
    if columns is None:
        return None
    names = list(columns)
    if isinstance(columns, str) or not all(name is None or isinstance(name, str) for name in names):
        raise ValueError(f"columns must be a list of names of columns, got {columns!r}")
    return names


def load_model(path: str | os.PathLike, max_bytes: int | None = MAX_BYTES) -> StoredModel:
    """Read a file that :func:`save_model` wrote.

    Only data and listed classes of this package, scikit-learn, NumPy and SciPy are loaded, so a
    file of unknown origin cannot run its own code, nor write to other files. Inconsistent content
    is refused, so it cannot crash the process either.

    Parameters
    ----------
    path : str or path-like
        The file to read.
    max_bytes : int or None, default=2**32
        Maximum number of bytes of the unpacked file, and of what is made of it; None for no limit.

    Returns
    -------
    StoredModel

    Raises
    ------
    OSError
        If the file cannot be opened.
    ValueError
        If it is damaged, is not a model file, unpacks to more than ``max_bytes``, or names a class
        or function that is not trusted.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn_crcrf import HMM
    >>> from sklearn_crcrf.model_files import load_model, save_model
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.crcrf"
    ...     save_model(HMM().fit([["the", "dog"]], [["D", "N"]]), path, ["word", "label"])
    ...     load_model(path)
    StoredModel(estimator=HMM(), columns=['word', 'label'])
    """
    check_max_bytes(max_bytes)
    if is_tagger_file(path):
        return StoredModel.of(*load_compact(path, max_bytes))
    try:
        stored = _stored(read_content(path, max_bytes, False, MODEL))
        check_model(stored.estimator)
    except OSError:
        raise
    except UntrustedError as error:
        raise ValueError(f"{path} is not trusted: {error}") from error
    except TooLargeError as error:
        raise ValueError(f"{path} is too large: {error}") from error
    except WrongFileError as error:
        raise ValueError(f"{path} {error}") from error
    except Exception as error:  # damaged data fails in many ways
        reason = str(error) or type(error).__name__
        raise ValueError(f"{path} is damaged, or not a model file: {reason}") from error
    return stored


def _stored(content: Content) -> StoredModel:
    version, columns, separator, tree = (
        content.settings[name] for name in ("version", "columns", "separator", "estimator")
    )
    if version != VERSION:
        raise WrongFileError(
            f"has version {version} of the format, and this is sklearn-crcrf {__version__}, which "
            f"reads version {VERSION}; it was written by sklearn-crcrf {content.written}"
        )
    if columns is not None and not all(c is None or isinstance(c, str) for c in list(columns)):
        raise WrongFileError("has columns whose names are not text")
    check_names(tree)
    return StoredModel.of(Reader(content.arrays, content.budget).read(tree), columns, separator)


def check_model(estimator: Any) -> None:
    """Check that a model is a sequence classifier of this package, or a model of annotators.

    Raises
    ------
    ValueError
        If it is neither of them, nor a pipeline that ends in one.
    """
    _, last = steps_of(estimator)
    if isinstance(last, BaseSequenceClassifier):
        return
    # Imported only here, because it imports much.
    from ..estimators.annotators import SequenceLabelModel

    if not isinstance(last, SequenceLabelModel):
        raise ValueError(
            "the estimator must be a sequence classifier of sklearn_crcrf, or a pipeline that ends "
            f"in one, but is a {type(last).__name__}"
        )
