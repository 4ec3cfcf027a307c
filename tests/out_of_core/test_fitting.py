"""Estimators fitted from a corpus folder, against the same fit in memory."""

import pickle
import warnings

import numpy as np
import pytest
from cases import for_each
from numpy.testing import assert_allclose

from sklearn_crcrf import (
    CRF,
    HMM,
    ArowCRF,
    EmpiricalCRF,
    GraphCRF,
    PassiveAggressiveCRF,
    SemiMarkovCRF,
    StructuredPerceptron,
    Window,
)
from sklearn_crcrf.criteria import log_loss
from sklearn_crcrf.datasets import write_conll
from sklearn_crcrf.linear.batches import BatchObjective
from sklearn_crcrf.linear.objective import Shard
from sklearn_crcrf.linear.parts import Survey, read_part
from sklearn_crcrf.out_of_core import CorpusFolder, predict_to_file, predictions, write_corpus
from sklearn_crcrf.training.monitor import listening

WINDOW = Window((-1, 0, 1))


@pytest.fixture(scope="module")
def text():
    """Sequences of words, and labels that depend on the word and the label before."""
    rng = np.random.default_rng(0)
    X = [[f"w{w}" for w in rng.integers(20, size=rng.integers(1, 7))] for _ in range(60)]
    y = [
        ["ABC"[(int(w[1:]) + (i > 30) * (t % 2)) % 3] for t, w in enumerate(s)]
        for i, s in enumerate(X)
    ]
    return X, y


@pytest.fixture(scope="module")
def folder(text, tmp_path_factory):
    path = tmp_path_factory.mktemp("text")
    for k, part in enumerate((slice(0, 35), slice(35, 60))):
        write_conll(path / f"{k}.tsv", text[0][part], text[1][part])
    files = [path / "0.tsv", path / "1.tsv"]
    return write_corpus(files, path / "corpus", transformer=WINDOW, lines_per_part=100)


def in_order(crf, names):
    """The weights of attributes in the order of other names."""
    place = {name: i for i, name in enumerate(crf.attribute_names_)}
    coef = crf.coef_ if isinstance(crf.coef_, np.ndarray) else crf.coef_.toarray()
    return coef[[place[name] for name in names]]


@for_each(
    "options",
    [
        {"features": "observed", "boundaries": True, "min_freq": 3, "tol": 1e-7},
        {"c1": 0.1, "tol": 1e-6, "edge_columns": ["token[0]"]},
        {"criterion": "softmax_margin", "constraints": {"A": ["B", "C", "A"]}, "solver": "cg"},
        {"criterion": "token_error", "max_iter": 3},
    ],
)
def test_the_optimum_is_the_same(options, folder, text):
    X, y = text
    X = WINDOW.fit_transform(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, crf = CRF(**options).fit(X, y), CRF(**options).fit(folder)
    assert set(crf.attribute_names_) == set(expected.attribute_names_)
    assert crf.loss_curve_[-1] == pytest.approx(expected.loss_curve_[-1], rel=1e-4)
    names = expected.attribute_names_
    assert_allclose(in_order(crf, names), in_order(expected, names), atol=0.05)
    assert crf.predict(X).tolist() == expected.predict(X).tolist()
    assert vars(crf).keys() == vars(expected).keys()


def test_stochastic_descent(folder, text):
    X, y = text
    crf = CRF(solver="sgd", max_iter=300, random_state=0, features="observed").fit(folder)
    best = CRF(features="observed").fit(WINDOW.fit_transform(X), y)
    assert crf.loss_curve_[-1] == pytest.approx(best.loss_curve_[-1], rel=0.01)
    start = pickle.loads(pickle.dumps(crf)).set_params(warm_start=True, max_iter=1)
    with pytest.warns(match="did not converge"):
        assert start.fit(folder).loss_curve_[0] < 1.05 * crf.loss_curve_[-1]


def test_steps_over_shards_are_gradient_steps(text):
    """Sharded steps against steps with all weights in one place."""
    X, y = text
    parts = [read_part(CRF(edge_columns=["token"]), X[a : a + 30], y[a : a + 30]) for a in (0, 30)]
    shape = Survey.unite(map(Survey.of, parts)).shape()
    shards = [shape.shard(part, log_loss, in_batches=True) for part in parts]
    n = shape.terms().n_weights
    fun = BatchObjective(shards, 1.0)
    x = np.random.default_rng(0).normal(size=n)
    state, expected = fun.start(x.copy()), x.copy()
    for batch, decay in [(0, 0.9), (1, 0.8), (5, 0.003), (6, 0.01), (0, 1.0)]:
        shard = shards[batch // 4]
        own, gradient = shard.columns.take(expected), np.zeros(n)
        alone = Shard(shard.design, shard.terms, shard.corpus, shard.criterion)
        local, moved = BatchObjective([alone], np.inf), np.zeros_like(own)
        stepped = local.start(own.copy())
        local.step(stepped, batch % 4, 0.1, 1.0)
        local.add(stepped, 1.0, moved)
        shard.columns.put(moved - own, gradient)
        expected = decay * expected + gradient
        fun.step(state, batch, 0.1, decay)
    found = np.zeros(n)
    fun.add(state, 1.0, found)
    assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    every = fun.loss(fun.start(found))
    in_pieces = sum(fun.loss(fun.start(found), np.array(b)) for b in ([0, 1, 2], [3, 4, 5, 6, 7]))
    assert every == pytest.approx(in_pieces)
    assert sorted(fun.order(np.random.RandomState(0))) == list(range(8))


def test_progress(folder):
    told = []
    with listening(lambda event: told.append(str(event))):
        CRF(tol=1.0).fit(folder)
    assert told[0].startswith("reading, part 1: ") and "s left" in told[0]
    assert told[len(folder)].startswith("preparing, part 1: ")
    assert told[-1].startswith("iteration ")


@for_each(
    "options, name",
    [
        ({"criterion": "mce_f1"}, "criterion"),
        ({"class_weight": "balanced"}, "class_weight"),
        ({"validation_fraction": 0.1}, "validation_fraction"),
        ({"init": "empirical"}, "init='empirical'"),
        ({"solver": "newton-cg"}, "newton-cg"),
        ({"solver": "gis"}, "gis"),
        ({"device": "cuda"}, "device=.cuda."),
        ({"features": lambda corpus, n: None}, "features"),
    ],
)
def test_what_needs_all_data_is_refused(options, name, folder):
    with pytest.raises(ValueError, match=f"{name}.* needs all of the data"):
        CRF(**options).fit(folder)


@for_each("estimator", [GraphCRF, SemiMarkovCRF])
def test_estimators_that_need_all_data_are_named(estimator, folder):
    with pytest.raises(ValueError, match=f"{estimator.__name__} needs all of the data"):
        estimator().fit(folder)


def test_labels_are_in_the_folder(folder, text, tmp_path):
    with pytest.raises(ValueError, match="has its own labels"):
        CRF().fit(folder, text[1])
    (tmp_path / "words").write_text("a\nb\n")
    unlabelled = write_corpus([tmp_path / "words"], tmp_path / "corpus", ["word"])
    with pytest.raises(ValueError, match="no labels to train on"):
        CRF().fit(unlabelled)


def test_only_fit_takes_a_folder(folder):
    for method in (CRF(max_iter=0).fit([["a"]], [["x"]]).predict, WINDOW.fit_transform):
        with pytest.raises(ValueError, match="predict_to_file labels it"):
            method(folder)


def test_predictions_in_a_file(folder, text, tmp_path, monkeypatch):
    monkeypatch.setattr(predictions, "CHUNK", 2)
    crf = CRF().fit(folder)
    predict_to_file(crf, CorpusFolder(folder.folder), tmp_path / "labels")
    written = (tmp_path / "labels").read_text().split("\n\n")[:-1]
    X = WINDOW.fit_transform(text[0])
    labels = crf.predict(X).tolist()
    assert [sequence.split("\n") for sequence in written] == labels
    predict_to_file(crf, folder, tmp_path / "labels", probabilities=True)
    lines = [line.split("\t") for line in (tmp_path / "labels").read_text().split("\n") if line]
    assert [label for label, _ in lines] == [label for sequence in labels for label in sequence]
    column = {label: j for j, label in enumerate(crf.classes_.tolist())}
    expected = [
        row[column[label]]
        for sequence, rows in zip(labels, crf.predict_proba(X), strict=True)
        for label, row in zip(sequence, rows, strict=True)
    ]
    np.testing.assert_allclose([float(p) for _, p in lines], expected, atol=1e-6)
    with pytest.raises(ValueError, match="Window has no predict_proba"):
        predict_to_file(WINDOW, folder, tmp_path / "labels", probabilities=True)


@pytest.mark.parametrize("make", [StructuredPerceptron, PassiveAggressiveCRF, ArowCRF])
def test_online_training(make, folder, text):
    """With one shard it is the same training; with several, the errors fall as well."""
    X, y = WINDOW.fit_transform(text[0]), text[1]
    options = {"random_state": 0, "boundaries": True, "edge_columns": ["token[0]"]}
    crf = make(max_iter=8, **options).fit(folder)
    expected = make(max_iter=8, **options).fit(X, y)
    assert vars(crf).keys() == vars(expected).keys()
    assert crf.loss_curve_[-1] < 0.5 * crf.loss_curve_[0]
    assert crf.score(X, y) > expected.score(X, y) - 0.03


@pytest.mark.parametrize("make", [EmpiricalCRF, HMM])
def test_counting(make, folder, text):
    X, y = WINDOW.fit_transform(text[0]), text[1]
    crf = make().fit(folder)
    expected = make().fit(X, y)
    assert crf.counts_ == expected.counts_
    assert crf.predict(X) == expected.predict(X)
    with pytest.raises(ValueError, match="has its own labels"):
        make().fit(folder, y)


@for_each(
    "make", [CRF, lambda **options: CRF(features="observed", **options), StructuredPerceptron]
)
def test_a_warm_start_keeps_the_labels_that_the_folder_lacks(make, folder, text):
    X, y = text
    crf = make(warm_start=True).fit([*X[:20], ["new"]], [*y[:20], ["NEW"]])
    labels = {label for of in y for label in of}
    assert crf.fit(folder).classes_.tolist() == sorted({*labels, "NEW"})
