"""The table of issues is what its definition says."""

from itertools import chain

import numpy as np
import pytest
from cases import for_each

from sklearn_crcrf import SequenceArray
from sklearn_crcrf.estimators.label_issues.disagreements import disagreements
from sklearn_crcrf.labels.segments.schemes import SCHEMES

LABELS = {
    "IOB2": ["B-X", "B-Y", "I-X", "I-Y", "O"],
    "IOBES": ["B-X", "B-Y", "E-X", "E-Y", "I-X", "I-Y", "O", "S-X", "S-Y"],
    "IOB1": ["B-X", "I-X", "I-Y", "O"],
    "IO": ["O", "X", "Y"],
    None: ["D", "N", "V"],
}


def kind_of(label, scheme):
    if scheme is None:
        return label
    role, kind = SCHEMES[scheme].split(label)
    return "O" if role == "O" else kind


def joins(before, label, scheme):
    """Whether a label continues the segment of the label before it."""
    if scheme is None:
        return False
    (role, kind), (next_role, next_kind) = map(SCHEMES[scheme].split, (before, label))
    return kind == next_kind and role in ("B", "I") and next_role in ("I", "E")


def segments(kinds, joined):
    """Segments of one sequence: start, end, kind."""
    found = []
    for t, kind in enumerate(kinds):
        if kind == "O":
            continue
        if t and joined[t] and found and found[-1][1] == t:
            found[-1] = found[-1][0], t + 1, kind
        else:
            found.append((t, t + 1, kind))
    return found


def of_sequence(y, proba, labels, scheme):
    """The issues of one sequence by the words of the docstring, one token at a time."""
    kind = [kind_of(label, scheme) for label in labels]
    best, likeliest, own = [], [], []
    for p in proba:
        share = {k: sum(q for q, of in zip(p, kind, strict=True) if of == k) for k in kind}
        likeliest.append(max(share, key=share.get))
        best.append(max((q, i) for i, q in enumerate(p) if kind[i] == likeliest[-1])[1])
        own.append(share)
    given = [kind_of(label, scheme) for label in y]
    y_joins = [t > 0 and joins(y[t - 1], y[t], scheme) for t in range(len(y))]
    best_joins = [False] * len(y)
    probability = [own[t][given[t]] for t in range(len(y))]
    for t in range(1, len(y)):
        best_joins[t] = joins(labels[best[t - 1]], labels[best[t]], scheme)
        if y_joins[t] and likeliest[t - 1 : t + 1] == given[t - 1 : t + 1]:
            best_joins[t] = True
        if scheme is not None and given[t] == given[t - 1] != "O" and not y_joins[t]:
            probability[t] = sum(
                q
                for q, label in zip(proba[t], labels, strict=True)
                if kind_of(label, scheme) == given[t] and not joins(y[t - 1], label, scheme)
            )
    changes = [a != b for a, b in zip(given, likeliest, strict=True)]
    for t in range(1, len(y)):
        touches = scheme is not None and given[t] == given[t - 1] != "O" and not y_joins[t]
        changes[t] |= touches and best_joins[t]
    ours, theirs = segments(given, y_joins), segments(likeliest, best_joins)
    found = []
    for start, end, of in ours:
        shared = [min(end, e) - max(start, s) for s, e, _ in theirs]
        other = (start, end, "O")
        if shared and max(shared) > 0:
            other = theirs[shared.index(max(shared))]
        if other != (start, end, of):
            found.append((start, end, of, other[2], other[0], other[1]))
    for start, end, of in theirs:
        if all(e <= start or end <= s for s, e, _ in ours):
            found.append((start, end, "O", of, start, end))
    issues = []
    for issue in found:
        start, end, _, _, other_start, other_end = issue
        changed = [t for t in range(start, end) if changes[t]]
        covered = range(min(start, other_start), max(end, other_end))
        changed = changed or [t for t in covered if changes[t]]
        issues.append((*issue[:4], max(probability[t] for t in changed), *issue[4:]))
    return issues


@for_each("seed", range(60))
@for_each("scheme", LABELS)
def test_the_table_is_what_its_definition_says(scheme, seed):
    labels, rng = LABELS[scheme], np.random.default_rng(seed)
    lengths = rng.integers(0, 9, 4)
    y = [rng.choice(labels, n).tolist() for n in lengths]
    if seed % 2:  # long segments
        y = [[row[0]] * len(row) if row else [] for row in y]
    proba = rng.dirichlet(np.full(len(labels), 0.3), lengths.sum())
    given = SequenceArray.from_lengths(np.array([*chain(*y)], dtype=object), lengths)
    found = disagreements(given, proba, np.array(labels), scheme)
    expected = {}
    for i, row in enumerate(y):
        of_row = proba[given.offsets[i] : given.offsets[i + 1]]
        for issue in of_sequence(row, of_row, labels, scheme):
            expected[i, *issue[:4]] = issue[4:]
    assert (np.diff(found.probability) >= 0).all()
    assert {issue[:5] for issue in found} == expected.keys() and len(found) == len(expected)
    for issue in found:
        probability, *places = expected[issue[:5]]
        assert [*issue[6:]] == places
        assert issue.probability == pytest.approx(min(probability, 1.0), abs=1e-12)


def test_a_name_that_is_split_by_its_labels():
    y = SequenceArray.from_sequences([["B-PER", "B-PER", "O"]])
    proba = np.array([[0.98, 0.01, 0.01], [0.04, 0.95, 0.01], [0.01, 0.01, 0.98]])
    issues = disagreements(y, proba, np.array(["B-PER", "I-PER", "O"]), "IOB2")
    assert [(it.start, it.end, it.suggested_start, it.suggested_end) for it in issues] == [
        (0, 1, 0, 2),
        (1, 2, 0, 2),
    ]
    np.testing.assert_allclose(issues.probability, 0.04)


def test_unknown_labels_are_no_issues():
    classes = np.array(["D", "N", "V"])
    y = SequenceArray.from_sequences([["D", None, {"N", "V"}, {"D", "N"}]])
    proba = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]])
    (issue,) = disagreements(y, proba, classes, None)
    assert issue[:5] == (0, 3, 4, "D", "V")
    assert issue.probability == pytest.approx(0.3)


def test_there_may_be_no_issues_and_no_segments():
    y = SequenceArray.from_sequences([["O", "O"], []])
    for scheme in ("IOB2", None):
        assert len(disagreements(y, np.ones((2, 1)), np.array(["O"]), scheme)) == 0
    y = SequenceArray.from_sequences([["O"], ["B-X"]])
    proba = np.array([[0.1, 0.9], [0.8, 0.2]])
    assert len(disagreements(y, proba, np.array(["B-X", "O"]), "IOB2")) == 0
