"""Binary models of CRFsuite, read and written."""

import os
from typing import IO, Any

from ...estimators.crf import CRF
from ...estimators.crfsuite import CRFsuiteCRF
from ...estimators.crfsuite.binary_model import crfsuite_bytes, parse_crfsuite_model
from ...estimators.crfsuite.weights import as_crfsuite_model, from_crfsuite_model
from ...estimators.max_margin import MaxMarginCRF
from ...estimators.perceptron import ArowCRF, PassiveAggressiveCRF, StructuredPerceptron
from ...utils.replacing import replacing
from ...utils.unpacking import MAX_BYTES
from ._lines import read_content
from .crfsuite import separator_of

__all__ = ["read_crfsuite_model", "write_crfsuite_model"]

WRITABLE = CRF, MaxMarginCRF, StructuredPerceptron, PassiveAggressiveCRF, ArowCRF


def read_crfsuite_model(
    path_or_file: str | os.PathLike | IO,
    *,
    separator: str | None = None,
    max_bytes: int | None = MAX_BYTES,
) -> CRFsuiteCRF:
    """Read a binary model of CRFsuite.

    Parameters
    ----------
    path_or_file : str, path-like or binary file object
        A file that CRFsuite, python-crfsuite or sklearn-crfsuite has written; it may be
        gzip-compressed.
    separator : {":", "="}, default=None
        As in :func:`read_crfsuite_dump`.
    max_bytes : int or None, default=2**32
        Maximum number of bytes of the unpacked file, and of the transition weights; None for no
        limit.

    Returns
    -------
    CRFsuiteCRF
        A fitted estimator, as :func:`read_crfsuite_dump` returns it, with the weights as they are
        in the file.

    Raises
    ------
    ValueError
        If the file is not a complete model; the message says what is wrong.

    See Also
    --------
    read_crfsuite_dump : Read the text that ``dump`` of CRFsuite writes.

    Notes
    -----
    The model labels as CRFsuite does. If several labellings have exactly the same score, such as
    all labels of a single token without any known attribute, it takes the first in sorted order.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn_crcrf import CRFsuiteCRF
    >>> from sklearn_crcrf.model_files.conversion import read_crfsuite_model, write_crfsuite_model
    >>> X, y = [[{"word": "the"}, {"word": "dog"}]], [["D", "N"]]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_crfsuite_model(CRFsuiteCRF().fit(X, y), f"{folder}/model.crfsuite")
    ...     crf = read_crfsuite_model(f"{folder}/model.crfsuite")
    >>> crf.predict(X)
    [['D', 'N']]
    """
    data = read_content(path_or_file, max_bytes)
    if isinstance(data, str):
        raise ValueError("a binary model is read from a file that is opened in binary mode")
    if data.lstrip().startswith(b"FILEHEADER"):
        raise ValueError("this is the output of dump, which read_crfsuite_dump reads")
    model = parse_crfsuite_model(data)
    crf = CRFsuiteCRF()
    separator = separator_of(model.attributes, separator)
    crf.crf_, crf.vectorizer_ = from_crfsuite_model(model, separator, max_bytes)
    return crf


def write_crfsuite_model(estimator: Any, path: str | os.PathLike) -> None:
    """Write a binary model of CRFsuite.

    Parameters
    ----------
    estimator : CRFsuiteCRF, CRF, MaxMarginCRF, StructuredPerceptron, PassiveAggressiveCRF, ArowCRF
        A fitted estimator whose labels are strings, and whose tokens were feature dicts or
        strings. Attributes keep the names of ``state_features_``: the key and the value of a
        feature dict, joined by ":" in CRFsuiteCRF, and by "=" in the others.
    path : str or path-like
        File to write; an existing file is replaced when the new one is complete.

    Raises
    ------
    TypeError
        If it is another estimator.
    ValueError
        If a model of CRFsuite cannot hold some weights or names; the message says which.

    Notes
    -----
    Attributes without a weight are left out, as CRFsuite does. It labels by the best path, with
    whatever ``decoding`` the estimator has.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn_crcrf import CRF
    >>> from sklearn_crcrf.model_files.conversion import write_crfsuite_model
    >>> crf = CRF().fit([["the", "dog"]], [["D", "N"]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_crfsuite_model(crf, f"{folder}/model.crfsuite")
    ...     Path(f"{folder}/model.crfsuite").read_bytes()[:4]
    b'lCRF'
    """
    if isinstance(estimator, CRFsuiteCRF):
        estimator = estimator.crf_
    if type(estimator) not in WRITABLE:
        raise TypeError(
            f"a model of CRFsuite cannot hold {type(estimator).__name__}; it can hold CRFsuiteCRF, "
            f"{', '.join(one.__name__ for one in WRITABLE)}"
        )
    content = crfsuite_bytes(as_crfsuite_model(estimator))
    with replacing(path) as file:
        file.write(content)
