"""Models of CRF++: their text, read and written, and binary ones, read."""

import io
import os
import re
import struct
from typing import IO, Any

import numpy as np
from sklearn.pipeline import Pipeline

from ...utils.replacing import replacing
from ...utils.unpacking import MAX_BYTES, Budget, check_encoding, read_unpacked
from ._lines import decoded
from ._templates import TemplateModel, as_pipeline, from_pipeline

# A binary model begins with the version, as four bytes.
BINARY = b"d\0\0\0"
BLOCKS = ("header", "labels", "template", "attributes", "weights")


def read_crfpp_model(
    path_or_file: str | os.PathLike | IO,
    *,
    encoding: str = "utf-8",
    max_bytes: int | None = MAX_BYTES,
) -> Pipeline:
    r"""Read a model of CRF++, binary or from its text.

    Parameters
    ----------
    path_or_file : str, path-like or file object
        The model that ``crf_learn`` writes, or the text that ``crf_learn -t`` writes beside it; it
        may be gzip-compressed.
    encoding : str, default="utf-8"
        Encoding of the data that it was trained on.
    max_bytes : int or None, default=2**32
        Maximum number of bytes of the unpacked file, of the transition weights, and of the
        attributes; None for no limit.

    Returns
    -------
    Pipeline
        A fitted pipeline: :class:`~sklearn_crcrf.TemplateFeatures` with the template of the model,
        a vectorizer, and a :class:`~sklearn_crcrf.CRF`. It takes the columns of CRF++ data files
        in their order, without the label.

    Raises
    ------
    ValueError
        If the file is not a complete model, or no line of the template makes an attribute; the
        message says what is wrong.

    Examples
    --------
    >>> import io
    >>> from sklearn_crcrf.model_files.conversion import read_crfpp_model
    >>> text = "version: 100\ncost-factor: 1\nmaxid: 6\nxsize: 1\n\n"
    >>> text += "D\nN\n\nU00:%x[0,0]\nB\n\n2 B\n0 U00:the\n\n"
    >>> text += "2.0\n-2.0\n0.0\n1.5\n0.0\n0.0\n"
    >>> tagger = read_crfpp_model(io.StringIO(text))
    >>> tagger.predict([["the", "dog"]]).tolist()
    [['D', 'N']]
    >>> tagger["crf"].state_features_
    {('U00=the', 'D'): 2.0, ('U00=the', 'N'): -2.0}
    """
    check_encoding(encoding)
    data = read_unpacked(path_or_file, max_bytes)
    if isinstance(data, bytes) and data.startswith(BINARY):
        model = _from_binary(data, encoding, max_bytes)
    else:
        text = data.encode(encoding) if isinstance(data, str) else data
        model = _from_text(text, encoding)
    return as_pipeline(model, "crf++", max_bytes)


def write_crfpp_model(pipeline: Any, path: str | os.PathLike) -> None:
    """Write a model of CRF++ as text, which ``crf_learn -C TEXT MODEL`` turns into a binary model.

    Parameters
    ----------
    pipeline : Pipeline
        A fitted pipeline of :class:`~sklearn_crcrf.TemplateFeatures`, a
        :class:`~sklearn_crcrf.SequenceVectorizer` or none, and a :class:`~sklearn_crcrf.CRF`,
        :class:`~sklearn_crcrf.MaxMarginCRF`, :class:`~sklearn_crcrf.StructuredPerceptron`,
        :class:`~sklearn_crcrf.PassiveAggressiveCRF` or :class:`~sklearn_crcrf.ArowCRF`, whose
        labels are strings.
    path : str or path-like
        File to write, in UTF-8; an existing file is replaced when the new one is complete.

    Raises
    ------
    TypeError
        If it is something else.
    ValueError
        If a model of CRF++ cannot hold some weights or names; the message says which.

    Notes
    -----
    Binary models have weights in single precision. Attributes without a weight are left out. CRF++
    labels by the best path, with whatever ``decoding`` the classifier has.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn_crcrf import CRF, TemplateFeatures
    >>> from sklearn_crcrf.model_files.conversion import write_crfpp_model
    >>> tagger = make_pipeline(TemplateFeatures("U00:%x[0,0]\\nB"), CRF())
    >>> tagger = tagger.fit([["the", "dog"]], [["D", "N"]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_crfpp_model(tagger, f"{folder}/model.txt")
    ...     Path(f"{folder}/model.txt").read_text().split("\\n")[:8]
    ['version: 100', 'cost-factor: 1', 'maxid: 8', 'xsize: 1', '', 'D', 'N', '']
    """
    model = from_pipeline(pipeline, "crf++", "CRF++")
    if not model.attributes:
        raise ValueError("a model of CRF++ cannot hold no weights: all of this one are zero")
    for names, what in ((model.labels, "the label"), (model.attributes, "the attribute")):
        for name in names:
            if not name or re.search(r"[ \t\n\r\0]", name):
                raise ValueError(f"a model of CRF++ cannot hold {what} {name!r}: it has a space")
    weights = np.zeros(model.n_weights)
    weights[model.numbers] = model.weights
    columns = [int(c) for line in model.template for c in re.findall(r",\s*(\d+)\s*\]", line)]
    header = ["version: 100", "cost-factor: 1", f"maxid: {len(weights)}"]
    header.append(f"xsize: {max(columns, default=0) + 1}")
    starts = zip(model.starts.tolist(), model.attributes, strict=True)
    attributes = [f"{start} {attribute}" for start, attribute in starts]
    numbers = [f"{weight:.17g}" for weight in weights.tolist()]
    blocks = header, model.labels, model.template, attributes, numbers
    with replacing(path) as file:
        file.write(("\n\n".join(map("\n".join, blocks)) + "\n").encode())


def _from_text(data: bytes, encoding: str) -> TemplateModel:
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
    data = data.removeprefix("\ufeff".encode())
    found = [part for part in re.split(rb"\n(?:[ \t]*\n)+", b"\n" + data + b"\n") if part.strip()]
    if len(found) != len(BLOCKS):
        raise ValueError(
            f"the model is not complete: it must have {', '.join(BLOCKS)}, but has {len(found)} "
            "parts"
        )
    header, labels, template, attributes = (
        decoded(part, encoding).strip("\n").split("\n") for part in found[:-1]
    )
    values = dict(line.partition(":")[::2] for line in header)
    try:
        factor, n_weights = float(values["cost-factor"]), int(values["maxid"])
        weights = np.loadtxt(io.BytesIO(found[-1]), dtype=float, comments=None, ndmin=1)
        with np.errstate(invalid="ignore", over="ignore"):
            weights = factor * weights.ravel()
    except (KeyError, ValueError) as error:
        raise ValueError(f"the header or a weight is damaged: {error}") from None
    if len(weights) != n_weights:
        raise ValueError(f"there are {len(weights)} weights, but maxid is {n_weights}")
    starts: dict[str, int] = {}
    for line in attributes:
        start, _, name = line.partition(" ")
        if not start.isdecimal() or not name or name in starts:
            raise ValueError(f"not an attribute, or one that is repeated: {line[:80]!r}")
        starts[name] = min(int(start), n_weights)
    return _model(labels, template, [*starts], [*starts.values()], weights)


def _model(
    labels: list[str], template: list[str], names: list[str], starts: Any, weights: np.ndarray
) -> TemplateModel:
    """Return the model, with all weights that are not zero."""
    index = np.flatnonzero(weights)
    lines = [line for line in template if not line.startswith("#")]
    starts = np.array(starts, dtype=np.int64)
    return TemplateModel(labels, lines, names, starts, len(weights), index, weights[index])


def _from_binary(data: bytes, encoding: str, max_bytes: int | None) -> TemplateModel:
    """Read a header, the labels and lines, a double array of all attributes, and the weights."""
    try:
        _, _, factor, n_weights, _, n_trie, n_labels = struct.unpack_from("<IIdIIII", data)
        at = struct.calcsize("<IIdIIII")
        stop = at + n_labels
        (n_template,) = struct.unpack_from("<I", data, stop)
        texts = data[at:stop], data[stop + 4 : stop + 4 + n_template]
        at = stop + 4 + n_template
        trie = np.frombuffer(data, "<i4", n_trie // 8 * 2, at).reshape(-1, 2)
        with np.errstate(invalid="ignore", over="ignore"):
            weights = factor * np.frombuffer(data, "<f4", n_weights, at + n_trie).astype(float)
    except (struct.error, ValueError):
        raise ValueError("the model is not complete") from None
    if len(data) != at + n_trie + 4 * n_weights:
        raise ValueError("the model is not complete, or has more than its header says")
    labels, template = (decoded(text.strip(b"\0"), encoding).split("\0") for text in texts)
    keys, starts = _keys(trie, max_bytes)
    return _model(labels, template, decoded(keys, encoding).split("\0")[:-1], starts, weights)


def _keys(trie: np.ndarray, max_bytes: int | None) -> tuple[bytes, np.ndarray]:
    """Return the keys of a double array, each followed by a NUL, and their values, in order.

    A node has a base b > 0. Its child by the byte c is at the place b + 1 + c, and the value v of
    the key that ends in it at the place b, as -1 - v; all these have the check b. The base of the
    root is at the place 0 (Aoe 1989, "An efficient digital search algorithm by using a double-array
    structure"). So a walk from a value to the root reads its key backwards.
    """
    base, check = np.array(trie.T, dtype=np.int64)
    n, place = len(base), np.arange(len(base))
    byte = place - check - 1
    is_node = (base > 0) & (base < n) & (check > 0) & (byte > 0) & (byte < 256)
    above = np.zeros(n, dtype=np.int64)  # the place that has a base
    above[base[is_node]] = place[is_node]
    root = base[0] if n and 0 < base[0] < n else 0
    above[root] = 0
    leaves = np.flatnonzero((base < 0) & (check == place) & (place > 0))
    leaves = leaves[np.argsort(-base[leaves])]
    # The parent of each base, and its distance; twice as far in each round.
    parent, depth = np.where(above > 0, check[above], place), (above > 0).astype(np.int64)
    for _ in range(n.bit_length()):
        depth += depth[parent]
        parent = parent[parent]
    if not len(leaves) or not root or (parent[leaves] != root).any():
        raise ValueError("the attributes are damaged: the double array is no tree")
    Budget(max_bytes).take(int(depth[leaves].sum()) + len(leaves))
    ends = np.cumsum(depth[leaves] + 1) - 1
    keys = np.zeros(ends[-1] + 1, dtype=np.uint8)
    at, node = ends - 1, leaves
    while len(node):
        left = node != root
        at, node = at[left], node[left]
        keys[at] = byte[above[node]]
        at, node = at - 1, check[above[node]]
    return keys.tobytes(), -1 - base[leaves]
