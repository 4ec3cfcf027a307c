"""Models of Wapiti, read and written."""

import codecs
import os
import re
from collections.abc import Iterable
from typing import IO, Any

import numpy as np
from sklearn.pipeline import Pipeline

from ...utils.byte_letters import bytes_of, text_of
from ...utils.replacing import replacing
from ...utils.unpacking import MAX_BYTES, check_encoding, read_unpacked
from ._lines import decoded
from ._templates import TemplateModel, as_pipeline, from_pipeline

MAGIC = b"#mdl#"
HEADER = re.compile(rb"#mdl#(?:(\d{1,9})#)?(\d{1,18})\n#rdr#(\d{1,9})/(\d{1,9})(?:/(\d))?\n")
TYPES = ("maxent", "memm", "crf")
OF_BYTES = re.compile(r"%[XMTtm]\[")


def read_wapiti_model(
    path_or_file: str | os.PathLike | IO,
    *,
    encoding: str = "utf-8",
    max_bytes: int | None = MAX_BYTES,
) -> Pipeline:
    r"""Read a model of Wapiti.

    Parameters
    ----------
    path_or_file : str, path-like or file object
        The file that ``wapiti train`` writes; it may be gzip-compressed.
    encoding : str, default="utf-8"
        Encoding of the data that it was trained on.
    max_bytes : int or None, default=2**32
        Maximum number of bytes of the unpacked file, and of the transition weights; None for no
        limit.

    Returns
    -------
    Pipeline
        A fitted pipeline: :class:`~sklearn_crcrf.TemplateFeatures` with the patterns of the model,
        a vectorizer, and a :class:`~sklearn_crcrf.CRF`. It takes the columns of Wapiti's data files
        in their order, without the label. Regular expressions and lower case are of bytes, as in
        Wapiti, if the encoding is UTF-8; in others, letters outside ASCII have classes and lower
        case. A model without patterns has no TemplateFeatures: a token is a dict such as
        ``{"u:word=dog": True}``.

    Raises
    ------
    ValueError
        If the file is not a complete model of the type crf or maxent, or no pattern makes an
        attribute; the message says what is wrong.

    Examples
    --------
    >>> import io
    >>> from sklearn_crcrf.model_files.conversion import read_wapiti_model
    >>> text = "#mdl#2#3\n#rdr#2/1/0\n11:u:w=%x[0,0],\n1:b,\n#qrk#2\n1:D,\n1:N,\n"
    >>> text += "#qrk#2\n7:u:w=the,\n1:b,\n0=0x1.0p+1\n1=-0x1.0p+1\n3=0x1.8p+0\n"
    >>> tagger = read_wapiti_model(io.StringIO(text))
    >>> tagger.predict([["the", "dog"]]).tolist()
    [['D', 'N']]
    >>> tagger["crf"].state_features_
    {('u:w=the', 'D'): 2.0, ('u:w=the', 'N'): -2.0}
    """
    check_encoding(encoding)
    given = read_unpacked(path_or_file, max_bytes)
    data = given.encode(encoding) if isinstance(given, str) else given
    header = HEADER.match(data)
    if header is None:
        raise ValueError("this is not the beginning of a model of Wapiti: #mdl#, then #rdr#")
    kind, n_given, n_patterns, _, alone = (int(part or 0) for part in header.groups())
    if TYPES[kind : kind + 1] == ("memm",) or kind >= len(TYPES):
        raise ValueError(f"a model of the type {TYPES[1] if kind == 1 else kind} is no CRF")
    if alone:
        raise ValueError("a model that was trained with --me labels single tokens: it is no CRF")
    patterns, at = _strings(data, header.end(), n_patterns, encoding)
    labels, at = _strings(data, at, None, encoding)
    is_utf8 = codecs.lookup(encoding).name == "utf-8"
    attributes, at = _strings(data, at, None, None if is_utf8 else encoding)
    if not labels:
        raise ValueError("the model has no labels")
    wrong = [name for name in attributes if not name.startswith(("u", "b", "*", "U", "B"))]
    if wrong:
        raise ValueError(f"the attribute {wrong[0]!r} begins with none of u, b and *")
    attributes, patterns = map(_with_small_letters, (attributes, patterns))
    index, weights = _weights(data[at:])
    if len(index) != n_given:
        raise ValueError(f"there are {len(index)} weights, but the header says {n_given}")
    model = TemplateModel(labels, patterns, attributes, index[:0], 0, index, weights)
    ends = np.cumsum(model.sizes())
    n_weights = int(ends[-1]) if len(ends) else 0
    if len(index) and (index[0] < 0 or index[-1] >= n_weights or not np.diff(index).all()):
        raise ValueError(f"numbers of weights are repeated, or above {n_weights - 1}")
    model = model._replace(starts=ends - model.sizes(), n_weights=n_weights)
    of_bytes = is_utf8 and any(map(OF_BYTES.search, patterns))
    return as_pipeline(model, "wapiti-bytes" if of_bytes else "wapiti", max_bytes)


def write_wapiti_model(pipeline: Any, path: str | os.PathLike) -> None:
    """Write a model of Wapiti.

    Parameters
    ----------
    pipeline, path : as in :func:`~sklearn_crcrf.model_files.conversion.write_crfpp_model`
        The pipeline has patterns of Wapiti, ``syntax="wapiti"``.

    Raises
    ------
    TypeError
        If it is something else.
    ValueError
        If a model of Wapiti cannot hold some weights or names; the message says which.

    Notes
    -----
    Weights are written exactly. Regular expressions and lower case of letters outside ASCII are the
    same in Wapiti only with ``syntax="wapiti-bytes"``. Attributes without a weight are left out.
    Wapiti labels by the best path, with whatever ``decoding`` the classifier has.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn_crcrf import CRF, TemplateFeatures
    >>> from sklearn_crcrf.model_files.conversion import read_wapiti_model, write_wapiti_model
    >>> tagger = make_pipeline(TemplateFeatures("u:w=%x[0,0]", syntax="wapiti"), CRF())
    >>> tagger = tagger.fit([["the", "dog"]], [["D", "N"]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_wapiti_model(tagger, f"{folder}/model")
    ...     read_wapiti_model(f"{folder}/model").predict([["the", "dog"]]).tolist()
    [['D', 'N']]
    """
    model = from_pipeline(pipeline, "wapiti", "Wapiti")
    for name in model.labels:
        if not name or re.search(r"[\s\0]", name, re.ASCII):
            raise ValueError(f"a model of Wapiti cannot hold the label {name!r}: it has a space")
    columns = [int(c) for line in model.template for c in re.findall(r"\[[^,]*,\s*(\d+)", line)]
    lines = [
        f"#mdl#2#{len(model.weights)}\n#rdr#{len(model.template)}/{max(columns, default=0)}/0\n",
        *_netstrings(model.template),
    ]
    for names in (model.labels, model.attributes):
        lines += [f"#qrk#{len(names)}\n", *_netstrings(names)]
    pairs = zip(model.numbers.tolist(), model.weights.tolist(), strict=True)
    lines += [f"{number}={weight.hex()}\n" for number, weight in pairs]
    with replacing(path) as file:
        file.write(bytes_of("".join(lines)))


def _netstrings(names: Iterable[str]) -> Iterable[str]:
    return (f"{len(bytes_of(name))}:{name},\n" for name in names)


def _strings(data: bytes, at: int, n: int | None, encoding: str | None) -> tuple[list[str], int]:
    """Read strings, each after its number of bytes; without n, their number stands before them.

    Without an encoding, bytes that are no text in UTF-8 are letters of the private range.
    """
    if n is None:
        number = re.compile(rb"#qrk#(\d{1,18})\n").match(data, at)
        if number is None:
            raise ValueError(f"byte {at}: expected '#qrk#' and a number")
        n, at = int(number[1]), number.end()
    length, found = re.compile(rb"(\d{1,10}):"), []
    for _ in range(n):
        head = length.match(data, at)
        stop = head.end() + int(head[1]) if head else len(data)
        if head is None or data[stop : stop + 2] != b",\n":
            raise ValueError(f"byte {at}: expected a length, ':', as many bytes, and ','")
        found.append(data[head.end() : stop])
        at = stop + 2
    joined = b"\n".join(found)
    text = (decoded(joined, encoding) if encoding else text_of(joined)).split("\n") if found else []
    if len(text) != n or not all(text):
        raise ValueError(f"byte {at}: a string above has a line break, or is empty")
    return text, at


def _with_small_letters(names: list[str]) -> list[str]:
    return [name[0].lower() + name[1:] for name in names]


def _weights(data: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Read lines of a number and its weight, in hexadecimal or decimal digits, in any order."""
    numbers, weights = [], []
    for line in data.split(b"\n"):
        if not line.strip():
            continue
        number, _, weight = line.partition(b"=")
        try:
            if not re.fullmatch(rb"\d{1,18}", number):
                raise ValueError
            numbers.append(int(number))
            text = weight.decode("ascii")
            weights.append(float.fromhex(text) if "x" in text else float(text))
        except (ValueError, OverflowError):
            shown = line[:80].decode(errors="replace")
            raise ValueError(f"not a number and its weight: {shown!r}") from None
    index, values = np.array(numbers, dtype=np.int64), np.array(weights, dtype=float)
    order = np.argsort(index, kind="stable")
    return index[order], values[order]
