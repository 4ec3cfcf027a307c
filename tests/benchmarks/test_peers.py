"""The comparison with other packages, on made data."""

import math
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.optimize import OptimizeResult

from sklearn_crcrf.linear.duplicate_columns import find_duplicates
from sklearn_crcrf.linear.factoring import factor


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux's /proc")
def test_memory_growth_is_that_of_the_peak(load):
    memory_growth = load("_common").memory_growth

    def hold(n_bytes):
        # So much at once is taken from the system, and given back to it.
        return len(bytearray(b"x") * n_bytes)

    memory_growth(lambda: hold(1))
    growth, result = memory_growth(lambda: hold(100_000_000))
    assert result == 100_000_000
    assert 70e6 < growth < 130e6
    assert memory_growth(lambda: hold(1))[0] < 20e6


def test_crfsuite_learns(load, splits):
    pytest.importorskip("pycrfsuite")
    crfsuite = load("_crfsuite")
    assert crfsuite.simple_attributes([["Re-reading", "it"]]) == [
        [
            ["word=Re-reading", "simple:capital_or_digit", "simple:hyphen", "simple:-ing"],
            ["word=it"],
        ]
    ]
    seconds, model = crfsuite.train_crfsuite(*splits.train)
    assert seconds > 0
    predicted = crfsuite.predict_crfsuite(model, splits.test[0])
    assert load("accuracy").evaluate(splits, predicted, False).known > 70


@pytest.mark.parametrize("corpus", ["chunking", "ner"])
def test_both_packages_have_the_same_attributes(load, corpora, corpus):
    features = load("_features")
    encoded = features.encode(corpus, corpora)
    ours, theirs = encoded.strings(), features.python_attributes(corpus)(encoded.splits.train[0])
    assert [list(map(len, s)) for s in ours] == [list(map(len, s)) for s in theirs]
    pairs = {
        pair
        for sentences in zip(ours, theirs, strict=True)
        for tokens in zip(*sentences, strict=True)
        for pair in zip(*tokens, strict=True)
    }
    # One name of ours for one of theirs, and the other way round.
    assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})
    assert len(pairs) == len(encoded.names)
    assert not any("False" in a for a, _ in pairs)


@pytest.mark.parametrize("corpus", ["chunking", "ner"])
@pytest.mark.parametrize("features", ["observed", "all"])
def test_both_packages_have_the_same_optimum(load, corpora, corpus, features):
    pytest.importorskip("pycrfsuite")
    training = load("_training")
    encoded = load("_features").encode(corpus, corpora)
    peer = load("_crfsuite").Peer(encoded.strings(), encoded.splits.train[1], features=features)
    end = peer.train(delta=1e-9, epsilon=1e-9).objective[-1]
    problem = training.problem_of(encoded, features)
    assert problem.terms().n_weights == peer.n_weights
    problem, x0 = training.duplicates(problem, training.zeros(problem))
    result = training.minimise(problem, training.Stopwatch(1, lambda result: False), x0)
    assert result.fun == pytest.approx(end, rel=1e-6)
    predicted = training.predict(problem, result.x, encoded)
    theirs = load("_crfsuite").tag(peer.model(), encoded.test_strings())
    assert predicted.data.tolist() == [label for labels in theirs for label in labels]


def test_stopwatch_stands_still_while_it_is_read(load, monkeypatch):
    training, now = load("_training"), [0.0]
    monkeypatch.setattr(training, "clock_of", lambda n_threads: lambda: now[0])

    def reached(result):
        now[0] += 100.0
        return result.fun <= 1.0

    stopwatch = training.Stopwatch(1, reached)
    now[0] += 2.0
    stopwatch(OptimizeResult(fun=3.0))
    assert (stopwatch.elapsed, stopwatch.seconds) == (2.0, float("inf"))
    now[0] += 3.0
    with pytest.raises(StopIteration):
        stopwatch(OptimizeResult(fun=1.0))
    assert stopwatch.seconds == 5.0


def test_seconds_to(load):
    trace = load("_crfsuite").Trace([1.0, 3.0, 4.0], [9.0, 5.0, 4.9], 4)
    assert trace.seconds_to(5.0) == 3.0
    assert trace.seconds_to(4.0) == float("inf")


def test_contests(load, corpora):
    pytest.importorskip("pycrfsuite")
    contests = load("_contests")
    entry = contests.Entry
    contest = contests.Contest(
        "it",
        "ner",
        "all",
        [entry(0), entry(1e9, "float32", n_threads=2)],
        [entry(1e-9), entry(n_epochs=2)],
        peer=(7, 1e6),
    )
    rows = list(contests.contest_rows(contest, corpora))
    assert [row[-1] for row in rows] == ["yes", "**no**", "yes", ""]
    assert all(float(row[2][:-2]) > 0 for row in rows)
    corpora.quick = True
    rows = list(contests.contest_rows(contest, corpora))
    assert "against 7" in rows[2][0]


def test_first_epoch_of_python_crfsuite(load, corpora, monkeypatch):
    pytest.importorskip("pycrfsuite")
    contests = load("_contests")
    encoded = load("_features").encode("chunking", corpora)
    seen = []

    def model(peer, max_iterations):
        seen.append(max_iterations)

    monkeypatch.setattr(contests.Peer, "model", model)
    monkeypatch.setattr(contests, "tag", lambda model, attributes: None)
    monkeypatch.setattr(contests, "segment_f1", lambda y, predicted: 0.1 * seen[-1])
    for f1, n_epochs in ((0.05, 1), (0.65, 7), (1.0, 10), (1.05, 11)):
        monkeypatch.setattr(contests, "F1", f1)
        assert contests.peer_to_f1(encoded, None)[1] == n_epochs
    assert contests.peer_to_f1(encoded, 3)[1] == 3


def test_perceptrons(load, corpora):
    pytest.importorskip("pycrfsuite")
    ((what, *_, target, _),) = load("_contests").perceptron_rows(corpora)
    assert "F1 of" in what and target == ">= 1 x"


def test_usage(load, corpora):
    pytest.importorskip("pycrfsuite")
    usage = load("_usage")
    rows = [*usage.encoding_rows(corpora), *usage.decoding_rows(corpora)]
    assert len(rows) == 1 + 2 * 2
    assert all(float(row[2].split()[0].replace(",", "")) > 0 for row in rows)
    verdicts = load("_verdicts")
    assert verdicts.cost_row("it", 4.0, 2.0, 1, "s")[3:] == ["2.0 x", "<= 1 s", "**no**"]
    assert verdicts.rate_row("it", 2.0, 6.0, 5)[3:] == ["3.0 x", ">= 5 k/s", "yes"]
    assert verdicts.ratio_row("it", 6.0, 2.0, None)[3:] == ["3.0 x", "", ""]


def test_optima(load, corpora, monkeypatch):
    optima = load("_optima")
    encoded = load("_features").encode("ner", corpora)
    n_weights = load("_training").problem_of(encoded, "observed").terms().n_weights
    monkeypatch.setattr(
        optima,
        "OPTIMA",
        [
            optima.Optimum("it", "ner", "observed", n, objective)
            for n, objective in ((n_weights, 1e6), (n_weights, 1.0), (1, 1e6))
        ],
    )
    rows = list(optima.optimum_rows(corpora))
    assert [row[-1] for row in rows] == ["yes", "**no**", ""]
    n_tokens, n_labels = encoded.X.shape[0], len(encoded.classes)
    assert float(rows[0][2]) == pytest.approx(n_tokens * math.log(n_labels), abs=1e-3)


def test_limits(load, corpora, monkeypatch):
    limits = load("_limits")
    monkeypatch.setattr(limits, "N_COPIED", 100)
    monkeypatch.setattr(limits, "N_ROWS", 10)
    rows = list(limits.limit_rows(corpora))
    assert len(rows) == 3 + 2 * 2 * 3
    assert all(row[-1].endswith("%") for row in rows[3:])
    problem = load("_training").problem_of(load("_features").encode("ner", corpora), "all")
    X, n = problem.corpus.X, problem.n_labels
    n_sequences = len(problem.corpus.weight)
    assert limits.marginals_kernel(problem)[1] == 6 * n**2 * (X.shape[0] - n_sequences)
    single, groups, _ = factor(X)
    n_entries, n_columns = single.nnz + groups.nnz, groups.shape[1] + len(set(single.indices))
    assert limits.scores_kernel(problem)[1] == n_entries * 12 + (n_entries + X.shape[0]) * n * 8
    assert (
        limits.gradient_kernel(problem)[1] == n_entries * 12 + (n_entries + 2 * n_columns) * n * 8
    )


def test_enlarge(load):
    scaling = load("scaling")
    X, y = [["ab", "cd", "ef"], ["gh"]] * 20, [[0, 1, 2], [3]] * 20
    words, labels = scaling.enlarge(X, y, 4000)
    assert 4000 <= sum(map(len, words)) < 4003
    assert words[:40] == X
    assert list(map(len, words)) == list(map(len, labels))
    changed = [word for sentence in words[40:] for word in sentence if len(word) == 4]
    assert 0.08 < len(changed) / 4000 < 0.12


def test_scaling_finds_the_power(load, tmp_path):
    scaling = load("scaling")
    costs = [scaling.Cost(n, 3.0 * n**1.5, 0) for n in (10, 100, 1000)]
    assert scaling.slope(costs) == pytest.approx(1.5)
    pytest.importorskip("matplotlib")
    scaling.draw({"it": costs}, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 1000


def test_memory_data(load):
    memory = load("memory")
    X, y = memory.make_data(memory.Size(6, 2, 2, 12, 4), "float32")
    assert (X.data.shape, X.data.dtype, len(y)) == ((120, 2 * (10 + 5)), "float32", 6)
    assert (np.diff(X.data.indptr) == 4).all()
    assert_array_equal(X.data.sum(axis=0), 2 * [*[12] * 10, *[24] * 5])
    assert len(find_duplicates(X.data, []).first) == X.data.shape[1]
    single, groups, _ = factor(X.data)
    assert (single.nnz, groups.nnz) == (0, 120 * 2)


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux's /proc")
def test_memory_has_a_row_for_every_solver(load, monkeypatch):
    memory = load("memory")
    size = memory.Size(10, 2, 1, 10, 3)
    with monkeypatch.context() as patch:
        patch.setattr(memory, "DTYPES", ("float32",))
        (row,) = memory.rows(["owlqn"], size, "n_entries")
    assert len(row) == 4
    monkeypatch.setattr(memory, "in_fresh_process", lambda function, *given: function(*given))
    rows = list(memory.rows(["owlqn", "lbfgs"], size, "n_entries"))
    assert [row[:3] for row in rows] == [[s, "129", "400"] for s in ("owlqn", "lbfgs")]
    assert all(float(figure) >= 0 for row in rows for figure in row[3:])
    X, y = memory.make_data(size, "float64")
    for solver in memory.SOLVERS:
        assert memory.fit(solver, X, y).coef_.shape == (40, 3)
