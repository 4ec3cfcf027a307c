"""Wrong labels are found by models that have not seen them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline

from sklearn_crcrf import (
    CRF,
    HMM,
    CRFsuiteCRF,
    EmpiricalCRF,
    SequenceArray,
    TokenFeatures,
    find_label_issues,
    make_sequence_pipeline,
)
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.estimators.label_issues import LabelIssues
from sklearn_crcrf.estimators.label_issues.disagreements import disagreements
from sklearn_crcrf.labels import to_segments

X, Y = make_addresses(120, random_state=2)


def same(a, b, **tolerance):
    for name in vars(a):
        left, right = getattr(a, name), getattr(b, name)
        if left.dtype.kind == "f":
            np.testing.assert_allclose(left, right, **(tolerance or {"rtol": 0}))
        else:
            np.testing.assert_array_equal(left, right)


def table_of(words):
    index = [(i, t) for i, sentence in enumerate(words) for t in range(len(sentence))]
    return pd.DataFrame({"word": np.concatenate(words)}, pd.MultiIndex.from_tuples(index))


def spoiled(n_of_each, seed=0):
    """Labels with wrong types, missing segments, wrong ends and invented segments; and where."""
    rng, y = np.random.default_rng(seed), [list(labels) for labels in Y]
    found, where = to_segments(Y), {}
    for kind in ("type", "missing", "end", "invented") * n_of_each:
        fits = (found.end - found.start > 1) | (kind != "end")
        fits &= np.array(["O" in Y[i] for i in found.sequence]) & ~np.isin(found.sequence, [*where])
        k = int(rng.choice(np.flatnonzero(fits)))
        i, a, b = (int(column[k]) for column in found[:3])
        if kind == "type":
            other = "COUNTRY" if found.type[k] == "NUMBER" else "NUMBER"
            y[i][a:b] = [f"B-{other}", *[f"I-{other}"] * (b - a - 1)]
        elif kind == "missing":
            y[i][a:b] = ["O"] * (b - a)
        elif kind == "end":
            y[i][b - 1] = "O"
        else:
            y[i][y[i].index("O")] = "B-COUNTRY"
        where[i] = kind
    return y, where


def brute_force(estimator, X, y, fold, scheme="IOB2"):
    """The same by fits to the sequences of the other folds."""
    classes = sorted({label for labels in y for label in labels})
    proba = [np.zeros((len(labels), len(classes))) for labels in y]
    for number in sorted(set(fold)):
        others = [i for i in range(len(X)) if fold[i] != number]
        fitted = clone(estimator).fit([X[i] for i in others], [y[i] for i in others])
        columns = [classes.index(label) for label in fitted.classes_]
        for i in np.flatnonzero(np.array(fold) == number):
            proba[i][:, columns] = fitted.predict_proba([X[i]])[0]
    labels = SequenceArray.from_sequences(y)
    return disagreements(labels, np.concatenate(proba), np.array(classes), scheme)


def test_planted_errors_come_first():
    y, where = spoiled(4)
    issues = find_label_issues(EmpiricalCRF(), X, y)
    first = [*dict.fromkeys(issues.sequence.tolist())][: len(where)]
    assert len(set(first) & set(where)) >= 13
    kinds = {where[it.sequence]: it for it in reversed([*issues]) if it.sequence in where}
    assert kinds["missing"].given == "O" != kinds["missing"].suggested
    assert kinds["invented"].given == "COUNTRY" and kinds["invented"].suggested == "O"
    assert kinds["end"].given == kinds["end"].suggested
    assert kinds["end"].end != kinds["end"].suggested_end


def test_left_out_equals_fits_to_all_other_sequences():
    y, _ = spoiled(2)
    found = find_label_issues(EmpiricalCRF(), X[:50], y[:50])
    same(found, brute_force(EmpiricalCRF(), X[:50], y[:50], range(50)), rtol=1e-9)
    assert len(found) > 10


def test_whole_groups_are_left_out():
    y = [list(labels) for labels in Y[:60]] + [list(Y[7]) for _ in range(3)]
    words = X[:60] + [list(X[7]) for _ in range(3)]
    repeats = [7, 60, 61, 62]
    for i in repeats:
        y[i][:] = ["O"] * len(y[i])
    groups = [str(i) if i not in repeats else "letters" for i in range(63)]
    alone = find_label_issues(EmpiricalCRF(), words, y)
    assert set(alone[:20].sequence.tolist()).isdisjoint(repeats)
    found = find_label_issues(EmpiricalCRF(), words, y, groups=groups)
    assert set(repeats) == set(found[:4].sequence.tolist())
    same(found, brute_force(EmpiricalCRF(), words, y, groups), rtol=1e-9)


@pytest.mark.parametrize(
    "estimator",
    [
        EmpiricalCRF(),
        HMM(),
        CRF(tol=1e-2),
        CRFsuiteCRF(c2=1.0),
        make_pipeline(TokenFeatures(["shape"]), CRF(tol=1e-2)),
        make_sequence_pipeline(TokenFeatures(["shape"]), EmpiricalCRF()),
        GridSearchCV(HMM(), {"smoothing": [0.1, 1.0]}, cv=2),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_every_estimator_goes_by_folds(estimator):
    y, where = spoiled(3)
    words = X
    if isinstance(estimator, CRFsuiteCRF):
        words = [[{"word": word} for word in sentence] for sentence in X]
    found = find_label_issues(estimator, words, y, method="folds", cv=3)
    assert set(where) & set(found[:12].sequence.tolist())
    assert vars(estimator).keys() == vars(clone(estimator)).keys()
    if isinstance(estimator, (HMM, EmpiricalCRF)):
        fold = np.empty(len(X), dtype=int)
        for number, (_, test) in enumerate(KFold(3, shuffle=True, random_state=0).split(X)):
            fold[test] = number
        same(found, brute_force(estimator, X, y, fold), rtol=1e-9)
        splits = find_label_issues(estimator, X, y, method="folds", cv=list(KFold(3).split(X)))
        same(splits, brute_force(estimator, X, y, np.arange(120) // 40), rtol=1e-9)


def test_folds_keep_groups_whole():
    groups = np.arange(120) // 3
    found = find_label_issues(HMM(), X, Y, groups, cv=40)
    same(found, brute_force(HMM(), X, Y, groups), rtol=1e-9)
    rows = np.repeat(groups, [len(words) for words in X])
    table = table_of(X)
    tagger = HMM(sample_unit="token")
    of_rows = find_label_issues(tagger, table, np.concatenate(Y), rows, cv=40)
    same(of_rows, found, rtol=1e-9)
    same(
        find_label_issues(tagger, table, np.concatenate(Y), rows, "folds", cv=40), found, rtol=1e-9
    )


def test_any_container_gives_the_same():
    found = find_label_issues(EmpiricalCRF(), X[:40], Y[:40])
    arrays = SequenceArray.from_sequences(X[:40]), SequenceArray.from_sequences(Y[:40])
    same(find_label_issues(EmpiricalCRF(), *arrays), found)
    same(find_label_issues(EmpiricalCRF(), table_of(X[:40]), np.concatenate(Y[:40])), found)


@pytest.mark.parametrize("method", ["left_out", "folds", "given"])
def test_rows_in_any_order(method):
    table = table_of(X)
    mixed = table[:400].sample(frac=1, random_state=0)
    y = pd.Series(np.concatenate(Y), table.index)
    in_order = mixed.sort_index()
    tagger = EmpiricalCRF(sample_unit="token").fit(table[400:], y[400:])
    n = in_order.index.get_level_values(0).nunique()
    expected = find_label_issues(tagger, in_order, y[in_order.index], method=method, cv=n)
    found = find_label_issues(tagger, mixed, y[mixed.index], method=method, cv=n)
    found.sequence = mixed.index.get_level_values(0).unique().to_numpy()[found.sequence]
    same(found, expected, rtol=1e-9)


def test_a_given_model_is_asked_as_it_is():
    y, where = spoiled(3)
    other = EmpiricalCRF().fit(*make_addresses(200, random_state=5))
    before = other.predict_proba(X)
    issues = find_label_issues(other, X, y, method="given")
    assert len(set(issues[:20].sequence.tolist()) & set(where)) >= 8
    for a, b in zip(other.predict_proba(X), before, strict=True):
        np.testing.assert_array_equal(a, b)
    y[0][0] = "B-PLANET"
    unknown = find_label_issues(other, X, y, method="given")[0]
    assert unknown[:4] == (0, 0, 1, "PLANET") and unknown.probability == 0.0
    with pytest.raises(NotFittedError):
        find_label_issues(EmpiricalCRF(), X, y, method="given")


def test_labels_that_the_model_has_seen_are_not_found():
    y, where = spoiled(4)
    trained = find_label_issues(EmpiricalCRF().fit(X, y), X, y, method="given")
    left_out = find_label_issues(EmpiricalCRF(), X, y)
    n_trained, n_left_out = (
        len(set(issues[:20].sequence.tolist()) & set(where)) for issues in (trained, left_out)
    )
    assert n_trained < n_left_out


def test_labels_that_are_no_segments_are_compared_one_by_one():
    y = [[label[2:] or label for label in labels] for labels in Y[:60]]
    y[4][0] = "WEATHER"
    issue = find_label_issues(EmpiricalCRF(), X[:60], y)[0]
    assert issue[:4] == (4, 0, 1, "WEATHER") and issue.probability == 0.0
    assert (issue.suggested_start, issue.suggested_end) == (0, 1)
    found = find_label_issues(EmpiricalCRF(), X[:60], Y[:60], scheme=None)
    assert set(found.end - found.start) == {1} and "B-CITY" in found.suggested
    as_types = find_label_issues(EmpiricalCRF(), X[:60], y, scheme="IO")
    assert as_types[0][:4] == (4, 0, 1, "WEATHER") and max(as_types.end - as_types.start) > 1


def test_what_takes_long_to_leave_out_goes_by_folds():
    rates = EmpiricalCRF.ecrn()
    found = find_label_issues(rates, X[:60], Y[:60])
    same(found, find_label_issues(rates, X[:60], Y[:60], method="folds"))
    exact = find_label_issues(rates, X[:30], Y[:30], method="left_out")
    same(exact, brute_force(rates, X[:30], Y[:30], range(30)), rtol=1e-9)


def test_exponents_that_are_fitted_go_by_folds():
    estimator = EmpiricalCRF(exponents="fit")
    found = find_label_issues(estimator, X[:60], Y[:60], cv=2)
    same(found, find_label_issues(estimator, X[:60], Y[:60], method="folds", cv=2))
    with pytest.raises(ValueError, match="exponents"):
        find_label_issues(estimator, X[:60], Y[:60], method="left_out")


def test_wrong_input_is_refused():
    model = EmpiricalCRF()
    cases = [
        ({"method": "best"}, "method must be one of auto, left_out, folds, given, got 'best'"),
        ({"scheme": "BIO"}, "scheme must be one of auto, .*'BIO' is 'IOB2' here"),
        ({"groups": [1, 2]}, "groups must hold the group of each of 120 sequences"),
        ({"groups": [1] * 120}, "groups"),
        ({"groups": [1] * 120, "method": "given"}, "method='given' leaves nothing out"),
        ({"cv": 200, "method": "folds"}, "n_splits=200 greater than the number of samples"),
        ({"y": None}, "y is None"),
        ({"y": Y[:3]}, "X has 120 sequences, but y has 3"),
        ({"y": [[None] * len(labels) for labels in Y]}, "all labels are None"),
        ({"X": X[:1], "y": Y[:1]}, "n_samples=1"),
        ({"estimator": HMM(), "method": "left_out"}, "'left_out' needs an EmpiricalCRF.*a HMM"),
        ({"estimator": LogisticRegression()}, "must be a .*sequence classifier"),
        ({"scheme": "IOBES", "y": [["N"] * len(labels) for labels in Y]}, "y: label 'N'"),
    ]
    for options, message in cases:
        given = {"estimator": model, "X": X, "y": Y, **options}
        with pytest.raises(ValueError, match=message):
            find_label_issues(**given)


def test_the_table_can_be_indexed_and_shown():
    issues = find_label_issues(EmpiricalCRF(), X[:60], Y[:60])
    n = len(issues)
    assert issues[0] == next(iter(issues)) == issues[np.int64(0)]
    assert issues[-1] == [*issues][-1] and type(issues[0].sequence) is int
    part = issues[issues.given == "CITY"]
    assert isinstance(part, LabelIssues) and set(part.given) == {"CITY"}
    assert len(issues[: n // 2]) == n // 2 and len(issues[[2, 0]]) == 2
    with pytest.raises(IndexError):
        issues[n]
    frame = issues.to_frame()
    assert frame.shape == (n, 8) and frame["probability"].is_monotonic_increasing
    assert frame.columns.tolist() == [*issues[0]._fields]
    lines = repr(issues).splitlines()
    assert lines[0] == f"{n} issues" and len(lines) == 13 and lines[-1] == "..."
    assert repr(issues[:1]).startswith("1 issue\n") and repr(issues[:0]).startswith("0 issues\n")


def test_expected_errors_follow_from_the_rule_of_bayes():
    issues = find_label_issues(EmpiricalCRF(), X, Y)
    found = issues.expected_errors(130)
    assert found.shape == (130,) and not found[120:].any()
    e = 0.001
    for i in (issues[0].sequence, issues[-1].sequence):
        p = issues.probability[issues.sequence == i]
        assert found[i] == pytest.approx((e * (1 - p) / (e * (1 - p) + (1 - e) * p)).sum())
