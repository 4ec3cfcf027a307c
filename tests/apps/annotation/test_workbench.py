"""Handing out, logging and learning."""

import threading

import numpy as np
import pytest
from sklearn.base import clone

from sklearn_crcrf import EmpiricalCRF, find_label_issues
from sklearn_crcrf.apps.annotation import (
    Log,
    Pool,
    SegmentMarks,
    TagMarks,
    Workbench,
    order,
    workbench,
)
from sklearn_crcrf.apps.annotation.annotations import Annotation, Change
from sklearn_crcrf.apps.annotation.doubt import MEASURES, suspicions
from sklearn_crcrf.apps.annotation.learner import Learner
from sklearn_crcrf.datasets import make_addresses

X, Y = make_addresses(60, random_state=3)
TAGS = sorted({label for labels in Y for label in labels})


def bench_of(path, **options):
    return Workbench(Pool(X), Log(path), TagMarks(TAGS), **options)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "log.jsonl"


def assert_same(model, other):
    """The same probabilities, bit for bit."""
    assert model.classes_.tolist() == other.classes_.tolist()
    for a, b in zip(model.predict_proba(X), other.predict_proba(X), strict=True):
        np.testing.assert_array_equal(a, b)


def fit_of(bench, start=None):
    rows = bench.annotations.standing
    model = EmpiricalCRF() if start is None else start
    return model.partial_fit([list(a.tokens) for a in rows], [list(a.labels) for a in rows])


def work(bench, seed):
    """Some acts at random."""
    rng = np.random.default_rng(seed)
    for _ in range(25):
        by, i = str(rng.choice(["ann", "bob"])), int(rng.integers(len(X)))
        act = rng.choice(["accept", "accept", "accept", "wrong", "undo", "skip", "flag"])
        if act == "accept":
            bench.accept(by, i, Y[i])
        elif act == "wrong":
            bench.accept(by, i, [TAGS[int(rng.integers(len(TAGS)))]] * len(X[i]))
        elif act == "undo":
            bench.undo(by)
        else:
            getattr(bench, act)(by, i)


@pytest.mark.parametrize("seed", range(3))
def test_the_model_is_the_fit_of_the_log(path, seed):
    with bench_of(path) as bench:
        bench.accept("ann", 0, Y[0])
        work(bench, seed)
        bench.settle()
        assert_same(bench.model, fit_of(bench))
    bench._log.close()
    with bench_of(path) as again:
        assert again.annotations.standing == bench.annotations.standing
        assert_same(again.model, bench.model)
        assert again.state()["curve"] == bench.state()["curve"]


def test_it_starts_from_a_model_which_stays_as_it_was(path):
    start = EmpiricalCRF().fit(X[:20], Y[:20])
    before = start.predict_proba(X)
    with bench_of(path, start=start) as bench:
        work(bench, 1)
        bench.settle()
        assert_same(bench.model, fit_of(bench, EmpiricalCRF().fit(X[:20], Y[:20])))
    for a, b in zip(start.predict_proba(X), before, strict=True):
        np.testing.assert_array_equal(a, b)


def test_gold_labels_are_replaced_by_what_was_accepted(path):
    wrong = [list(labels) for labels in Y]
    wrong[4] = [TAGS[0]] * len(Y[4])
    pool = Pool(X, wrong)
    with Workbench(pool, Log(path), TagMarks(TAGS)) as bench:
        bench.settle()
        view = bench.next("ann")
        assert view["sentence"] == 4 and view["given"] == wrong[4]
        bench.accept("ann", 4, Y[4])
        bench.settle()
        assert_same(bench.model, EmpiricalCRF().fit(X, Y))
        bench.undo("ann")
        bench.settle()
        assert_same(bench.model, EmpiricalCRF().fit(X, wrong))


def test_proposed_labels_are_shown_and_not_learned_before_they_are_accepted(path):
    pool = Pool(X, proposed=[Y[0], *[None] * (len(X) - 1)])
    with Workbench(pool, Log(path), TagMarks(TAGS)) as bench:
        assert bench.view(0)["given"] == Y[0] and bench.view(1)["given"] is None
        assert bench.model is None and bench.view(0)["labellings"][0]["share"] is None
        bench.accept("ann", 0, Y[0])
        bench.settle()
        assert_same(bench.model, EmpiricalCRF().fit(X[:1], Y[:1]))


def test_in_mixed_order_every_second_sentence_is_the_next_one_of_the_text(path):
    with bench_of(path) as bench:
        bench.accept("ann", 0, Y[0])
        bench.settle()
        given = []
        for _ in range(6):
            bench.next("bob")  # who has an order of his own
            most = bench.order.waiting[: order.N_FRONT]
            given.append(bench.next("ann")["sentence"])
            assert given[-1] in most
            held = {sentence for sentence, (by, _) in bench.order._handed.items() if by == "bob"}
            first = min(set(range(1, len(X))) - set(given) - held)
            given.append(bench.next("ann")["sentence"])
            assert given[-1] == first
            for sentence in given[-2:]:
                bench.skip("ann", sentence)


def test_learning_and_forgetting_all_leaves_no_model():
    learner = Learner(EmpiricalCRF())
    one = Annotation(0, 0, tuple(X[0]), tuple(Y[0]), "ann")
    learner.take([Change(None, one)])
    with_one = learner.model
    assert with_one is not None
    learner.take([Change(one, None)])
    assert learner.model is None
    learner.take([Change(None, one), Change(one, None), Change(None, one)])
    assert_same(learner.model, with_one)


def test_each_sentence_is_handed_out_once(path):
    with bench_of(path) as bench:
        given: list = []

        def take(by):
            for _ in range(15):
                view = bench.next(by)
                bench.skip(by, view["sentence"])
                given.append(view["sentence"])

        threads = [threading.Thread(target=take, args=(f"person {k}",)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(given) == list(range(len(X)))
        assert bench.next("ann") is None


def test_a_conflict_is_told_and_the_last_word_is_kept(path):
    with bench_of(path) as bench:
        assert bench.accept("ann", 0, Y[0]) == {"conflict": None}
        other = [TAGS[0]] * len(X[0])
        told = bench.accept("bob", 0, other)["conflict"]
        assert told == {"by": "ann", "marks": Y[0]}
        assert bench.view(0)["accepted"] == {"by": "bob", "marks": other}
        assert bench.state()["conflicts"] == [0]
        assert bench.undo("bob") == 0
        assert bench.view(0)["accepted"] == {"by": "ann", "marks": Y[0]}


def test_doubtful_sentences_come_first(path):
    with bench_of(path, measure="entropy") as bench:
        bench.accept("ann", 0, Y[0])
        bench.settle()
        values = bench.order.values[1:]
        np.testing.assert_allclose(values, bench.model.entropy(X)[1:])
        assert bench.order.waiting[0] == 1 + np.argmax(values)
        first = bench.next("ann")["sentence"]
        assert first in bench.order.waiting[:30]
        assert bench.next("bob")["sentence"] != first


@pytest.mark.parametrize("measure", MEASURES)
def test_measures_grow_with_doubt(measure):
    model = EmpiricalCRF().fit(X[:30], Y[:30])
    known, unknown = MEASURES[measure](model, X[:30]), MEASURES[measure](model, [["?!", "zzz"] * 4])
    assert known.shape == (30,) and unknown[0] > np.median(known)


def suspected(model, y, sentences):
    values = np.full(len(X), -1.0)
    for ids, found in suspicions(model, Pool(X, y), sentences):
        values[ids] = found
    return values


def test_suspicion_is_the_expected_number_of_wrong_labels():
    wrong = [list(labels) for labels in Y]
    for i in (7, 23):
        wrong[i] = [TAGS[1]] * len(Y[i])
    values = suspected(EmpiricalCRF().fit(X, wrong), wrong, np.arange(len(X)))
    assert set(np.argsort(-values)[:2]) == {7, 23}
    issues = find_label_issues(EmpiricalCRF(), X, wrong)
    np.testing.assert_allclose(values, issues.expected_errors(len(X)), rtol=1e-9)


def test_only_sentences_that_wait_are_suspected():
    model, waiting = EmpiricalCRF(order=2, sigma=2.0).fit(X, Y), np.array([3, 40, 5])
    values = suspected(model, Y, waiting)
    assert np.flatnonzero(values >= 0).tolist() == [3, 5, 40]
    expected = find_label_issues(clone(model), X, Y).expected_errors(len(X))
    np.testing.assert_allclose(values[waiting], expected[waiting], rtol=1e-9)
    assert list(suspicions(model, Pool(X[:1], Y[:1]), np.arange(1))) == []


def test_models_that_take_long_are_asked_by_folds():
    model = EmpiricalCRF.ecrn().fit(X, Y)
    values = suspected(model, Y, np.arange(len(X)))
    folds = [(np.flatnonzero(np.arange(60) % 5 != k), np.arange(k, 60, 5)) for k in range(5)]
    expected = find_label_issues(clone(model), X, Y, method="folds", cv=folds)
    np.testing.assert_allclose(values, expected.expected_errors(len(X)), rtol=1e-9)


def test_fitted_exponents_stay_when_sentences_are_left_out():
    model = EmpiricalCRF(exponents="fit").fit(X, Y)
    values = suspected(model, Y, np.arange(len(X)))
    same = EmpiricalCRF(exponents=model.exponents_)
    expected = find_label_issues(same, X, Y).expected_errors(len(X))
    np.testing.assert_allclose(values, expected, rtol=1e-9)


def test_accepted_labels_stand_for_gold_labels_in_other_models(path):
    wrong = [list(labels) for labels in Y]
    for i in (4, 11):
        wrong[i] = [TAGS[0]] * len(Y[i])
    with Workbench(Pool(X, wrong), Log(path), TagMarks(TAGS)) as bench:
        bench.accept("ann", 4, Y[4])
    bench._log.close()
    with Workbench(Pool(X, wrong), Log(path), TagMarks(TAGS)) as again:
        again.settle()
        issues = find_label_issues(EmpiricalCRF(), X, [*wrong[:4], Y[4], *wrong[5:]])
        expected = np.delete(issues.expected_errors(len(X)), 4)
        np.testing.assert_allclose(np.delete(again.order.values, 4), expected, rtol=1e-9)
        assert again.next("ann")["sentence"] == 11


def test_names_can_be_added(path):
    with Workbench(Pool(X), Log(path), SegmentMarks(["PER"])) as bench:
        with pytest.raises(ValueError, match="'LOC' is not among"):
            bench.accept("ann", 0, [[0, 1, "LOC"]])
        bench.add_name("ann", "LOC")
        bench.accept("ann", 0, [[0, 1, "LOC"]])
        with pytest.raises(ValueError, match="is known"):
            bench.add_name("ann", "PER")
    bench._log.close()
    with Workbench(Pool(X), Log(path), SegmentMarks(["PER"])) as again:
        assert again.state()["names"] == ["PER", "LOC"]


def test_nothing_changes_if_the_log_cannot_be_written(path, monkeypatch):
    with bench_of(path) as bench:

        def fail(entry):
            raise OSError("full")

        monkeypatch.setattr(bench._log, "append", fail)
        with pytest.raises(OSError, match="full"):
            bench.accept("ann", 0, Y[0])
        assert bench.annotations.n_entries == 0 and bench.state()["accepted"] == 0


def test_a_very_long_sentence_has_no_alternatives(path, monkeypatch):
    with bench_of(path, start=EmpiricalCRF().fit(X, Y)) as bench:
        usual = bench.view(0)
        monkeypatch.setattr(workbench, "MAX_SCORES", 5)
        (only,) = bench.view(0)["labellings"]
        assert only["marks"] == usual["labellings"][0]["marks"]
        assert only["share"] == pytest.approx(usual["labellings"][0]["share"])
        assert bench.view(0)["likeliest"] == [[] for _ in X[0]]


def test_a_log_of_another_text_is_refused(path):
    with bench_of(path) as bench:
        bench.accept("ann", 0, Y[0])
    bench._log.close()
    with pytest.raises(ValueError, match="of another text"):
        Workbench(Pool([["other"]] * 5), Log(path), TagMarks(TAGS))


def test_an_error_while_learning_is_told(path, monkeypatch):
    with bench_of(path) as bench:
        monkeypatch.setattr(Learner, "take", lambda self, changes: 1 / 0)
        bench.accept("ann", 0, Y[0])
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            bench.settle()
