"""Models of CRF++."""

import os
from collections.abc import Iterator
from typing import IO

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import Pipeline, make_pipeline

from ..crf.given_weights import check_labels, crf_with_weights
from ..data.vocabulary import Vocabulary
from ..feature_extraction import SequenceVectorizer, TemplateFeatures
from ..feature_extraction.template_syntax import parse_templates
from ..utils.unpacking import MAX_BYTES
from ._lines import read_lines

__all__ = ["BINARY", "read_crfpp_model"]

# A binary model begins with the version, as four bytes.
BINARY = (
    b"d\0\0\0",
    "this is a binary model of CRF++: train it with crf_learn -t, which also writes its text",
)
BLOCKS = ("header", "labels", "template", "attributes", "weights")


def read_crfpp_model(
    path_or_file: str | os.PathLike | IO, *, max_bytes: int | None = MAX_BYTES
) -> Pipeline:
    r"""Read a model of CRF++ from its text.

    Parameters
    ----------
    path_or_file : str, path-like or file object
        The text that ``crf_learn -t`` writes beside the model; it may be gzip-compressed.
    max_bytes : int or None, default=2**32
        Maximum number of bytes of the unpacked file, and of the transition weights; None for no
        limit.

    Returns
    -------
    Pipeline
        A fitted pipeline: :class:`~sklearn_crcrf.TemplateFeatures` with the template of the model,
        a vectorizer, and a :class:`~sklearn_crcrf.CRF`. It takes the columns of CRF++ data files
        in their order, without the label.

    Raises
    ------
    ValueError
        If the text is not a complete model; the message says what is wrong.

    Examples
    --------
    >>> import io
    >>> from sklearn_crcrf.conversion import read_crfpp_model
    >>> text = "version: 100\ncost-factor: 1\nmaxid: 6\nxsize: 1\n\n"
    >>> text += "D\nN\n\nU00:%x[0,0]\nB\n\n2 B\n0 U00:the\n\n"
    >>> text += "2.0\n-2.0\n0.0\n1.5\n0.0\n0.0\n"
    >>> tagger = read_crfpp_model(io.StringIO(text))
    >>> tagger.predict([["the", "dog"]]).tolist()
    [['D', 'N']]
    >>> tagger["crf"].state_features_
    {('U00=the', 'D'): 2.0, ('U00=the', 'N'): -2.0}
    """
    blocks = _blocks(read_lines(path_or_file, max_bytes, *BINARY))
    labels, n = blocks["labels"], len(blocks["labels"])
    check_labels(labels, max_bytes)
    weights = _weights(blocks)
    features = TemplateFeatures("\n".join(blocks["template"]))
    transitions, of_labels, of_pairs, n_used = np.zeros((n, n)), {}, {}, 0
    for start, attribute in _attributes(blocks["attributes"]):
        size = n * n if attribute.startswith("B") else n
        n_used += size
        if max(start + size, n_used) > len(weights):
            raise ValueError(f"the attribute {attribute!r} has no weights of its own")
        own = weights[start : start + size]
        if attribute == "B":
            transitions += own.reshape(n, n)
        elif attribute.startswith("B"):
            of_pairs[attribute] = own.reshape(n, n)
        else:
            of_labels[attribute] = own
    coef = np.zeros((len(of_labels) + len(of_pairs), n))
    coef[: len(of_labels)] = np.array([*of_labels.values()]).reshape(-1, n)
    names = [*_renamed([*of_labels, *of_pairs], blocks["template"])]
    edges = dict(enumerate(of_pairs.values(), start=len(of_labels)))
    vectorizer = SequenceVectorizer()
    vectorizer.vocabulary_ = Vocabulary(names)
    crf = crf_with_weights(names, labels, sp.coo_array(coef), transitions, edges)
    return make_pipeline(features, vectorizer, crf)


def _blocks(lines: list[str]) -> dict[str, list[str]]:
    """The blocks of lines between blank lines, by name."""
    found: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            found[-1].append(line)
        elif found[-1]:
            found.append([])
    found = [block for block in found if block]
    if len(found) != len(BLOCKS):
        raise ValueError(
            f"the model is not complete: it must have {', '.join(BLOCKS)}, but has {len(found)} "
            "parts"
        )
    return dict(zip(BLOCKS, found, strict=True))


def _weights(blocks: dict[str, list[str]]) -> np.ndarray:
    header = dict(line.partition(":")[::2] for line in blocks["header"])
    try:
        factor, n_weights = float(header["cost-factor"]), int(header["maxid"])
        weights = factor * np.array(blocks["weights"], dtype=float)
    except (KeyError, ValueError) as error:
        raise ValueError(f"the header or a weight is damaged: {error}") from None
    if not np.isfinite(weights).all():
        raise ValueError("a weight is not finite")
    if len(weights) != n_weights:
        raise ValueError(f"there are {len(weights)} weights, but maxid is {n_weights}")
    return weights


def _attributes(lines: list[str]) -> Iterator[tuple[int, str]]:
    """The start of its weights and the name, for each attribute."""
    for line in lines:
        start, _, attribute = line.partition(" ")
        if not start.isdecimal() or not attribute:
            raise ValueError(f"not an attribute: {line[:80]!r}")
        yield int(start), attribute


def _renamed(attributes: list[str], template: list[str]) -> Iterator[str]:
    """Rename attributes: ``U00:the`` of CRF++ is ``U00=the`` here."""
    parsed = parse_templates("\n".join(template), "crf++")
    starts = [line.strip().partition("%")[0] for line in template]
    keys = {start: of.key for start, of in zip(starts, parsed, strict=True)}
    for attribute in attributes:
        fitting = [start for start in keys if attribute.startswith(start)]
        if not fitting:
            raise ValueError(f"no template makes the attribute {attribute!r}")
        start = max(fitting, key=len)
        yield f"{keys[start]}={attribute.removeprefix(start)}"
