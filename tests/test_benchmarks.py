"""The benchmarks run: on made data, and from the command line where there are corpora."""

import argparse
import csv
import gzip
import io
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from programs import modules_of
from scipy.optimize import OptimizeResult
from sklearn.pipeline import make_pipeline

from sklearn_crcrf.datasets import Splits, make_addresses
from sklearn_crcrf.empirical import training
from sklearn_crcrf.empirical.fit_exponents import held_out_folds as folds
from sklearn_crcrf.feature_extraction import SequenceVectorizer, Window
from sklearn_crcrf.linear import find_duplicates
from sklearn_crcrf.linear.factoring import factor

FOLDER = Path(__file__).parents[1] / "benchmarks"
NEEDS_DATA = pytest.mark.skipif(
    "SKLEARN_CRCRF_DATA" not in os.environ, reason="SKLEARN_CRCRF_DATA names no folder of corpora"
)


@pytest.fixture
def load():
    """Import a script by its name."""
    with modules_of(FOLDER) as load:
        yield load


@pytest.fixture(autouse=True)
def few_repetitions(load, monkeypatch):
    """Little is timed, and exponents are fitted on two held-out parts instead of ten."""
    monkeypatch.setattr(load("_training"), "LEAST_SECONDS", 0.01)
    monkeypatch.setattr(
        training, "held_out_folds", lambda offsets, _, n_labels: folds(offsets, 0.5, n_labels)
    )


@pytest.fixture
def splits():
    X, y = make_addresses(60, random_state=0)
    return Splits((X[:30], y[:30]), (X[30:40], y[30:40]), (X[40:], y[40:]))


@pytest.fixture
def corpora(load, splits, monkeypatch):
    """The corpora of crf.py are made up; chunks have parts of speech too. Returns its options."""
    tagged = Splits(
        *(
            ([[{"word": word, "pos": word[-2:]} for word in sentence] for sentence in X], y)
            for X, y in splits
        )
    )

    def load_splits(name, args):
        return tagged if name == "chunking" else splits

    for module in ("_features", "_usage"):
        monkeypatch.setattr(load(module), "load_splits", load_splits)
    return argparse.Namespace(runs=1, quick=False)


def test_accuracy_has_a_row_for_every_method(load, splits):
    accuracy = load("accuracy")
    targets = {"ecrn": accuracy.Figures(0.0), "default": accuracy.Figures(unknown=100.1)}
    rows = list(accuracy.method_rows(list(accuracy.METHODS), splits, targets, False))
    assert [row[0] for row in rows] == [method.title for method in accuracy.METHODS.values()]
    assert all(0 <= float(figure) <= 100 for row in rows for figure in row[1:4])
    verdicts = dict(zip(accuracy.METHODS, (row[5] for row in rows), strict=True))
    assert verdicts.pop("ecrn") == "yes"
    assert verdicts.pop("default") == "**no**"
    assert set(verdicts.values()) == {""}


def test_accuracy_of_perfect_predictions(load, splits):
    accuracy = load("accuracy")
    assert accuracy.evaluate(splits, splits.test[1], False)[:3] == (100, 100, 100)


def test_tuning_leaves_out_sentences_with_new_labels(load, splits):
    X, y = splits.tuning
    tuning = [*X, ["?"]], [*y, ["a label not seen in training"]]
    exponents = load("accuracy").train_and_tune(splits).exponents_
    assert load("accuracy").train_and_tune(splits._replace(tuning=tuning)).exponents_ == exponents


def test_speed_rows(load, splits):
    speed = load("speed")
    labels = sorted({label for _, y in splits for labels in y for label in labels})
    rows = [
        *speed.counting_rows(*splits.train, 1),
        *speed.fit_rows(*splits.train, 1),
        *speed.predict_rows(splits, [*labels, "one more"], 1),
    ]
    assert len(rows) == 3 + 2 + 4
    assert f"{len(labels) + 1} labels" in rows[-1][0]
    assert speed.at_most("it", 1.5, 3, "s") == ["it", "1.50 s", "<= 3 s", "yes"]
    assert speed.at_least("it", 99.96, 100, "%") == ["it", "100.0 %", ">= 100 %", "**no**"]


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


def test_induction(load, corpora, monkeypatch):
    induction = load("induction")
    monkeypatch.setattr(induction, "load_splits", load("_features").load_splits)
    for table in (induction.chunk_table, induction.name_table):
        _, rows = table(corpora)
        rows = list(rows)
        assert [row[-1] in ("yes", "**no**") for row in rows].count(True) == 1
        assert all(0 <= float(row[4]) <= 100 for row in rows)
    (_, counts, *_), *_ = rows
    assert int(counts.replace(",", "")) > 100


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


def test_output_codes_have_a_row_for_every_method(load, splits, monkeypatch):
    codes = load("output_codes")
    tables = load("_features"), codes
    for module in tables:
        monkeypatch.setattr(module, "load_splits", lambda name, args: splits)
    args = argparse.Namespace(runs=1)
    assert len(list(codes.evaluation_rows(args))) == 2
    rows = list(codes.accuracy_rows(args))
    assert len(rows) == 1 + len(codes.methods())
    assert all(0 <= float(row[1]) <= 100 for row in rows)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_serving_has_a_row_for_every_tagger(load, splits, tmp_path, monkeypatch):
    pytest.importorskip("pycrfsuite")
    serving = load("serving")
    monkeypatch.setattr(serving, "N_ITERATIONS", 3)
    monkeypatch.setattr(serving, "N_WARM", 2)
    (X, y), _, (words, _) = splits
    models = serving.fitted(X, y)
    paths = {name: tmp_path / name for name in models}
    for name, model in models.items():
        model.tagger().save(paths[name])
    peer = serving.crfsuite_tagger(X, y, tmp_path / "crfsuite")
    assert len(list(serving.latency_rows(models, paths, peer, words))) == 1 + 2 * len(models)
    assert [row[0] for row in serving.file_rows(paths)] == list(models)
    assert len(list(serving.thread_rows(paths["EmpiricalCRF"], words))) == 4
    starting = load("_starting")
    monkeypatch.setattr(starting, "RUNS", 1)
    assert len(list(starting.bulk_rows(models["EmpiricalCRF"], words))) == 4
    large = starting.write_files(models["EmpiricalCRF"], tmp_path)
    *_, last = starting.compact_rows(models["EmpiricalCRF"], large, words)
    assert last[-1] == "yes"
    ((per_second, *_),) = serving.load_rows(paths["EmpiricalCRF"], words)
    assert float(per_second) > 0


def test_label_bias_has_a_row_for_every_method(load):
    label_bias = load("label_bias")
    rows = list(label_bias.rows(label_bias.methods(), 1, 200))
    assert len(rows) == 1 + len(label_bias.methods())
    figures = {row[0]: float(row[1]) for row in rows}
    assert figures.pop("best decoding") > 90
    assert figures["MEMM, only seen transitions"] < 75
    assert all(0 <= figure <= 100 for figure in figures.values())


def test_tables_are_kept_as_a_page(load, tmp_path, capsys):
    path = tmp_path / "page.rst"
    load("label_bias").main(["--rounds", "1", "--sentences", "50", "--output", str(path)])
    printed, page = capsys.readouterr().out, path.read_text(encoding="utf-8")
    command = f"python benchmarks/label_bias.py --rounds 1 --sentences 50 --output {path}"
    assert printed.startswith(f"{command}\n\n- Python ")
    assert page.startswith("label_bias.py\n=============\n\nLabel bias: ")
    assert f"\n\n.. code-block:: sh\n\n   {command}\n\n- Python " in page
    rows = [line.strip("| ").split(" | ") for line in printed.splitlines() if line[:1] == "|"]
    table = [line.strip() for line in page.split(":header-rows: 1\n\n")[1].splitlines()]
    assert len(table) == len(rows) - 1 > 3
    assert [row[1] for row in csv.reader(table)] == [row[1] for row in rows if row[1] != "---"]


def test_pages_have_the_cells_that_are_printed(load, tmp_path, capsys):
    path = tmp_path / "page.rst"
    report = load("_report").Report("it.py", path)
    report.opening("Stars * and pipes |.", "python it.py", ["one"])
    cells = ["a*b", "2_", "**no**", 'x, "y"', "", "<= 3 `s`"]
    report.table("Title_", ["column"] * len(cells), iter([cells]))
    report.figure(tmp_path / "stars.svg", "Stars *")
    printed = capsys.readouterr().out
    assert f"Stars *: {tmp_path / 'stars.svg'}" in printed
    report.remark("The \\ end.")
    printed += capsys.readouterr().out
    assert f"| {' | '.join(cells)} |\n" in printed
    assert printed.endswith("\n\nThe \\ end.\n")
    core = pytest.importorskip("docutils.core")
    settings = {"report_level": 1, "halt_level": 2}
    tree = core.publish_doctree(path.read_text(encoding="utf-8"), settings_overrides=settings)
    nodes = pytest.importorskip("docutils.nodes")
    row = list(tree.findall(nodes.row))[-1]
    assert [entry.astext() for entry in row.findall(nodes.entry)] == [*cells[:2], "no", *cells[3:]]
    assert len(list(tree.findall(nodes.strong))) == 1
    assert [image["uri"] for image in tree.findall(nodes.image)] == ["stars.svg"]
    assert tree.astext().endswith("The \\ end.")


def test_missing_corpora_are_named(load, tmp_path, monkeypatch):
    monkeypatch.setenv("SKLEARN_CRCRF_DATA", str(tmp_path))
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "home"))
    with pytest.raises(SystemExit, match="SKLEARN_CRCRF_DATA"):
        load("accuracy").main([])


@pytest.fixture(scope="module")
def beginnings(tmp_path_factory):
    """A folder with the first sentences of each corpus, which are read sooner than all."""
    folder = tmp_path_factory.mktemp("corpora")
    for path in Path(os.environ["SKLEARN_CRCRF_DATA"]).glob("*.tsv.gz"):
        with gzip.open(path) as text, gzip.open(folder / path.name, "wb", 1) as start:
            start.write(b"\n\n".join(text.read().split(b"\n\n", 1500)[:-1]))
    return str(folder)


# By program: the number of rows that it prints, and its options.
PROGRAMS = {
    "accuracy": (4, ["--protocols", "ner", "chunking", "--methods", "ecrn", "default"]),
    "scaling": (1, ["--sizes", "500", "--modes", "paper"]),
    "scale": (10, ["--sizes", "2000", "--tables", "shards", "lbfgs", "--iterations", "1"]),
    "crf": (6, ["--rows", "ner", "baseline", "memory", "--runs", "1"]),
    "induction": (5, ["--tables", "chunking"]),
    "criteria": (4, ["--tasks", "chunking", "--criteria", "log_loss", "mce_f1", "--costs"]),
    "trees": (14, ["--tables", "constraint", "kernels", "--runs", "1"]),
}


def check_printed(printed, name):
    assert printed.startswith(f"python benchmarks/{name}.py --sentences 50")
    rows = [line for line in printed.splitlines() if line.startswith("| ")]
    assert len(rows) == PROGRAMS[name][0] + 2 * printed.count("###")


@pytest.mark.data
@NEEDS_DATA
def test_command_line():
    command = [sys.executable, FOLDER / "induction.py", "--sentences", "50"]
    done = subprocess.run(
        [*command, *PROGRAMS["induction"][1]], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    check_printed(done.stdout, "induction")


@pytest.mark.data
@NEEDS_DATA
@pytest.mark.filterwarnings("ignore")  # as a program prints them
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(load, beginnings, monkeypatch, capsys, name):
    monkeypatch.setenv("SKLEARN_CRCRF_DATA", beginnings)
    # The beginning of a file has another checksum than the file.
    monkeypatch.setattr("sklearn_crcrf.datasets._fetch._verify", lambda *args, **options: None)
    # A process of its own would import everything again.
    monkeypatch.setattr(load("_common"), "in_fresh_process", lambda of, *args: of(*args))
    load(name).main(["--sentences", "50", *PROGRAMS[name][1]])
    check_printed(capsys.readouterr().out, name)


def test_the_threshold_of_likely_labels_has_a_row_for_each_method(load, monkeypatch):
    lattice = load("lattice")
    X, y = make_addresses(60, random_state=0)
    splits = (X[:40], y[:40]), None, (X[40:], y[40:])
    monkeypatch.setattr(lattice, "load_splits", lambda *args: splits)
    _, columns, rows = lattice.prediction_table(argparse.Namespace(runs=1))
    labels, probabilities = rows
    assert (labels[0], probabilities[0]) == ("predict", "predict_proba")
    assert len(labels) == len(probabilities) == len(columns)
    assert labels[-2] == "0" and float(probabilities[-1]) < 0.1


def test_allocator_compares_pairs_of_runs(load, monkeypatch):
    allocator = load("allocator")
    monkeypatch.setattr(allocator, "in_fresh_process", lambda function, *args: function(*args))
    args = argparse.Namespace(tasks=["log_loss", "predict"], lines=20, pairs=2)
    rows = list(allocator.rows(args))
    assert [row[:2] for row in rows] == [
        [task, memory] for task in args.tasks for memory in ("given back", "kept")
    ]
    assert all(len(row) == len(allocator.COLUMNS) for row in rows)
    assert [bool(row[-1]) for row in rows] == [False, True, False, True]


@pytest.fixture
def treebank(load):
    """Ten times two sentences; in the first one, "cat" and "dog" depend on "saw"."""
    trees = load("_trees")
    first = [("A", "DET", "2", "det"), ("cat", "NOUN", "3", "nsubj"), ("saw", "VERB", "0", "root")]
    first += [("the", "DET", "5", "det"), ("dog", "NOUN", "3", "obj")]
    second = [("Dogs", "NOUN", "2", "nsubj:pass"), ("sleep", "VERB", "0", "root")]
    lines = ["\n".join("\t".join(word) for word in words) for words in (first, second)]
    text = "\n\n".join(lines * 10)
    return trees.Treebank.read(io.StringIO(text))


def test_words_of_a_treebank_know_their_trees(treebank):
    first = treebank.words[0]
    assert treebank.parents[:2] == [[1, 2, -1, 4, 2], [1, -1]]
    assert treebank.y[1] == ["nsubj", "root"]
    assert first[1] == {
        "form": "cat",
        "tag": "NOUN",
        "lower": "cat",
        "ending": "cat",
        "head_form": "saw",
        "head_tag": "VERB",
        "side": "after",
        "distance": "1",
        "children": "DET",
        "sibling_before": "NONE",
        "sibling_after": "NOUN",
    }
    assert [word["side"] for word in first] == ["after", "after", "root", "after", "before"]
    assert [word["sibling_before"] for word in first] == ["NONE"] * 4 + ["NOUN"]
    assert (first[2]["head_form"], first[2]["head_tag"]) == ("root", "ROOT")
    assert [treebank.linked(name).data.tolist() for name in ("chain", "tree")] == [
        [word for words in treebank.words for word in words]
    ] * 2


def test_heads_with_a_relation_twice_are_counted(treebank):
    pair = treebank.take(2)
    twice = [["det", "obj", "root", "det", "obj"], ["nsubj", "root"]]
    assert [pair.n_broken(y, ["nsubj", "obj"]) for y in (pair.y, twice)] == [0, 1]
    assert pair.n_broken(twice, ["det", "root", "nsubj"]) == 0


def test_tables_of_trees(load, treebank, monkeypatch, capsys):
    trees = load("trees")
    monkeypatch.setattr(trees.Treebank, "load", lambda part, n=None: treebank)
    trees.main(["--quick", "--runs", "1"])
    printed = capsys.readouterr().out
    rows = [line.strip("| ").split(" | ") for line in printed.splitlines() if line[:1] == "|"]
    relations = [row for row in rows if row[1] in trees.STRUCTURES]
    assert len(relations) == 12
    assert all(0 <= float(cell) <= 100 for row in relations for cell in row[5:7])
    constraints = [row for row in rows if row[2] in ("free", "at most one")]
    assert [row[5] for row in constraints if row[2] == "at most one"] == ["0"] * 4
    assert "The gold labels of 0 sentences" in printed
    speeds = [row for row in rows if row[0] in ("3", "4")]
    assert [int(row[1]) for row in speeds] == [19, 35, 70] * 2


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_chains_of_segments(load, splits, monkeypatch):
    segments = load("segments")
    train, test, _ = (
        ([[{"word": word, "pos": word[-2:]} for word in sentence] for sentence in X], [*y])
        for X, y in splits
    )
    tokens = make_pipeline(Window(["pos[0]", "word[-1]", "word[0]"]), SequenceVectorizer())
    task = segments.Task(train, test, tokens, 8)
    monkeypatch.setattr(segments, "read", lambda corpus, args: task)
    monkeypatch.setattr(segments, "SETTINGS", {"max_iter": 5})
    n_rows = {segments.dictionary_table: 5, segments.plain_table: 9, segments.time_table: 2}
    for table, n in n_rows.items():
        _, columns, rows = table(argparse.Namespace())
        rows = list(rows)
        assert len(rows) == n
        assert all(len(row) == len(columns) for row in rows)
        assert {row[-1] for row in rows} <= {"yes", "**no**", ""}


def test_two_stages_have_a_row_for_each_method(load, monkeypatch):
    two_stages = load("two_stages")
    X, y = make_addresses(40, random_state=0)
    parts = [(X[:20], y[:20]), (X[20:30], y[20:30]), (X[30:], y[30:])]
    monkeypatch.setattr(two_stages, "_load", lambda corpus, args: parts)
    named = two_stages.methods("names")
    rows = list(two_stages.rows(named, "ner", argparse.Namespace(sentences=None)))
    assert [row[0] for row in rows] == [*named]
    assert all(0 < float(f1) <= 100 for row in rows for f1 in row[1:3])


def test_corpora_have_a_row_for_each_model(load):
    corpora = load("corpora")
    X, y = make_addresses(40, random_state=0)
    rows = list(corpora.rows("German tags", (X[:20], y[:20]), (X[20:], y[20:]), corpora.MODELS))
    assert [row[0] for row in rows] == [*corpora.MODELS]
    assert all(len(row) == len(corpora.COLUMNS) for row in rows)
    assert all(0 < float(row[1]) <= 100 and 0 <= float(row[5]) <= 100 for row in rows)


def test_learning_curves_meet_where_a_gain_changes_its_sign(load):
    learning_curves = load("learning_curves")
    meeting, sizes = learning_curves.meeting, [100, 400, 1600]
    assert meeting(np.array([-1.0, 1.0, 2.0]), sizes) == "200 sentences"
    assert meeting(np.array([1.0, -1.0, 1.0]), sizes) == "800 sentences"
    assert meeting(np.array([1.0, 1.0, 2.0]), sizes) == "100 sentences or fewer"
    assert meeting(np.array([1.0, 1.0, 0.0]), sizes) == "not with 1,600 sentences"
    X, y = make_addresses(30, random_state=0)
    curves = {
        title: [len(model.fit(X[:n], y[:n]).predict(X[20:])) for n in (10, 20)]
        for title, model in learning_curves.models("tags")
    }
    rows = [*learning_curves.curve_rows(curves), *learning_curves.meetings(curves, (10, 20))]
    assert len(rows) == len(curves) + len(learning_curves.ITERATED)


def test_held_out_choices_have_a_row_for_each_model(load):
    calibration = load("calibration")
    X, y = make_addresses(30, random_state=0)
    parts = {"Dutch names": ((X[:15], y[:15]), calibration.half_lower((X[15:], y[15:])))}
    for rows in (calibration.calibration(parts), calibration.costs(parts)):
        rows = list(rows)
        assert [row[1] for row in rows] == [*calibration.MODELS]
        assert all(0 <= float(value) <= 100 for row in rows for value in row[2:])


def test_calibration_error_is_the_distance_of_confidence_from_accuracy(load):
    corpora = load("corpora")

    class Sure:
        classes_ = np.array(["D", "N"], dtype=object)

        def predict_proba(self, X):
            return [[[0.9, 0.1]] * len(x) for x in X]

    X, y = [["a"] * 10], [["D"] * 6 + ["N"] * 4]
    error = corpora.calibration_error(Sure(), X * 20, y * 20)
    assert 0.3 <= error <= 0.5  # at least the difference between 0.9 and 0.6
    assert corpora.calibration_error(Sure(), X, [["D"] * 10]) == pytest.approx(0.1)


def test_simulated_annotators_reach_their_goal(load):
    pytest.importorskip("skops")
    annotation = load("annotation")
    X, y = make_addresses(150, random_state=0)
    goal, curve = annotation.simulation(X[:100], y[:100], X[100:], y[100:], n_goal=80)
    assert max(curve) == 44 and 0 < goal <= 1
    assert all(0 < score <= 1 for score, _ in curve.values())
    changed, where = annotation.changed([list(labels) for labels in y], 0.1)
    differing = [
        sum(a != b for a, b in zip(c, g, strict=True)) for c, g in zip(changed, y, strict=True)
    ]
    assert differing == where and sum(where) > 0


def test_worked_examples_of_the_papers_agree(load):
    papers = load("papers")
    rows = [*papers.rib_and_rob(), *papers.test_time_problem()]
    assert [row[2] for row in rows[:4]] == ["0.900000", "0.100000", "[0, 0]", "[0, 0]"]
    assert all(abs(float(theirs) - float(ours)) < 2e-5 for _, theirs, ours in rows[4:])


def test_tables_of_the_papers_have_their_figures_beside_ours(load, splits, monkeypatch):
    papers = load("papers")
    monkeypatch.setattr(papers, "load_splits", lambda name, args: splits)
    rows = list(papers.tagged("ner", argparse.Namespace()))
    assert len(rows) == 4 and all(len(row) == 9 for row in rows)
    assert [row[1] for row in rows] == ["96.11", "96.14", "96.13", "96.23"]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_f1_is_compared_with_bounds(load):
    f1_criterion = load("f1_criterion")
    y = [["B-X", "O"], ["O", "B-X"]] * 40
    wrong = [["O", "O"], ["O", "B-X"]] * 40
    assert f1_criterion.interval(y, y, y) == (0.0, 0.0)
    low, high = f1_criterion.interval(y, y, wrong)
    assert -40 < low <= high < -25
    X, y = make_addresses(60, random_state=0)
    every = [f1_criterion.Settings(1.0, 3.0, 4), f1_criterion.Settings(3.0, 3.0, 4)]
    found = list(f1_criterion.candidates("Dutch names", (X[:30], y[:30]), (X[30:], y[30:]), every))
    assert [criterion for _, (criterion, _) in found] == ["log_loss", "log_loss", "mce_f1"]
