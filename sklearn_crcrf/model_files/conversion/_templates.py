"""Models whose attributes the lines of a template make, as in CRF++ and in Wapiti."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import Pipeline, make_pipeline

from ...data.ragged import joined_ranges
from ...data.vocabulary import Vocabulary
from ...estimators.crf import CRF
from ...estimators.crf.given_weights import check_labels, crf_with_weights
from ...estimators.crfsuite.weights import check_weights
from ...estimators.max_margin import MaxMarginCRF
from ...estimators.perceptron import ArowCRF, PassiveAggressiveCRF, StructuredPerceptron
from ...feature_extraction import SequenceVectorizer, TemplateFeatures
from ...feature_extraction.template_syntax import (
    FeatureTemplate,
    Macro,
    parse_templates,
    template_lines,
)
from ...utils.unpacking import Budget

WRITABLE = CRF, MaxMarginCRF, StructuredPerceptron, PassiveAggressiveCRF, ArowCRF


class TemplateModel(NamedTuple):
    """Weights of the attributes that a template makes, which are known by their whole text.

    The first letter of an attribute says whether it has a weight for each label (``u``, ``*``),
    and then one for each pair of labels, the previous label first (``b``, ``*``).

    Parameters
    ----------
    labels : list of str
    template : list of str
        Its lines. Without lines, tokens are dicts of attributes.
    attributes : list of str
    starts : int64 ndarray of shape (n_attributes,)
        The number of the first weight of each attribute.
    n_weights : int
    numbers : int64 ndarray of shape (n_given,)
        The numbers of the weights that are given, in increasing order; all others are zero.
    weights : ndarray of shape (n_given,)
    """

    labels: list[str]
    template: list[str]
    attributes: list[str]
    starts: np.ndarray
    n_weights: int
    numbers: np.ndarray
    weights: np.ndarray

    @property
    def kinds(self) -> tuple[np.ndarray, np.ndarray]:
        """Whether each attribute has weights for labels, and for pairs of labels."""
        letters = np.array([attribute[:1].lower() for attribute in self.attributes], dtype="U1")
        return letters != "b", letters != "u"

    def sizes(self) -> np.ndarray:
        """Return the number of weights of each attribute."""
        n, (of_labels, of_pairs) = len(self.labels), self.kinds
        return n * of_labels + n * n * of_pairs


def as_pipeline(model: TemplateModel, syntax: str, max_bytes: int | None) -> Pipeline:
    """Return a fitted pipeline: the template, a vectorizer, and a CRF with the weights.

    Parameters
    ----------
    model : TemplateModel
    syntax : str
        Of its template.
    max_bytes : int or None
        Maximum number of bytes of the weights of transitions.

    Raises
    ------
    ValueError
        If attributes share weights, or no line makes an attribute; or if weights are too many, too
        large or not finite.
    """
    labels, n = model.labels, len(model.labels)
    check_labels(labels, max_bytes)
    if not np.isfinite(model.weights).all():
        raise ValueError("a weight is not finite")
    makers = _Makers(model.template, syntax) if model.template else None
    _, of_pairs = model.kinds
    names: list[str] = []
    of: list[int] = []
    are_edges: list[bool] = []
    n_times = np.zeros(len(model.attributes))
    for a, attribute in enumerate(model.attributes):
        made, n_times[a] = makers.names_of(attribute) if makers else ({attribute: of_pairs[a]}, 0)
        names += made
        are_edges += made.values()
        of += [a] * len(made)
    vectorizer = SequenceVectorizer()
    vectorizer.vocabulary_ = Vocabulary(names)
    if len(vectorizer.vocabulary_) < len(names):
        last = dict(zip(names, of, strict=True))
        again = next(a for name, a in zip(names, of, strict=True) if last[name] != a)
        raise ValueError(
            f"the attribute {model.attributes[again]!r} cannot be told from another one"
        )
    coef, tables = _tables(model, max_bytes)
    transitions = np.zeros((n, n))
    for a, table in tables.items():
        transitions += n_times[a] * table
    edges = {k: tables[a] for k, a in enumerate(of) if are_edges[k] and a in tables}
    if len(of) != len(model.attributes) or (np.diff(of) != 1).any():
        coef = coef[np.array(of, dtype=np.int64)]
    crf = crf_with_weights(names, labels, coef, transitions, edges)
    if not model.template:
        return make_pipeline(vectorizer, crf)
    return make_pipeline(TemplateFeatures("\n".join(model.template), syntax), vectorizer, crf)


def _tables(
    model: TemplateModel, max_bytes: int | None
) -> tuple[sp.csr_array, dict[int, np.ndarray]]:
    """Return the label weights of all attributes, and the pair weights of attributes.

    Attributes with weights for labels, too, are left out if they have none for pairs.
    """
    n, n_attributes, (of_labels, _) = len(model.labels), len(model.attributes), model.kinds
    order = np.argsort(model.starts, kind="stable")
    starts, sizes = model.starts[order], model.sizes()[order]
    overlaps = starts + sizes > np.append(starts[1:], model.n_weights)
    if overlaps.any() or (starts[:1] < 0).any():
        wrong = model.attributes[order[np.argmax(overlaps)]]
        raise ValueError(f"the attribute {wrong!r} has no weights of its own")
    # One row for each attribute: first the label weights, then the pair weights.
    first, stop = (np.searchsorted(model.numbers, at) for at in (starts, starts + sizes))
    owned, weights = model.numbers, model.weights
    if (stop - first).sum() != len(owned):
        kept = joined_ranges(first, stop - first)
        owned, weights = owned[kept], weights[kept]
    counts = stop - first
    column = owned - np.repeat(starts - n * ~of_labels[order], counts)
    indptr = np.append(0, np.cumsum(counts))
    rows = sp.csr_array((weights, column, indptr), shape=(n_attributes, n + n * n))
    if (np.diff(order) < 0).any():
        rows = rows[np.argsort(order)]
    of_pairs = rows[:, n:]
    found = np.flatnonzero((np.diff(of_pairs.indptr) > 0) | ~of_labels)
    Budget(max_bytes).take(8 * n * n * len(found))
    tables = of_pairs[found].toarray().reshape(-1, n, n)
    return rows[:, :n], dict(zip(found.tolist(), tables, strict=True))


def from_pipeline(pipeline: Any, syntax: str, program: str) -> TemplateModel:
    """Return the weights of a fitted pipeline that begins with a template.

    Parameters
    ----------
    pipeline : Pipeline
    syntax : str
        The language of the template.
    program : str
        Whose model it is to be, for error messages.

    Raises
    ------
    TypeError
        If it is something else.
    ValueError
        If a model of the program cannot hold some weights or names.
    """
    steps = [step for _, step in getattr(pipeline, "steps", ())]
    cannot = f"a model of {program} cannot hold "
    if (
        len(steps) not in (2, 3)
        or not isinstance(steps[0], TemplateFeatures)
        or type(steps[-1]) not in WRITABLE
        or not all(isinstance(step, SequenceVectorizer) for step in steps[1:-1])
    ):
        raise TypeError(
            f"{cannot}{type(pipeline).__name__}: it can hold a pipeline of TemplateFeatures, a "
            f"SequenceVectorizer or none, and one of {', '.join(c.__name__ for c in WRITABLE)}"
        )
    features, classifier = steps[0], steps[-1]
    if features.syntax.removesuffix("-bytes") != syntax:
        raise ValueError(f"{cannot}a template of syntax={features.syntax!r}")
    check_weights(classifier, cannot)
    names = classifier.attribute_names_
    for vectorizer in steps[1:-1]:
        if vectorizer.separator != "=":
            raise ValueError(f"{cannot}attributes with separator={vectorizer.separator!r}")
        symbols = np.array(vectorizer.vocabulary_.symbols, dtype=object)
        names = symbols[classifier._encoder.columns]
    lines = [line.lstrip() for line in template_lines(features.template, syntax)]
    if syntax == "wapiti":
        lines = [line[0].lower() + line[1:] for line in lines]
    templates = parse_templates("\n".join(lines), syntax)
    begin = {t.key: line.partition("%")[0] for t, line in zip(templates, lines, strict=True)}
    bare = [begin[t.key] for t in templates if t.kind != "u" and not t.macros]
    edges = dict(
        zip(classifier._encoder.edge_attributes.tolist(), classifier.edge_coef_, strict=True)
    )
    coef = sp.csr_array(classifier.coef_, copy=True)
    coef.eliminate_zeros()
    # The row of label weights, and the pair weights, of each text.
    rows: dict[str, int] = {}
    tables: dict[str, np.ndarray] = {}
    for k, (name, n_labels) in enumerate(zip(names.tolist(), np.diff(coef.indptr), strict=True)):
        texts = [*_texts_of(name, begin)]
        if not texts:
            raise ValueError(f"{cannot}the attribute {name!r}, which its template does not make")
        for text in texts:
            if n_labels:
                rows[text] = k
            if k in edges and edges[k].any():
                tables[text] = edges[k]
                if text[0] in "uU":
                    raise ValueError(f"{cannot}transitions that depend on {name!r} (edge_columns)")
    # A line without % whose text is that of such a table has a part of the transitions.
    transitions = classifier.transitions_ - sum(tables.get(text, 0.0) for text in bare)
    if transitions.any():
        every = "B" if syntax == "crf++" else "b"
        free = [text for text in [*bare, every] if text not in tables]
        if not free:
            raise ValueError(f"{cannot}this template with transitions: add a line {every!r}")
        if free[0] not in bare:
            bare, lines = [*bare, every], [*lines, every]
        tables[free[0]] = transitions / bare.count(free[0])
    attributes, n = [*dict.fromkeys([*rows, *tables])], coef.shape[1]
    model = TemplateModel(classifier.classes_.tolist(), lines, attributes, *_NO_WEIGHTS)
    ends = np.cumsum(model.sizes())
    starts = ends - model.sizes()
    place = {attribute: i for i, attribute in enumerate(attributes)}
    of_rows = coef[np.array([*rows.values()], dtype=np.int64)]
    start = starts[[place[text] for text in rows]]
    index = [np.repeat(start, np.diff(of_rows.indptr)) + of_rows.indices]
    weights = [of_rows.data]
    for text, table in tables.items():
        filled = np.flatnonzero(table)
        index.append(starts[place[text]] + n * (text[0] == "*") + filled)
        weights.append(table.ravel()[filled])
    numbers, values = np.concatenate(index), np.concatenate(weights)
    order = np.argsort(numbers)
    sizes = {"starts": starts, "n_weights": int(ends[-1]) if len(ends) else 0}
    return model._replace(**sizes, numbers=numbers[order], weights=values[order])


_NO_WEIGHTS = np.empty(0, dtype=np.int64), 0, np.empty(0, dtype=np.int64), np.empty(0)


def _texts_of(name: str, begin: dict[str, str]) -> Iterator[str]:
    """Yield every text of an attribute, which is ``key=symbol`` here."""
    at = name.find("=")
    while at >= 0:
        if name[:at] in begin:
            yield begin[name[:at]] + name[at + 1 :]
        at = name.find("=", at + 1)


class _Makers:
    """The lines of a template, by the text before the first ``%``.

    These programs tell attributes apart by their whole text, so that several lines may make the
    same one: ``U%x[0,0]`` and ``U0%x[0,0]`` make ``U00`` of the words ``00`` and ``0``. Here it is
    one attribute for each of these lines, all with its weights.
    """

    def __init__(self, lines: list[str], syntax: str):
        self.lines = lines = [line for line in lines if not line.startswith("#")]
        self.by_start: dict[str, list[FeatureTemplate]] = {}
        self.ends: dict[str, str] = {}
        for line, template in zip(lines, parse_templates("\n".join(lines), syntax), strict=True):
            text = line.rstrip()
            start, end = text.partition("%")[0], line[len(text) :]
            if self.ends.setdefault(start, end) != end:
                raise ValueError(
                    f"the template has lines that begin with {start!r} with and without spaces at "
                    "the end; to CRF++ their attributes differ: give them different numbers"
                )
            self.by_start.setdefault(start, []).append(template)
        self.lengths = sorted({len(start) for start in self.by_start})

    def names_of(self, attribute: str) -> tuple[dict[str, bool], int]:
        """Find the names of an attribute here, and how often a line without ``%`` makes it.

        With each name it says whether transitions depend on it.
        """
        names: dict[str, bool] = {}
        n_times = 0
        for length in self.lengths:
            start, rest = attribute[:length], attribute[length:]
            end = self.ends.get(start)
            if len(start) < length or end is None or not rest.endswith(end):
                continue
            rest = rest.removesuffix(end)
            for template in self.by_start[start]:
                if not _can_make(template.parts, rest):
                    continue
                is_edge = template.kind != "u" and bool(template.macros)
                if template.kind != "u" and not is_edge:
                    n_times += 1
                if template.kind != "b" or is_edge:
                    names[f"{template.key}={rest}"] = is_edge
        if not names and not n_times:
            starts = ([line[:k] for k in range(len(line) + 1)] for line in self.lines)
            n_alike = [sum(map(attribute.startswith, prefixes)) for prefixes in starts]
            closest = self.lines[n_alike.index(max(n_alike))]
            raise ValueError(
                f"no line of the template makes the attribute {attribute!r}; the closest one is "
                f"{closest!r}"
            )
        return names, n_times


def _can_make(parts: tuple[str | Macro, ...], text: str) -> bool:
    """Whether a text consists of these parts, with any symbol for a macro.

    Only the part of a symbol that an expression matches (``%m``) may be empty.
    """
    least = sum(len(part) if isinstance(part, str) else part.command != "m" for part in parts)
    if not parts or len(text) < least:
        return not parts and not text
    at = 0
    for part in parts[:-1]:
        if isinstance(part, str):
            at = text.find(part, at) + len(part)
            if at < len(part):
                return False
    return isinstance(parts[-1], Macro) or text[at:].endswith(parts[-1])
