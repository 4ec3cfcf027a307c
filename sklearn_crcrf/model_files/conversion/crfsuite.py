"""Models of CRFsuite: binary ones, read and written, and their text, read."""

import os
from math import isfinite
from typing import IO, Any

import numpy as np

from ...estimators.crf import CRF
from ...estimators.crfsuite import CRFsuiteCRF
from ...estimators.crfsuite.weights import as_crfsuite_model, from_crfsuite_model
from ...estimators.max_margin import MaxMarginCRF
from ...estimators.perceptron import ArowCRF, PassiveAggressiveCRF, StructuredPerceptron
from ...serving.crfsuite.binary_model import (
    MAGIC,
    CRFsuiteModel,
    Entries,
    crfsuite_bytes,
    parse_crfsuite_model,
)
from ...serving.crfsuite.content import separator_of
from ...utils.replacing import replacing
from ...utils.unpacking import MAX_BYTES, read_unpacked
from ._lines import read_lines

WRITABLE = CRF, MaxMarginCRF, StructuredPerceptron, PassiveAggressiveCRF, ArowCRF

SECTIONS = ("FILEHEADER", "LABELS", "ATTRIBUTES", "TRANSITIONS", "STATE_FEATURES")
ARROW = " --> "
BINARY = MAGIC, "this is a binary model of CRFsuite, which read_crfsuite_model reads"


def read_crfsuite_dump(
    path_or_file: str | os.PathLike | IO,
    *,
    separator: str | None = None,
    max_bytes: int | None = MAX_BYTES,
) -> CRFsuiteCRF:
    r"""Read a model of CRFsuite from its text.

    Parameters
    ----------
    path_or_file : str, path-like or file object
        The output of ``crfsuite dump MODEL``, or of ``dump`` of ``pycrfsuite.Tagger``; it may be
        gzip-compressed. Weights in it have six decimals.
    separator : {":", "="}, default=None
        Joins keys and values of feature dicts. python-crfsuite joins them by ``:``. None is ``=``
        if most attributes contain it, as in ``w[0]=dog``, else ``:``.
    max_bytes : int or None, default=2**32
        Maximum number of bytes of the unpacked file, and of the transition weights; None for no
        limit.

    Returns
    -------
    CRFsuiteCRF
        A fitted estimator. It takes the same tokens as sklearn-crfsuite; a token string is an
        attribute. Its attribute ``crf_`` is the :class:`~sklearn_crcrf.CRF`.

    Raises
    ------
    ValueError
        If the text is not a complete dump; the message names the line.

    Examples
    --------
    >>> import io
    >>> from sklearn_crcrf.model_files.conversion import read_crfsuite_dump
    >>> text = '''FILEHEADER = {
    ... }
    ... LABELS = {
    ...       0: N
    ...       1: D
    ... }
    ... ATTRIBUTES = {
    ...       0: word:the
    ... }
    ... TRANSITIONS = {
    ...   (1) D --> N: 1.500000
    ... }
    ... STATE_FEATURES = {
    ...   (0) word:the --> D: 2.000000
    ... }
    ... '''
    >>> crf = read_crfsuite_dump(io.StringIO(text))
    >>> crf.predict([[{"word": "the"}, {"word": "dog"}]]).tolist()
    [['D', 'N']]
    >>> crf.state_features_
    {('word:the', 'D'): 2.0}
    """
    sections = _sections(read_lines(path_or_file, max_bytes, *BINARY))
    labels, names = _names(sections["LABELS"]), _names(sections["ATTRIBUTES"])
    label, attribute = ({name: i for i, name in enumerate(of)} for of in (labels, names))
    states = _weights(sections["STATE_FEATURES"], attribute, label)
    transitions = _weights(sections["TRANSITIONS"], label, label)
    return _estimator(CRFsuiteModel(labels, names, states, transitions), separator, max_bytes)


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
    data = read_unpacked(path_or_file, max_bytes)
    if isinstance(data, str):
        raise ValueError("a binary model is read from a file that is opened in binary mode")
    if data.lstrip().startswith(b"FILEHEADER"):
        raise ValueError("this is the output of dump, which read_crfsuite_dump reads")
    return _estimator(parse_crfsuite_model(data), separator, max_bytes)


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


def _estimator(model: CRFsuiteModel, separator: str | None, max_bytes: int | None) -> CRFsuiteCRF:
    crf = CRFsuiteCRF()
    names = model.attributes
    separator = separator_of(
        separator, lambda c: np.array([c in name for name in names], dtype=bool), names.__getitem__
    )
    crf.crf_, crf.vectorizer_ = from_crfsuite_model(model, separator, max_bytes)
    return crf


def _sections(lines: list[str]) -> dict[str, list[tuple[int, str]]]:
    """Find the numbered lines of each section."""
    sections: dict[str, list[tuple[int, str]]] = {}
    name = None
    for number, line in enumerate(lines, start=1):
        if name is None and line.endswith(" = {"):
            name = line.removesuffix(" = {")
            sections[name] = []
        elif line == "}":
            if name == SECTIONS[-1]:
                name = None
                break  # python-crfsuite may leave the end of a longer old file after this
            name = None
        elif name is not None:
            sections[name].append((number, line))
        elif line:
            raise ValueError(f"line {number} is not in a section: {line[:80]!r}")
    missing = [section for section in SECTIONS if section not in sections]
    if missing or name is not None:
        raise ValueError(f"the dump is not complete: there is no end of {[*missing, name][0]}")
    if not sections["LABELS"]:
        raise ValueError("the dump has no labels")
    return sections


def _names(lines: list[tuple[int, str]]) -> list[str]:
    """Read the names in a section whose lines are numbered from 0."""
    names: list[str] = []
    for number, line in lines:
        index, colon, name = line.partition(": ")
        if not colon or index.strip() != str(len(names)):
            raise ValueError(f"line {number}: expected '{len(names)}: name', found {line[:80]!r}")
        names.append(name)
    if len(set(names)) < len(names):
        raise ValueError("names of labels or attributes are repeated")
    return names


def _weights(
    lines: list[tuple[int, str]], first: dict[str, int], second: dict[str, int]
) -> Entries:
    """Read the weights of pairs, from lines such as ``(0) word:the --> D: 2.000000``."""
    rows, columns, weights = [], [], []
    for number, line in lines:
        try:
            pair, _, weight = line.strip()[4:].rpartition(": ")
            source, _, target = pair.rpartition(ARROW)
            rows.append(first[source])
            columns.append(second[target])
            weights.append(float(weight))
            if not isfinite(weights[-1]):
                raise ValueError
        except (KeyError, ValueError):
            raise ValueError(f"line {number} is not a weight: {line[:80]!r}") from None
    row, column = (np.array(ids, dtype=np.int64) for ids in (rows, columns))
    return np.array(weights, dtype=float), (row, column)
