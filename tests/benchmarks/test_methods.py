"""The tables that compare our methods, on made data."""

import argparse
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from sklearn_crcrf import LatticeCRF
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.feature_extraction import SequenceVectorizer, Window


class Tables:
    """A report that keeps its rows."""

    def __init__(self):
        self.rows = []

    def table(self, title, columns, rows):
        self.rows.append(list(rows))
        assert all(len(row) == len(columns) for row in self.rows[-1])

    def remark(self, text):
        pass


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
    rounds = label_bias.made(1, 200)
    rows = list(label_bias.rows(label_bias.methods(), rounds))
    assert len(rows) == 1 + len(label_bias.methods())
    figures = {row[0]: float(row[1]) for row in rows}
    assert figures.pop("best decoding") > 90
    assert figures["MEMM, only seen transitions"] < 75
    assert all(0 <= figure <= 100 for figure in figures.values())
    # No method finds more than the Bayes-optimal decoding but by chance, in ties.
    assert all(float(row[3]) <= 0 for row in rows[1:])
    ((_, (X, _)),) = rounds
    for symbols, is_tie in zip(X, label_bias.ties(X), strict=True):
        likelihood = [_likelihood(word, symbols) for word in ("rib", "rob")]
        assert is_tie == np.isclose(*likelihood)
        (labels,) = label_bias.bayes_optimal_labels([symbols])
        assert is_tie or (labels[1] == "I") == (likelihood[0] > likelihood[1])


def _likelihood(word, symbols, noise=3 / 32):
    right = np.array(list(word)) == np.array(symbols)
    return np.prod(np.where(right, 1 - noise, noise / 3))


def test_lattices_have_a_row_for_each_model_and_corpus(load, splits, monkeypatch):
    lattice = load("lattice")
    monkeypatch.setattr(lattice, "load_splits", lambda *args: splits)
    monkeypatch.setattr(lattice, "brown_models", lambda: {"order 1": LatticeCRF(random_state=0)})
    _, columns, rows = lattice.brown_table(argparse.Namespace())
    (row,) = rows
    assert len(row) == len(columns)
    assert float(row[6]) >= 1 and 0 <= float(row[7]) < 50
    monkeypatch.setattr(lattice, "corpora", lambda: {"made": (lambda args: splits, "tags")})
    _, columns, rows = lattice.corpora_table(argparse.Namespace())
    (row,) = rows
    assert len(row) == len(columns)


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


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_tables_of_the_papers_have_their_figures_beside_ours(load, splits, monkeypatch):
    papers, options = load("papers"), []
    monkeypatch.setitem(papers.SETTINGS, "max_iter", 3)
    monkeypatch.setattr(
        papers, "load_splits", lambda *_, **of_brown: options.append(of_brown) or splits
    )
    rows = list(papers.tagged("1000-4000", argparse.Namespace(largest=False)))
    assert [row[2] for row in rows] == ["86.7", "86.8", "82.6", "69.4", ""] + [
        "86.7",
        "86.8",
        "82.6",
        "69.4",
    ] + ["86.7", "86.8"] * 2
    assert options == list(papers.PROTOCOLS.values())
    assert all(row[3] and row[9] for row in rows)
    largest = [
        list(papers.tagged("32623-1000", argparse.Namespace(largest=k))) for k in (False, True)
    ]
    assert [[row[3] == "" for row in rows].count(True) for rows in largest] == [2, 0]
    assert [[row[0] for row in rows].count("[ECRN]: EmpiricalCRF.ecrn()") for rows in largest] == [
        4,
        4,
    ]
    args = argparse.Namespace(report=Tables())
    papers.names(args)
    (rows,) = args.report.rows
    assert [row[1] for row in rows] == ["96.11", "96.14", "96.13", "94.4", "", "96.23"]


def test_mu_oov_is_chosen_on_the_tuning_part(load, splits, monkeypatch):
    papers = load("papers")
    monkeypatch.setattr(papers, "load_splits", lambda *_, **__: splits)
    scores = {
        mu_oov: papers.MEAN(mu_oov=mu_oov).fit(*splits.train).score(*splits.tuning)
        for mu_oov in papers.MU_OOV
    }
    chosen = papers.chosen_mu_oov(papers.COUNTED[0], None)
    assert scores[chosen] == max(scores.values()) > min(scores.values())
    rows = list(papers.with_mu_oov(argparse.Namespace(splits=["1000-4000", "32623-1000"])))
    assert [row[1] for row in rows[::2]] == ["1", "1"] and rows[1][1] == f"{chosen:g}"
    assert [(row[2], row[4]) for row in rows] == [("55.9", "70.1")] * 2 + [("", "70.5")] * 2


def test_blocks_of_brown_are_left_out(load, splits, monkeypatch):
    papers = load("papers")
    monkeypatch.setattr(papers, "BLOCK", 10)
    X, y = (a + b for a, b in zip(splits.train, splits.test, strict=True))
    shares, accuracies = [], []
    for block in np.array_split(np.arange(len(X)), len(X) // 10):
        kept = np.setdiff1d(np.arange(len(X)), block)
        crf = papers.MEAN().fit([X[i] for i in kept], [y[i] for i in kept])
        tested = [X[i] for i in block]
        known = np.concatenate(crf.known_tokens(tested))
        right = np.concatenate(crf.predict(tested)) == np.concatenate([y[i] for i in block])
        shares.append(f"{100 - 100 * known.mean():.1f}")
        accuracies.append(f"{100 * right[~known].mean():.1f}")
    found = list(papers.of_blocks(papers.MEAN(), splits))
    for values, (least, _, most) in ((accuracies, found[:3]), (shares, found[3:])):
        assert (least, most) == (min(values, key=float), max(values, key=float))


def test_unknown_tokens_follow_from_three_accuracies(load):
    published = load("_published").Published(0.8 * 90 + 0.2 * 50, 90, 50, 0)
    assert published.unknown_share == pytest.approx(20)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("segments", [False, True])
def test_separate_training_is_beside_counting_and_joint_training(
    load, splits, monkeypatch, segments
):
    separate, exponents = load("_separate"), load("exponents")
    monkeypatch.setitem(separate.SETTINGS, "max_iter", 3)
    corpus = exponents.Corpus(lambda args: (splits.train, splits.test), segments)
    monkeypatch.setitem(separate.WORDS, "names of all", corpus)
    rows = list(separate.rows("names of all", argparse.Namespace()))
    assert all(len(row) == len(separate.COLUMNS) for row in rows)
    assert [row[1] for row in rows].count('SeparateCRF(pairs="maxent")') == 2
    assert all((row[2] != "") == segments for row in rows)
    seen = {word for words in splits.train[0] for word in words}
    counted = separate.EmpiricalCRF.ecrn().fit(*splits.train).predict(splits.test[0])
    right = [
        a == b
        for y, p in zip(splits.test[1], counted, strict=True)
        for a, b in zip(y, p, strict=True)
    ]
    known = [word in seen for words in splits.test[0] for word in words]
    assert rows[0][3:5] == [
        f"{100 * np.mean(right):.2f}",
        f"{100 * np.mean(np.array(right)[known]):.2f}",
    ]


def test_features_of_both_words_are_those_of_each(load):
    separate = load("_separate")
    one, both = (
        separate.of_the_papers(*k).fit_transform([["Ed", "sings"]]) for k in ((0,), (-1, 0))
    )
    assert one.data.sum(axis=1).tolist() == [[12], [12]]
    assert both.data.sum(axis=1).tolist() == [[24], [24]]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_criteria_of_errors_are_beside_their_figures(load):
    papers, tasks = load("papers"), load("_tasks")
    X, y = make_addresses(12, random_state=0)
    tokens = [[{"word": word} for word in sentence] for sentence in X]
    features = make_pipeline(Window(["word[0]"]), SequenceVectorizer())
    rows = features.fit_transform(tokens)
    known = [[k > 0 for k in range(len(sentence))] for sentence in X]
    train = test = tasks.Rows(rows, y, known)
    task = tasks.TASKS["chunking"]
    start = papers.criteria.trained(papers.criteria.LOG_LOSS, task, train)
    for table in (papers.MCE_1, papers.MCE_2):
        found = list(papers.by_criterion(table, 0, task, train, test, start))
        assert [row[0].split(":")[0] for row in found] == list(table)
        assert [float(row[1]) for row in found] == [figures.f1 for figures, _ in table.values()]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_defaults_of_f1_are_compared_with_the_log_loss(load, monkeypatch):
    f1_defaults = load("f1_defaults")
    X, y = make_addresses(40, random_state=0)
    parts = SimpleNamespace(load=lambda args: ((X[:20], y[:20]), (X[20:], y[20:])))
    names = ["Dutch names", "chunks"]
    monkeypatch.setattr(f1_defaults, "CORPORA", dict.fromkeys(names, parts))
    monkeypatch.setitem(f1_defaults.OPTIONS, "max_iter", 3)
    args = SimpleNamespace(corpora=names, sizes=[10, 800])
    found = list(f1_defaults.rows(args))
    assert [row[:3] for row in found[:2]] == [
        ["Dutch names", "text_features", size] for size in ("10", "20")
    ]
    assert len(found) == 8


def test_the_weight_of_f1_is_chosen_on_other_corpora(load, monkeypatch):
    f1_defaults = load("f1_defaults")
    y = [["B-X", "O"], ["O", "B-X"]]
    half, none = [["B-X", "O"], ["O", "O"]], [["O", "O"], ["O", "O"]]
    # By the log loss, and by the weights 1, 4 and 9.
    found = {"Dutch names": [none, none, y, half], "chunks": [none, half, none, y]}
    corpora = {
        name: SimpleNamespace(load=lambda args, name=name: ((name, y), (y, y))) for name in found
    }
    monkeypatch.setattr(f1_defaults, "CORPORA", corpora)
    monkeypatch.setattr(
        f1_defaults, "predictions", lambda attributes, train, *others: found[train[0]]
    )
    rows = f1_defaults.gains(SimpleNamespace(corpora=list(found)))
    assert rows[0] == ["Dutch names", "text_features", "+0.00", "+100.00", "+66.67", "9"]
    assert rows[2] == ["chunks", "text_features", "+66.67", "+0.00", "+100.00", "4"]
    assert len(rows) == 4


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
