"""Random constraints on the labels of samples, and what they mean, spelled out."""

from collections import Counter
from itertools import groupby

from hypothesis import strategies as st

from sklearn_crcrf.labels import (
    AtLeast,
    AtMost,
    AtMostSegments,
    Exactly,
    Implies,
    Linear,
    OneSegment,
    SameLabel,
)

KINDS = {"A": "vowel", "B": "consonant"}  # C agrees with both


@st.composite
def constraints(draw, lengths, labels="ABC"):
    """A constraint on samples of these lengths."""

    def per_token(values):
        return [draw(st.lists(values, min_size=n, max_size=n)) for n in lengths]

    some = st.lists(st.sampled_from(labels), min_size=1, unique=True)
    names = st.sampled_from(["x", "y", 7, None, float("nan"), -1])
    per = "sample" if draw(st.booleans()) else per_token(names)
    kinds = [AtMost, AtLeast, Exactly, Implies, SameLabel, Linear, AtMostSegments, OneSegment]
    kind = draw(st.sampled_from(kinds))
    if kind is OneSegment:
        return OneSegment(draw(st.none() | some))
    if kind is AtMostSegments:
        together = draw(st.sampled_from(["label", "sample"]))
        return AtMostSegments(draw(st.none() | some), draw(st.integers(0, 2)), per=together)
    if kind is Implies:
        return Implies(draw(some), draw(some), per)
    if kind is SameLabel:
        return SameLabel(per, draw(st.sampled_from([None, KINDS, KINDS.get])))
    if kind is Linear:
        number = st.integers(-2, 2)
        coefficients = {label: draw(number) for label in draw(some)}
        coefficients[labels[0]] = per_token(number)
        bounds = sorted([draw(number), draw(number)])
        return Linear(coefficients, *bounds, per)
    return kind(draw(some), draw(st.integers(0, 2)), per)


def groups_of(per, sample, n_tokens):
    """The positions of the tokens of each group of a sample."""
    if per == "sample":
        return [range(n_tokens)] if n_tokens else []
    names = per[sample]
    named = [name for name in dict.fromkeys(names) if name in ("x", "y", 7)]
    return [[t for t, other in enumerate(names) if other == name] for name in named]


def is_satisfied(constraint, sample, labels):
    """Whether the labels of a sample satisfy a constraint."""
    if isinstance(constraint, AtMostSegments):
        runs = [key for key, _ in groupby(labels) if key in (constraint.types or "ABC")]
        numbers = Counter(runs).values() if constraint.per == "label" else [len(runs)]
        return max(numbers, default=0) <= constraint.k
    per = constraint.groups if isinstance(constraint, SameLabel) else constraint.per
    groups = groups_of(per, sample, len(labels))
    return all(_holds(constraint, sample, group, [labels[t] for t in group]) for group in groups)


def _holds(constraint, sample, group, labels):
    if isinstance(constraint, Implies):
        has_if = any(label in constraint.if_any for label in labels)
        return not has_if or any(label in constraint.then_any for label in labels)
    if isinstance(constraint, SameLabel):
        kinds = labels if constraint.of is None else [KINDS.get(label) for label in labels]
        return len({kind for kind in kinds if kind is not None}) <= 1
    if isinstance(constraint, Linear):
        total = 0
        for t, label in zip(group, labels, strict=True):
            coefficient = constraint.coefficients.get(label, 0)
            total += coefficient if isinstance(coefficient, int) else coefficient[sample][t]
        return constraint.lower <= total <= constraint.upper
    n = sum(label in constraint.labels for label in labels)
    low, high = {
        AtMost: (0, constraint.k),
        AtLeast: (constraint.k, len(labels)),
        Exactly: (constraint.k, constraint.k),
    }[type(constraint)]
    return low <= n <= high
