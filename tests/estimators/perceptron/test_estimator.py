"""StructuredPerceptron as a classifier of sequences."""

import pickle
import re
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from log_linear import all_weights
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks
from toy import make_corpus

from sklearn_crcrf import SequenceArray, SequenceVectorizer, StructuredPerceptron, Window
from sklearn_crcrf.estimators.perceptron import learning
from sklearn_crcrf.linear.examples import Examples

X, y = make_corpus(n_sequences=40)
X, y = [*X, []], [*y, []]
ROWS = [np.random.default_rng(i).normal(size=(len(s), 3)) for i, s in enumerate(X)]
KINDS = ["none", "mean", "vote"]
# A sequence of weight 2 is learned from once with twice the correction, and not twice.
NO_COPIES = {
    f"check_sample_weight_equivalence_on_{kind}_data": "a weight is not a number of copies"
    for kind in ("dense", "sparse")
}


@parametrize_with_checks(
    [StructuredPerceptron(sample_unit="token", boundaries=True, max_iter=20)],
    expected_failed_checks=lambda estimator: NO_COPIES,
)
def test_estimator_checks(estimator, check):
    check(estimator)


def by_definition(words, x, labels, order, weights):
    """The mean and the last weights, of words and of transitions."""
    words, classes = words.tolist(), sorted({j for s in labels for j in s})
    last = np.zeros((len(words) + len(classes), len(classes)))
    total = np.zeros_like(last)

    def features(s, path):
        count = np.zeros_like(last)
        for t, j in enumerate(path):
            count[words.index(s[t]), j] += 1
            if t:
                count[len(words) + path[t - 1], j] += 1
        return count

    for i in order:
        gold = [classes.index(j) for j in labels[i]]
        best = viterbi(last[[words.index(w) for w in x[i]]], last[len(words) :])
        last = last + weights[i] * (features(x[i], gold) - features(x[i], best))
        total += last
    return total / len(order), last


def viterbi(state, transition):
    """The best path; of equals that with the lowest labels at its end."""
    delta, back = state[0], []
    for score in state[1:]:
        into = delta[:, None] + transition
        back.append(into.argmax(axis=0))
        delta = into.max(axis=0) + score
    path = [int(delta.argmax())]
    for previous in reversed(back):
        path.insert(0, int(previous[path[0]]))
    return path


@pytest.mark.parametrize("averaging", ["none", "mean"])
@pytest.mark.parametrize("weights", [None, np.arange(41) % 3], ids=["", "weights"])
def test_epochs_in_random_order(averaging, weights):
    perceptron = StructuredPerceptron(averaging, max_iter=4, random_state=3)
    perceptron.fit(X, y, sample_weight=weights)
    weights = np.ones(41) if weights is None else weights
    rng, usable = np.random.RandomState(3), [i for i in range(40) if weights[i]]
    order = np.concatenate([rng.permutation(usable) for _ in range(4)])
    mean, last = by_definition(perceptron.attribute_names_, X, y, order, weights)
    expected = mean if averaging == "mean" else last
    assert_allclose(perceptron.coef_, expected[:-4], atol=1e-12)
    assert_allclose(perceptron.transitions_, expected[-4:], atol=1e-12)
    assert not perceptron.begin_.any() and not perceptron.end_.any()
    assert perceptron.n_iter_ == len(perceptron.loss_curve_) == 4


def test_training_ends_without_mistakes():
    perceptron = StructuredPerceptron(max_iter=100, random_state=0)
    endings = [[word[-1] for word in s] for s in X]
    perceptron.fit(X, endings)
    assert perceptron.converged_
    assert perceptron.loss_curve_[-1] == 0
    assert all(perceptron.loss_curve_[:-1])
    assert perceptron.n_iter_ == len(perceptron.loss_curve_) < 100
    more = clone(perceptron).set_params(max_iter=1000).fit(X, endings)
    assert_array_equal(more.coef_, perceptron.coef_)
    assert not StructuredPerceptron(max_iter=1).fit(X, y).converged_


@pytest.mark.parametrize(
    "parameters",
    [{"boundaries": True}, {"edge_columns": ["token"]}, {"constraints": {"D": ["A", "B", "D"]}}],
    ids=str,
)
def test_parameters_of_features(parameters):
    follow = parameters.get("constraints", {})
    allowed = [all(b in follow.get(a, b) for a, b in pairwise(s)) for s in y]
    train = [[s for s, ok in zip(part, allowed, strict=True) if ok] for part in (X, y)]
    plain = StructuredPerceptron(random_state=0).fit(*train)
    perceptron = StructuredPerceptron(random_state=0, **parameters).fit(*train)
    assert perceptron.score(*train) > 0.6
    assert all_weights(perceptron).size >= all_weights(plain).size
    if "boundaries" in parameters:
        assert perceptron.begin_.any() and perceptron.end_.any()
    if "edge_columns" in parameters:
        assert perceptron.edge_coef_.any()
        assert perceptron.score(*train) > plain.score(*train)
    if "constraints" in parameters:
        pairs = {pair for s in perceptron.predict(X) for pair in pairwise(s)}
        assert ("D", "C") not in pairs
        assert perceptron.transitions_[3, 2] == 0


def test_weights_multiply_corrections():
    perceptron = StructuredPerceptron(random_state=0)
    once, twice = (clone(perceptron).fit(X, y, sample_weight=w * np.ones(41)) for w in (1, 2))
    assert_array_equal(all_weights(twice), 2 * all_weights(once))
    weighted = clone(perceptron).set_params(class_weight={"A": 3.0, "C": 0.5}).fit(X, y)
    means = [np.mean([{"A": 3.0, "C": 0.5}.get(label, 1.0) for label in s] or [1.0]) for s in y]
    expected = clone(perceptron).fit(X, y, sample_weight=means)
    assert_allclose(all_weights(weighted), all_weights(expected), atol=1e-12)
    kept = np.arange(41) % 2 == 0
    without = clone(perceptron).fit(X, y, sample_weight=kept)
    rest = clone(perceptron).fit(X[::2], y[::2])
    words = [without.attribute_names_.tolist().index(word) for word in rest.attribute_names_]
    assert_array_equal(without.coef_[words], rest.coef_)
    with pytest.raises(ValueError, match="leave no sequence with any weight"):
        clone(perceptron).set_params(class_weight=dict.fromkeys("ABCD", 0)).fit(X, y)


@pytest.mark.parametrize("averaging", KINDS)
def test_the_best_epoch_of_the_validation_is_kept(averaging):
    perceptron = StructuredPerceptron(
        averaging, 50, validation_fraction=0.3, n_iter_no_change=3, random_state=0
    ).fit(X, y)
    curve = perceptron.validation_curve_
    best = int(np.argmin(curve))
    assert perceptron.converged_
    assert perceptron.n_iter_ == len(curve) == best + 4
    shorter = clone(perceptron).set_params(max_iter=best + 1).fit(X, y)
    assert_allclose(all_weights(shorter), all_weights(perceptron), atol=1e-12)
    held_out = np.random.RandomState(0).permutation(40)[:12]
    error = 1 - shorter.set_params(averaging="mean").score(
        [X[i] for i in held_out], [y[i] for i in held_out]
    )
    if averaging != "vote":
        assert_allclose(error, curve[best])
    with pytest.raises(ValueError, match="validation_fraction leaves nothing of 1 sequences"):
        clone(perceptron).fit(X, y, sample_weight=np.arange(41) == 0)


@pytest.mark.parametrize(
    ("averaging", "where", "name", "calls_per_epoch"),
    [
        ("none", learning, "correct", 1),
        ("mean", learning, "correct", 1),
        ("vote", learning, "correct", 1),
        ("mean", Examples, "differences", 1),
        ("vote", Examples, "differences", 1),
    ],
)
def test_ctrl_c_leaves_the_weights_of_the_last_epoch(
    averaging, where, name, calls_per_epoch, monkeypatch
):
    perceptron = StructuredPerceptron(averaging, random_state=0)
    before, whole, calls = StructuredPerceptron(averaging), getattr(where, name), []
    expected = clone(perceptron).set_params(max_iter=2).fit(X, y)

    def interrupted(*args):
        result = whole(*args)
        calls.append(1)
        if len(calls) > 2 * calls_per_epoch:
            raise KeyboardInterrupt
        return result

    monkeypatch.setattr(where, name, interrupted)
    with pytest.warns(match="training did not converge: it was interrupted"):
        perceptron.fit(X, y)
    assert not perceptron.converged_
    assert perceptron.n_iter_ == 2
    assert_array_equal(all_weights(perceptron), all_weights(expected))
    with pytest.raises(KeyboardInterrupt):
        before.fit(X, y)
    assert not hasattr(before, "coef_")


@pytest.mark.parametrize("averaging", KINDS)
def test_parts_are_epochs(averaging):
    options = {"boundaries": True, "edge_columns": ["token"]}
    whole = StructuredPerceptron(
        averaging, 3, random_state=np.random.RandomState(0), **options
    ).fit(X, y)
    parts = StructuredPerceptron(averaging, random_state=np.random.RandomState(0), **options)
    for _ in range(3):
        parts.partial_fit(X, y)
    assert_allclose(all_weights(parts), all_weights(whole), atol=1e-10)
    assert parts.predict(X).tolist() == whole.predict(X).tolist()
    assert parts.n_iter_ == 1
    assert parts.get_params()["max_iter"] == 10


@pytest.mark.parametrize("boundaries", [False, True])
def test_new_attributes_and_labels_may_come(boundaries):
    perceptron = StructuredPerceptron(
        "vote", boundaries=boundaries, edge_columns=["token"], random_state=0
    )
    perceptron.partial_fit([["b", "c"]] * 4, [["B", "C"]] * 4)
    assert perceptron.coef_.shape == (2, 2)
    for _ in range(3):
        perceptron.partial_fit([["a", "b", "d"]] * 4, [["A", "B", "Z"]] * 4)
        perceptron.partial_fit([["b", "c"]] * 4, [["B", "C"]] * 4)
    assert perceptron.classes_.tolist() == ["A", "B", "C", "Z"]
    assert perceptron.predict([["a", "b", "d"], ["b", "c"]]).tolist() == [
        ["A", "B", "Z"],
        ["B", "C"],
    ]
    # The mean of all versions, each as often as it has votes, is the mean.
    history, n = perceptron._history, 4 + 2 * boundaries
    last, total = (np.zeros((n, 4)), np.zeros((5, 16))), [0.0, 0.0]
    for version, n_votes in enumerate(history.votes):
        for k, changes in enumerate(history[2:]):
            row, column, value = changes.entries(version)
            np.add.at(last[k], (row, column), value)
            total[k] = total[k] + n_votes * last[k] / history.n_seen
    assert_allclose(total[0][:4], perceptron.coef_, atol=1e-12)
    assert_allclose(total[1][0].reshape(4, 4).T, perceptron.transitions_, atol=1e-12)
    edges = total[1][1:].reshape(4, 4, 4).transpose(0, 2, 1)
    assert_allclose(edges, perceptron.edge_coef_, atol=1e-12)
    if boundaries:
        assert_allclose(total[0][4:], [perceptron.begin_, perceptron.end_], atol=1e-12)


@pytest.mark.parametrize("averaging", KINDS)
def test_a_warm_start_begins_at_the_weights_of_the_last_fit(averaging):
    options = {"boundaries": True, "edge_columns": ["token"], "random_state": 0}
    crf = StructuredPerceptron(averaging, 2, warm_start=True, **options).fit(X, y)
    first = crf.loss_curve_
    before = all_weights(crf)
    # Corrections are multiplied by the weights of sequences.
    crf.set_params(max_iter=1).fit(X, y, np.full(len(X), 1e-12))
    assert_allclose(all_weights(crf), before, atol=1e-9)
    assert crf.fit(X, y).loss_curve_[0] < first[0]
    cold = clone(crf).set_params(warm_start=False, max_iter=2).fit(X, y).fit(X, y)
    assert cold.loss_curve_ == first


def test_a_warm_start_takes_other_attributes_labels_and_precision():
    crf = StructuredPerceptron(warm_start=True, random_state=0).fit(X, y)
    known = set(crf.attribute_names_.tolist())
    others = [["new", *words[1:]] for words in X[:5] if words]
    labels = [["NEW", *of_words[1:]] for of_words in y[:5] if of_words]
    crf.set_params(dtype="float32", max_iter=1).fit(others, labels)
    assert "NEW" in crf.classes_.tolist()
    assert set(crf.attribute_names_.tolist()) - known == {"new"}
    assert crf.coef_.dtype == np.float32


def test_labels_may_be_declared():
    perceptron = StructuredPerceptron().partial_fit(X[:1], y[:1], classes=["D", "A", "C", "B"])
    assert perceptron.classes_.tolist() == ["A", "B", "C", "D"]
    with pytest.raises(ValueError, match="not the same as in the first call"):
        perceptron.partial_fit(X, y, classes=["A", "B"])


def test_votes():
    perceptron = StructuredPerceptron("vote", max_iter=3, random_state=0).fit(X, y)
    mean = StructuredPerceptron("mean", max_iter=3, random_state=0).fit(X, y)
    assert_array_equal(all_weights(perceptron), all_weights(mean))
    for shares, labels, words in zip(
        perceptron.predict_proba(X), perceptron.predict(X), X, strict=True
    ):
        assert shares.shape == (len(words), 4)
        if words:
            assert_allclose(shares.sum(axis=1), 1)
            assert perceptron.classes_[shares.argmax(axis=1)].tolist() == labels
            assert_allclose(shares * perceptron._n_seen, np.round(shares * perceptron._n_seen))
    known = [[{"B", "C"} if t % 2 else None for t in range(len(s))] for s in X]
    for labels in perceptron.predict(X, allowed=known):
        assert set(labels[1::2]) <= {"B", "C"}
    follow = {label: [label] for label in "ABCD"}
    constrained = clone(perceptron).set_params(constraints=follow)
    single = [s[:1] for s in X], [s[:1] for s in y]
    with pytest.raises(ValueError, match="no path of sequence 0 is possible"):
        constrained.fit(*single).predict([["a", "b"]], allowed=[["A", "B"]])


def test_all_labels_must_be_known():
    perceptron = StructuredPerceptron()
    for label in (None, {"A", "B"}):
        with pytest.raises(ValueError, match="y, sequence 1, position 1: the label is not known"):
            perceptron.fit([["a"], ["b", "c"]], [["A"], ["B", label]])
    assert not hasattr(perceptron, "coef_")


def test_a_failed_fit_leaves_the_model_as_it_was():
    perceptron = StructuredPerceptron("vote", random_state=0).fit(X, y)
    before = vars(perceptron).copy()
    for fit in (perceptron.fit, perceptron.partial_fit):
        with pytest.raises(ValueError, match="sequences"):
            fit(X, y[1:])
    assert vars(perceptron) == before


@pytest.mark.parametrize("averaging", KINDS)
def test_every_way_to_give_attributes(averaging):
    perceptron = StructuredPerceptron(averaging, 3, random_state=0)
    dense = clone(perceptron).fit(ROWS, y)
    for rows in (
        [sp.csr_array(row) for row in ROWS],
        SequenceArray.from_sequences(ROWS),
        SequenceArray(sp.csr_array(np.vstack(ROWS)), SequenceArray.from_sequences(y).offsets),
    ):
        other = clone(perceptron).fit(rows, y)
        assert_array_equal(all_weights(other), all_weights(dense))
        assert [list(s) for s in other.predict(rows)] == dense.predict(ROWS).tolist()
    table = np.vstack(ROWS)
    labels = np.concatenate([s for s in y if s])
    flat = clone(perceptron).set_params(sample_unit="token").fit(table, labels)
    assert flat.predict(table).shape == labels.shape


def test_single_precision():
    exact, single = (
        StructuredPerceptron(dtype=dtype, random_state=0).fit(X, y)
        for dtype in ("float64", "float32")
    )
    assert single.coef_.dtype == np.float32
    # Corrections are whole numbers.
    assert single.loss_curve_ == exact.loss_curve_
    assert_allclose(single.coef_, exact.coef_, atol=1e-4)


def test_random_state_and_threads():
    perceptron = StructuredPerceptron(random_state=1)
    first = clone(perceptron).fit(X, y)
    assert_array_equal(clone(perceptron).set_params(n_jobs=2).fit(X, y).coef_, first.coef_)
    assert not np.array_equal(
        clone(perceptron).set_params(random_state=2).fit(X, y).coef_, first.coef_
    )
    assert first.predict(X).tolist() == first.set_params(n_jobs=2).predict(X).tolist()


def test_progress_is_told(capsys):
    perceptron = StructuredPerceptron(max_iter=5, verbose=2, random_state=0).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    loss = re.fullmatch(r"iteration 4: [\d.]+ s, loss ([\d.]+)", lines[1]).group(1)
    assert_allclose(float(loss), perceptron.loss_curve_[3], rtol=1e-4)


@pytest.mark.parametrize("layout", ["lists", "SequenceArray"])
def test_search_in_a_pipeline(layout):
    data = (X, y) if layout == "lists" else map(SequenceArray.from_sequences, (X, y))
    x, labels = data
    pipeline = Pipeline(
        [
            ("near", Window([-1, 0])),
            ("vectors", SequenceVectorizer()),
            ("perceptron", StructuredPerceptron(random_state=0)),
        ]
    )
    grid = {"perceptron__averaging": KINDS, "perceptron__max_iter": [1, 3]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(x, labels)
    refitted = clone(search.best_estimator_).fit(x, labels)
    assert search.predict(x).tolist() == refitted.predict(x).tolist()


def test_cross_validation():
    scores = cross_val_score(StructuredPerceptron(random_state=0), X, y, cv=4)
    train, test = next(iter(KFold(4).split(X)))
    take = [[part[i] for i in which] for which in (train, test) for part in (X, y)]
    perceptron = StructuredPerceptron(random_state=0).fit(*take[:2])
    assert scores[0] == perceptron.score(*take[2:])


@pytest.mark.parametrize("averaging", KINDS)
def test_a_stored_model_is_the_same(averaging, tmp_path):
    perceptron = StructuredPerceptron(averaging, 3, random_state=0).fit(X, y)
    copies = [pickle.loads(pickle.dumps(perceptron))]
    skops = pytest.importorskip("skops.io")
    skops.dump(perceptron, tmp_path / "model")
    untrusted = skops.get_untrusted_types(file=tmp_path / "model")
    copies.append(skops.load(tmp_path / "model", trusted=untrusted))
    expected = perceptron.predict(X).tolist()
    perceptron.partial_fit(X, y)
    for other in copies:
        assert other.predict(X).tolist() == expected
        assert_allclose(all_weights(other.partial_fit(X, y)), all_weights(perceptron))


def test_a_warm_start_keeps_the_labels_that_y_lacks():
    crf = StructuredPerceptron(warm_start=True, random_state=0).fit(X, y)
    assert crf.fit([["a"]], [["A"]]).classes_.tolist() == ["A", "B", "C", "D"]
