"""SequenceLabelModel: against enumeration, and as an estimator."""

import re
import warnings
from itertools import chain, pairwise, product

import numpy as np
import pandas as pd
import pytest
from cases import for_each
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from sklearn_crcrf import SequenceArray, SequenceLabelModel
from sklearn_crcrf.estimators.annotators.expectation import UNREPORTED, Rates, VotedTokens
from sklearn_crcrf.estimators.annotators.reports import Reporting
from sklearn_crcrf.labels import to_segments
from sklearn_crcrf.labels.constraints.constraints import segment_constraints
from sklearn_crcrf.metrics import segment_f1
from sklearn_crcrf.model_files import load_model, save_model

IOB2 = ["B-X", "B-Y", "I-X", "I-Y", "O"]
IOBES = ["B-X", "E-X", "I-X", "O", "S-X"]
# The anaesthesiologists of Dawid and Skene (1979), table 1: the first of three ratings by the first
# observer, and the ratings of the four others.
RATINGS = """
11111 34334 12122 23121 23222 23322 12111 33433 22223 22223 44444 23343 11111 23212 11111 12111
11111 11111 22221 21322 22222 22221 23222 22222 11111 11111 22222 11111 11111 11121 11111 33233
11111 22222 23232 44343 22232 23233 33432 11111 11111 12111 22222 11111 22222
"""


def random_labels(rng, n_labels, length, share_of_none=0.2):
    """Any labels, some of which are None."""
    labels = [f"L{k}" for k in rng.integers(n_labels, size=length)]
    return [None if rng.random() < share_of_none else label for label in labels]


def random_segments(rng, length, scheme="IOB2"):
    """Labels that keep a scheme."""
    classes = IOB2 if scheme == "IOB2" else IOBES
    allowed = segment_constraints(classes, scheme)
    while True:
        path = rng.integers(len(classes), size=length)
        moves = allowed.transition[path[:-1], path[1:]].all()
        if length == 0 or (moves and allowed.begin[path[0]] and allowed.end[path[-1]]):
            return [classes[k] for k in path]


def random_votes(seed, scheme=None, n_annotators=3, n_sequences=12):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 5, size=n_sequences)
    if scheme is None:
        return [[random_labels(rng, 3, n) for n in lengths] for _ in range(n_annotators)]
    votes = [[random_segments(rng, n, scheme) for n in lengths] for _ in range(n_annotators)]
    for i in range(n_sequences):  # one annotator has not seen it
        votes[rng.integers(n_annotators)][i] = None
    return votes


def fitted(votes, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return SequenceLabelModel(**parameters).fit(votes)


def reporting_probability(model, reported, path):
    """p(labels of one annotator | true labels), from the rates, for a model without a scheme."""
    classes = model.classes_.tolist()
    n = len(classes)
    probability = np.ones(len(model.annotators_))
    for j, labels in enumerate(reported):
        tables = model.report_rates_[j].reshape(n, n)
        for t, label in enumerate(labels):
            if label is not None:
                probability[j] *= tables[path[t], classes.index(label)]
    return probability.prod()


def chain_probability(model, path):
    if len(path) == 0:
        return 1.0
    score = model.begin_[path[0]] + model.end_[path[-1]]
    score += sum(model.transitions_[i, j] for i, j in pairwise(path))
    return np.exp(score)


def support(model, reported, path):
    """The factor of labels that nobody reported."""
    factor = 1.0
    for t, k in enumerate(path):
        said = {labels[t] for labels in reported} - {None}
        if said and model.classes_.tolist()[k] not in said:
            factor *= UNREPORTED
    return factor


@for_each("seed", range(4))
def test_probabilities_and_the_objective_are_sums_over_all_labellings(seed):
    votes = random_votes(seed)
    model = fitted(votes, smoothing=0.7, n_iter=5, tol=0.0)
    n, total = len(model.classes_), 0.0
    paths, found = model.predict(votes), model.predict_proba(votes)
    for i in range(len(votes[0])):
        reported = [labelling[i] for labelling in votes]
        length = len(reported[0])
        every = list(product(range(n), repeat=length))
        joint = np.array(
            [
                chain_probability(model, path)
                * reporting_probability(model, reported, path)
                * support(model, reported, path)
                for path in every
            ]
        )
        total += np.log(joint.sum())
        expected = np.zeros((length, n))
        for path, probability in zip(every, joint / joint.sum(), strict=True):
            expected[np.arange(length), list(path)] += probability
        np.testing.assert_allclose(found[i], expected, atol=1e-12)
        best = every[int(joint.argmax())]
        assert paths[i] == [model.classes_[k] for k in best]
    # The prior adds 0.7 reports as all annotators report at the start, and as many labels.
    rows = model.report_rates_.reshape(-1, n, n)
    following = np.exp(np.column_stack([model.transitions_, model.end_]))
    share = np.zeros((n, n))
    for i in range(len(votes[0])):
        for t in range(len(votes[0][i])):
            said = [model.classes_.tolist().index(v[i][t]) for v in votes if v[i][t] is not None]
            for k, z in product(said, said):
                share[z, k] += 1 / len(said)
    prior = (share + 1) / (share + 1).sum(axis=1, keepdims=True)
    total += 0.7 * (prior * np.log(rows)).sum()
    total += 0.7 * (np.log(following).sum() / (n + 1) + model.begin_.sum() / n)
    np.testing.assert_allclose(model.log_likelihood_curve_[-1], total, rtol=1e-12)


@for_each("scheme", ["IOB2", "IOBES"])
def test_what_an_annotator_reports_is_a_distribution_given_any_true_labels(scheme):
    classes = np.array(IOB2 if scheme == "IOB2" else IOBES)
    reporting, rng = Reporting.of(classes, scheme), np.random.default_rng(0)
    rates = reporting.normalised(rng.random((1, len(reporting.row))) + 0.1)
    scores = reporting.scores(rates)
    length, allowed = 3, segment_constraints(classes, scheme)
    # In IOBES the letter of a last token follows from what comes next.
    reports = {}
    for path in product(range(len(classes)), repeat=length):
        if allowed.begin[path[0]] and all(allowed.transition[i, j] for i, j in pairwise(path)):
            event = reporting.events(np.array([path]), np.array([0, length])).indices
            reports[tuple(event.tolist())] = event
    for truth in product(range(len(classes)), repeat=length):
        total = sum(
            np.exp(sum(scores[e, z] for e, z in zip(event, truth, strict=True)))
            for event in reports.values()
        )
        assert total == pytest.approx(1.0)


@for_each("scheme", ["IOB2", "IOBES"])
def test_with_a_scheme_probabilities_are_sums_over_all_segmentations(scheme):
    votes = random_votes(5, scheme)
    model = fitted(votes, n_iter=4)
    assert model.scheme_ == scheme
    classes = model.classes_.tolist()
    reporting = Reporting.of(model.classes_, scheme)
    scores = reporting.scores(model.report_rates_)
    found, n = model.predict_proba(votes), len(classes)
    allowed = segment_constraints(classes, scheme)
    for i in range(len(votes[0])):
        reported = [v[i] for v in votes]
        length = max(len(labels) for labels in reported if labels is not None)
        reported = [[None] * length if labels is None else labels for labels in reported]
        ids = [[-1 if label is None else classes.index(label) for label in v] for v in reported]
        events = reporting.events(
            np.array(ids, dtype=int).reshape(3, length), np.array([0, length])
        )
        expected = np.zeros((length, n))
        for path in product(range(n), repeat=length):
            moves = all(allowed.transition[a, b] for a, b in pairwise(path))
            if length and not (moves and allowed.begin[path[0]] and allowed.end[path[-1]]):
                assert chain_probability(model, path) == 0
                continue
            joint = chain_probability(model, path) * support(model, reported, path)
            for t, z in enumerate(path):
                joint *= np.exp(scores[events[t : t + 1].indices, z].sum())
            expected[np.arange(length), list(path)] += joint
        expected /= expected.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(found[i], expected, atol=1e-12)


def test_reports_of_a_worked_example():
    # A name of type X is missed, has the wrong type, is too long.
    reporting = Reporting.of(np.array(IOB2), "IOB2")
    truth = [0, 2, 4]
    said = np.array([[4, 4, 4], [1, 3, 4], [0, 2, 2]])
    events = reporting.events(said, np.array([0, 3]))
    names = ["begin X", "begin Y", "outside", "continue"]
    states = ["none", "X", "Y"]
    found = [
        [(states[e % 12 // 4], names[e % 4]) for e in events[t : t + 1].indices] for t in range(3)
    ]
    assert found == [
        [("none", "outside"), ("none", "begin Y"), ("none", "begin X")],
        [("none", "outside"), ("Y", "continue"), ("X", "continue")],
        [("none", "outside"), ("Y", "outside"), ("X", "continue")],
    ]
    # At the second token to continue is one event, of an open segment of the other type.
    cell = reporting.cell
    assert cell[2, truth[1], 3] == cell[1, 3, 3] != cell[1, truth[1], 3]
    assert cell[0, truth[1], 3] == -1  # nothing is open


@for_each("seed", range(6))
@for_each("scheme", [None, "IOB2", "IOBES"])
def test_the_objective_never_falls(seed, scheme):
    model = fitted(random_votes(seed, scheme), n_iter=40, tol=0.0)
    curve = model.log_likelihood_curve_
    assert len(curve) == model.n_iter_ > 1
    assert (np.diff(curve) >= -1e-10 * abs(curve[-1])).all()


def dawid_skene(votes, n_iter):
    """The algorithm of the paper, one item after the other, from shares of the votes."""
    n_items, n_annotators = votes.shape
    n = votes.max() + 1
    truth = np.array([np.bincount(row, minlength=n) / n_annotators for row in votes])
    for _ in range(n_iter):
        share = truth.sum(axis=0) / n_items
        tables = np.zeros((n_annotators, n, n))
        for i, j in product(range(n_items), range(n_annotators)):
            tables[j, :, votes[i, j]] += truth[i]
        tables /= np.maximum(tables.sum(axis=2, keepdims=True), 1e-300)
        for i in range(n_items):
            for z in range(n):
                truth[i, z] = share[z] * np.prod(
                    [tables[j, z, votes[i, j]] for j in range(n_annotators)]
                )
                truth[i, z] *= 1.0 if z in votes[i] else UNREPORTED
        truth /= truth.sum(axis=1, keepdims=True)
    return truth, tables


def test_single_tokens_are_the_method_of_dawid_and_skene():
    votes = np.array([[int(rating) - 1 for rating in patient] for patient in RATINGS.split()])
    assert votes.shape == (45, 5)
    truth, tables = dawid_skene(votes, 30)
    labellings = [[[int(label)] for label in votes[:, j]] for j in range(5)]
    model = fitted(labellings, smoothing=1e-12, n_iter=30, tol=0.0)
    np.testing.assert_allclose(np.concatenate(model.predict_proba(labellings)), truth, atol=1e-6)
    np.testing.assert_allclose(model.report_rates_.reshape(5, 4, 4), tables, atol=1e-6)
    # As the class probabilities of the paper, 0.40, 0.42, 0.11 and 0.07.
    np.testing.assert_allclose(np.exp(model.begin_), [0.40, 0.42, 0.11, 0.07], atol=0.02)


def simulated(seed, n_sequences=600, right=(0.55, 0.7, 0.8, 0.9)):
    """True labels of a chain, and votes of annotators with known confusion tables."""
    rng = np.random.default_rng(seed)
    moves = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.3, 0.3, 0.4]])
    tables = np.array([np.full((3, 3), (1 - r) / 2) + np.eye(3) * (r - (1 - r) / 2) for r in right])
    tables[0, 2] = [0.1, 0.6, 0.3]  # takes the third label for the second
    truth, votes = [], [[] for _ in right]
    for _ in range(n_sequences):
        path = [rng.integers(3)]
        while len(path) < 8:
            path.append(rng.choice(3, p=moves[path[-1]]))
        truth.append([f"L{z}" for z in path])
        for j, table in enumerate(tables):
            votes[j].append([f"L{rng.choice(3, p=table[z])}" for z in path])
    return truth, votes, tables


def test_reliabilities_are_found():
    truth, votes, tables = simulated(0)
    model = fitted(votes)
    assert model.converged_
    np.testing.assert_allclose(model.confusion_, tables, atol=0.04)
    assert model.reliability_[0, 2] == model.confusion_[0, 2, 2]

    def accuracy(labels):
        return np.mean(np.concatenate(labels) == np.concatenate(truth))

    def majority(i, t):
        said = [v[i][t] for v in votes]
        return max(sorted(set(said)), key=said.count)

    by_vote = [[majority(i, t) for t in range(8)] for i in range(len(truth))]
    assert accuracy(model.predict(votes).tolist()) > accuracy(by_vote) + 0.03


def test_the_order_of_annotators_does_not_matter():
    votes = dict(zip("abc", random_votes(1, "IOB2"), strict=True))
    other = {name: votes[name] for name in "cab"}
    model, turned = fitted(votes), fitted(other)
    assert turned.annotators_ == ["c", "a", "b"]
    np.testing.assert_allclose(model.reliability_[[2, 0, 1]], turned.reliability_, atol=1e-9)
    for a, b in zip(model.predict_proba(votes), turned.predict_proba(other), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-9)
    for a, b in zip(model.predict_proba(votes), model.predict_proba(other), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_who_says_nothing_changes_nothing():
    votes = dict(zip("abc", random_votes(2, "IOB2"), strict=True))
    more = {**votes, "silent": [None] * 12}
    model, with_silent = (fitted(v, n_iter=9, tol=0.0) for v in (votes, more))
    np.testing.assert_allclose(
        with_silent.log_likelihood_curve_[0] - model.log_likelihood_curve_[0],
        with_silent.log_likelihood_curve_[-1] - model.log_likelihood_curve_[-1],
        atol=1e-9,
    )
    for a, b in zip(model.predict_proba(votes), with_silent.predict_proba(more), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)
    assert ((with_silent.reliability_[3] > 0) & (with_silent.reliability_[3] < 1)).all()
    # Labellings of some of the annotators are enough to predict.
    assert len(model.predict({"b": votes["b"], "a": votes["a"]})) == 12


@for_each("scheme", [None, "IOB2", "IOBES"])
def test_one_annotator_is_right(scheme):
    votes = [[["L1", "L0"], []] if scheme is None else random_votes(3, scheme, 1, 9)[0]]
    if scheme is not None:
        rng = np.random.default_rng(0)
        votes = [[random_segments(rng, n, scheme) for n in (3, 0, 2, 4, 1, 3)]]
    assert fitted(votes).predict(votes).tolist() == votes[0]


def test_labels_keep_the_scheme_if_all_votes_do():
    for seed in range(5):
        for scheme in ("IOB2", "IOBES"):
            votes = random_votes(seed, scheme, 4, 30)
            labels = fitted(votes).predict(votes).tolist()
            to_segments(labels, scheme=scheme, reading="strict")
            classes = IOB2 if scheme == "IOB2" else IOBES
            allowed = segment_constraints(classes, scheme)
            for path in ([classes.index(label) for label in sequence] for sequence in labels):
                assert all(allowed.transition[i, j] for i, j in pairwise(path))
                assert not path or (allowed.begin[path[0]] and allowed.end[path[-1]])


def test_votes_that_break_the_scheme():
    votes = {
        "ann": [["B-X", "I-X", "O"], ["O", "B-X", "I-X"]],
        "model": [["B-X", "I-X", "O"], ["O", "O", "I-X"]],
    }
    message = (
        "votes of 'model', sequence 1, position 2: the label 'I-X' breaks the scheme IOB2, so "
        "labels are not taken for labels of segments"
    )
    with pytest.warns(UserWarning, match=message):
        model = fitted(votes)
    assert model.scheme_ is None
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        model = fitted(votes, scheme="IOB2")
    assert model.scheme_ == "IOB2"
    allowed = np.isfinite(model.transitions_)
    assert allowed.tolist() == [[True, True, True], [True, True, True], [True, False, True]]
    assert fitted(votes, scheme=None).scheme_ is None
    # A token without a vote may be anything, so what follows it breaks nothing.
    votes["model"][1] = ["O", None, "I-X"]
    assert fitted(votes).scheme_ == "IOB2"
    with pytest.raises(ValueError, match="votes have the label 'I-X', but not the labels that are"):
        fitted([[["I-X", "O"]]], scheme="IOB2")
    with pytest.raises(ValueError, match=r"scheme must be one of auto, IOB2, .* got 'IOB1'"):
        fitted([[["I-X", "O"]]], scheme="IOB1")


def spoiled(rng, labels, right, favourite):
    """IOB2 labels by an annotator who misses names, and takes them for a favourite type."""
    spoiled, kind = [], None
    for label in labels:
        if label[0] == "B":
            kind = label[2:] if rng.random() < right else rng.choice([favourite, "O"])
        elif label == "O":
            kind = favourite if rng.random() < (1 - right) / 10 else "O"
            label = "B-" + kind
        spoiled.append("O" if kind == "O" else label[:2] + kind)
    return spoiled


def test_confusion_of_prefixes_does_not_swamp_that_of_types():
    rng = np.random.default_rng(0)
    names = [["B-X", "I-X", "I-X"], ["B-Y"]]
    truth = [
        [
            *chain.from_iterable(
                [*["O"] * rng.integers(1, 4), *names[rng.integers(2)]] for _ in range(3)
            )
        ]
        for _ in range(300)
    ]
    who = [(0.6, "X"), (0.6, "Y"), (0.65, "X"), (0.9, "Y")]
    votes = [[spoiled(rng, y, right, kind) for y in truth] for right, kind in who]
    scores = {
        scheme: segment_f1(truth, fitted(votes, scheme=scheme).predict(votes).tolist())
        for scheme in ("IOB2", None)
    }
    assert scores["IOB2"] > 0.95
    assert scores["IOB2"] > scores[None] + 0.02
    reliability = fitted(votes).reliability_[:, :2]
    expected = [(0.8, 0.6), (0.6, 0.8), (0.825, 0.65), (0.9, 0.95)]
    np.testing.assert_allclose(reliability, expected, atol=0.07)


def test_all_layouts_are_alike():
    votes = dict(zip("ab", random_votes(4, n_annotators=2), strict=True))
    expected = fitted(votes)
    proba = expected.predict_proba(votes)
    assert isinstance(proba, list)
    arrays = {name: SequenceArray.from_sequences(v) for name, v in votes.items()}
    model = fitted(arrays)
    found = model.predict_proba(arrays)
    assert isinstance(found, SequenceArray) and isinstance(model.predict(arrays), SequenceArray)
    np.testing.assert_array_equal(found.data, np.concatenate(proba))
    listed = fitted([*votes.values()])
    assert listed.annotators_ == [0, 1]
    assert listed.predict([*votes.values()]).tolist() == expected.predict(votes).tolist()
    places = [(i, t) for i, labels in enumerate(votes["a"]) for t in range(len(labels))]
    index = pd.MultiIndex.from_tuples(places, names=["sequence", "position"])
    frame = pd.DataFrame(
        {name: [*chain.from_iterable(v)] for name, v in votes.items()}, index=index
    )
    frame = frame.sample(frac=1.0, random_state=0)
    model = fitted(frame)
    assert model.annotators_ == ["a", "b"]
    table = pd.DataFrame(model.predict_proba(frame), index=frame.index).loc[index]
    # Sequences are in the order of their first row.
    np.testing.assert_allclose(table.to_numpy(), np.concatenate(proba), atol=1e-12)


@pytest.mark.filterwarnings("ignore")
def test_numbers_and_missing_values():
    votes = {"a": [[1, 0], [np.nan, 2]], "b": [[1, 0], [2, None]]}
    model = fitted(votes)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.predict(votes).tolist() == [[1, 0], [2, 2]] or model.predict(votes)[1][0] == 2


BAD = {
    "no annotator": ({}, "votes: there is no annotator"),
    "no vote": ({"a": [[None], []]}, "votes: all labels are None"),
    "a string": ("B-X", "votes is the single string 'B-X'"),
    "a number": (3, "votes must be a list, but is 3"),
    "labels of one string": ({"a": "B-X"}, "votes of 'a' is the single string"),
    "fewer sequences": ({"a": [["N"], ["V"]], "b": [["N"]]}, "votes of 'a' has 2 sequences, but"),
    "shorter": (
        {"a": [["N"], ["V", "N"]], "b": [None, ["N"]]},
        "votes of 'b', sequence 1: there are 1 labels, but votes of 'a' has 2 there",
    ),
    "unseen": ({"a": [["N"], None], "b": [["N"], None]}, "votes, sequence 1: no annotator saw it"),
    "a set": ({"a": [["N", {"N", "V"}]]}, "votes of 'a', sequence 0, position 1: a vote is one"),
    "not hashable": ({"a": [["N"], ["V", ["N"]]]}, "votes of 'a', sequence 1, position 1: it must"),
    "flat": ({"a": ["N", "V"]}, "votes of 'a', sequence 0: it must be a list of tokens or labels"),
    "ignored": ({"a": [[0, -100]]}, "votes of 'a', sequence 0, position 1: the label is -100"),
}


@for_each("name", BAD)
def test_bad_votes(name):
    votes, message = BAD[name]
    with pytest.raises(ValueError, match=re.escape(message)):
        SequenceLabelModel().fit(votes)


def test_unknown_annotators_and_labels():
    model = fitted({"a": [["N", "V"]], "b": [["N", "N"]]})
    with pytest.raises(ValueError, match=r"votes: 'c' is not among the annotators .*\['a', 'b'\]"):
        model.predict({"a": [["N"]], "c": [["N"]]})
    with pytest.raises(
        ValueError, match=r"votes of 'b', sequence 1, position 0: the label 'D' is not among the c"
    ):
        model.predict_proba({"a": [["N"], ["N"]], "b": [["N"], ["D"]]})
    with pytest.raises(NotFittedError):
        SequenceLabelModel().predict({"a": [["N"]]})


def test_empty_sequences_and_tokens_without_votes():
    votes = {"a": [[], ["N", None, "V"], [None]], "b": [[], ["N", None, "N"], None]}
    model = fitted(votes)
    found = model.predict_proba(votes)
    assert [len(p) for p in found] == [0, 3, 1]
    np.testing.assert_allclose(np.concatenate(found).sum(axis=1), 1.0)
    n = len(model.classes_)
    prior = [chain_probability(model, (k,)) for k in range(n)]
    np.testing.assert_allclose(found[2][0], np.array(prior) / np.sum(prior))


def test_it_is_an_estimator(tmp_path):
    votes = dict(zip("abc", random_votes(6, "IOB2"), strict=True))
    model = SequenceLabelModel(n_iter=3, tol=0.0, smoothing=2.0)
    with pytest.warns(ConvergenceWarning, match="did not converge in 3 iterations"):
        assert model.fit(votes) is model
    assert not model.converged_ and model.n_iter_ == 3
    assert repr(clone(model)) == "SequenceLabelModel(n_iter=3, smoothing=2.0, tol=0.0)"
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model").estimator
    for a, b in zip(model.predict_proba(votes), loaded.predict_proba(votes), strict=True):
        assert a.tobytes() == b.tobytes()
    again = fitted(votes, n_iter=3, tol=0.0, smoothing=2.0)
    assert again.report_rates_.tobytes() == model.report_rates_.tobytes()
    for bad in ({"n_iter": 0}, {"smoothing": 0.0}, {"tol": -1.0}, {"scheme": 3}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            SequenceLabelModel(**bad).fit(votes)


def test_batches_do_not_matter(monkeypatch):
    votes = random_votes(7, "IOB2")
    expected = fitted(votes)
    monkeypatch.setattr("sklearn_crcrf.base.batches.CHUNK", 20)
    model = fitted(votes)
    np.testing.assert_allclose(
        model.log_likelihood_curve_, expected.log_likelihood_curve_, rtol=1e-12
    )
    assert model.predict(votes).tolist() == expected.predict(votes).tolist()


def test_rates_are_frequencies():
    reporting = Reporting.of(np.array(["N", "V"]), None)
    tokens = VotedTokens.of(np.array([[0, 1, -1]]), np.array([0, 3]), reporting)
    counts, prior = tokens.counts_of_shares(None)
    assert counts.reports.tolist() == [[1, 0, 0, 1]]
    assert counts.following.tolist() == [[0, 1, 0], [0, 0, 0]]
    rates = counts.plus(1.0, prior).normalised(reporting)
    assert isinstance(rates, Rates)
    np.testing.assert_allclose(rates.following, [[1 / 6, 4 / 6, 1 / 6], [1 / 3] * 3])
