"""Models of CRF++."""

import os
from itertools import groupby
from typing import IO

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import Pipeline, make_pipeline

from ...data.vocabulary import Vocabulary
from ...estimators.crf.given_weights import check_labels, crf_with_weights
from ...feature_extraction import SequenceVectorizer, TemplateFeatures
from ...feature_extraction.template_syntax import FeatureTemplate, Macro, parse_templates
from ...utils.unpacking import MAX_BYTES
from ._lines import read_lines

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
        If the text is not a complete model, or no line of the template makes an attribute; the
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
    blocks = _blocks(read_lines(path_or_file, max_bytes, *BINARY))
    labels, n = blocks["labels"], len(blocks["labels"])
    check_labels(labels, max_bytes)
    weights = _weights(blocks)
    features = TemplateFeatures("\n".join(blocks["template"]))
    makers = _Makers(blocks["template"])
    transitions, n_used = np.zeros((n, n)), 0
    label_weights: dict[str, np.ndarray] = {}
    pair_weights: dict[str, np.ndarray] = {}
    for attribute, start in _attributes(blocks["attributes"]).items():
        is_pair = attribute.startswith("B")
        known, shape = (pair_weights, (n, n)) if is_pair else (label_weights, (n,))
        size = n ** len(shape)
        n_used += size
        if max(start + size, n_used) > len(weights):
            raise ValueError(f"the attribute {attribute!r} has no weights of its own")
        own = weights[start : start + size].reshape(shape)
        names, n_times = makers.names_of(attribute)
        if n_times:
            transitions += n_times * own
        for name in names:
            if name in known:
                raise ValueError(f"the attribute {attribute!r} cannot be told from another one")
            known[name] = own
    names = [*label_weights, *pair_weights]
    coef = np.zeros((len(names), n))
    coef[: len(label_weights)] = np.array([*label_weights.values()]).reshape(-1, n)
    edges = dict(enumerate(pair_weights.values(), start=len(label_weights)))
    vectorizer = SequenceVectorizer()
    vectorizer.vocabulary_ = Vocabulary(names)
    crf = crf_with_weights(names, labels, sp.coo_array(coef), transitions, edges)
    return make_pipeline(features, vectorizer, crf)


def _blocks(lines: list[str]) -> dict[str, list[str]]:
    """Find the blocks of lines between blank lines, by name."""
    grouped = groupby(lines, key=lambda line: bool(line.strip(" \t")))
    found = [list(block) for is_filled, block in grouped if is_filled]
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
        with np.errstate(invalid="ignore", over="ignore"):
            weights = factor * np.array(blocks["weights"], dtype=float)
    except (KeyError, ValueError) as error:
        raise ValueError(f"the header or a weight is damaged: {error}") from None
    if not np.isfinite(weights).all():
        raise ValueError("a weight is not finite")
    if len(weights) != n_weights:
        raise ValueError(f"there are {len(weights)} weights, but maxid is {n_weights}")
    return weights


def _attributes(lines: list[str]) -> dict[str, int]:
    """Read where the weights of each attribute start."""
    starts: dict[str, int] = {}
    for line in lines:
        start, _, attribute = line.partition(" ")
        if not start.isdecimal() or not attribute or attribute in starts:
            raise ValueError(f"not an attribute, or one that is repeated: {line[:80]!r}")
        starts[attribute] = int(start)
    return starts


class _Makers:
    """The lines of a template, by the text before the first ``%``.

    CRF++ tells attributes apart by their whole text, so that several lines may make the same one:
    ``U%x[0,0]`` and ``U0%x[0,0]`` make ``U00`` of the words ``00`` and ``0``. Here it is one
    attribute for each of these lines, all with its weights.
    """

    def __init__(self, lines: list[str]):
        self.lines = lines = [line for line in lines if not line.startswith("#")]
        self.by_start: dict[str, list[FeatureTemplate]] = {}
        self.ends: dict[str, str] = {}
        for line, template in zip(lines, parse_templates("\n".join(lines), "crf++"), strict=True):
            text = line.rstrip()
            start, end = text.partition("%")[0], line[len(text) :]
            if self.ends.setdefault(start, end) != end:
                raise ValueError(
                    f"the template has lines that begin with {start!r} with and without spaces at "
                    "the end; to CRF++ their attributes differ: give them different numbers"
                )
            self.by_start.setdefault(start, []).append(template)
        self.lengths = sorted({len(start) for start in self.by_start})

    def names_of(self, attribute: str) -> tuple[list[str], int]:
        """Find the names of an attribute here, and how often a line without ``%x`` makes it."""
        names, n_times = set(), 0
        for length in self.lengths:
            start, rest = attribute[:length], attribute[length:]
            end = self.ends.get(start)
            if len(start) < length or end is None or not rest.endswith(end):
                continue
            rest = rest.removesuffix(end)
            for template in self.by_start[start]:
                if not _can_make(template.parts, rest):
                    continue
                if template.kind == "b" and not template.macros:
                    n_times += 1
                else:
                    names.add(f"{template.key}={rest}")
        if not names and not n_times:
            starts = ([line[:k] for k in range(len(line) + 1)] for line in self.lines)
            n_alike = [sum(map(attribute.startswith, prefixes)) for prefixes in starts]
            closest = self.lines[n_alike.index(max(n_alike))]
            raise ValueError(
                f"no line of the template makes the attribute {attribute!r}; the closest one is "
                f"{closest!r}"
            )
        return sorted(names), n_times


def _can_make(parts: tuple[str | Macro, ...], text: str) -> bool:
    """Whether a text consists of these parts, with any symbol for a macro."""
    if not parts:
        return not text
    at = 0
    for part in parts[:-1]:
        if isinstance(part, str):
            at = text.find(part, at) + len(part)
            if at < len(part):
                return False
    return isinstance(parts[-1], Macro) or text[at:].endswith(parts[-1])
