"""All linear estimators on forests: against chains, against enumeration, and in scikit-learn."""

import pickle
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from cases import for_each
from forests import enumerate_labellings, local_scores, make_trees
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline

from sklearn_crcrf import (
    CRF,
    MEMM,
    BoostedCRF,
    CalibratedSequenceClassifier,
    GraphArray,
    MaxMarginCRF,
    OpinionPoolCRF,
    SequenceArray,
    SequenceVectorizer,
    StructuredPerceptron,
    Window,
    explain,
)
from sklearn_crcrf.base import batches
from sklearn_crcrf.criteria import CRITERIA
from sklearn_crcrf.estimators.opinion_pool import MergedLabels
from sklearn_crcrf.linear import corpus
from sklearn_crcrf.model_files import load_model, save_model
from sklearn_crcrf.structures import Unsupported

X, Y = make_trees(25, edge_type="direction")
BARE = GraphArray(X.data, X.offsets, X.edges, X.edge_offsets)
NEW, _ = make_trees(12, seed=1, edge_type="direction")
LINEAR = {
    "CRF": CRF(boundaries=True),
    "CRF observed": CRF(features="observed", edge_columns=["token"]),
    "CRF c1": CRF(c1=0.1),
    "CRF sgd": CRF(solver="sgd", max_iter=20, random_state=0),
    "MEMM": MEMM(boundaries=True),
    "perceptron": StructuredPerceptron(max_iter=10, boundaries=True, random_state=0),
    "vote": StructuredPerceptron("vote", max_iter=4, random_state=0),
    "bcfw": MaxMarginCRF(tol=0.05, boundaries=True, random_state=0),
    "smo": MaxMarginCRF(solver="smo", tol=0.05, random_state=0),
}
OTHERS = {
    "eg": MaxMarginCRF(solver="eg", tol=0.3, random_state=0),
    "subgradient": MaxMarginCRF(solver="subgradient", tol=0.3, random_state=0),
    "pool": OpinionPoolCRF([("crf", CRF(tol=0.05)), ("memm", MEMM(tol=0.05))], random_state=0),
    "merged": MergedLabels(CRF(tol=0.05), ["N"]),
    "calibrated": CalibratedSequenceClassifier(CRF(tol=0.05), cv=2),
}
ALL = {**LINEAR, **OTHERS}
models = pytest.mark.parametrize("name", ALL)
# What does not depend on the solver.
each_class = pytest.mark.parametrize(
    "name", [name for name in ALL if name not in ("CRF c1", "CRF sgd", "smo", "eg", "subgradient")]
)
pytestmark = pytest.mark.filterwarnings("ignore:training did not converge")


def fitted(name, X=X, y=Y):
    return clone(ALL[name]).fit(X, y)


@cache
def _stored(name):
    return pickle.dumps(fitted(name))


def trained(name):
    """The model fitted to X and Y."""
    return pickle.loads(_stored(name))


def tokens_of(predicted):
    return SequenceArray.from_sequences(predicted).data


WEIGHTS = ["coef_", "transitions_", "begin_", "end_", "edge_coef_"]


def dense(weights):
    return weights if isinstance(weights, np.ndarray) else weights.toarray()


@models
def test_a_path_is_a_chain(name):
    lists = X.tolist()
    paths = GraphArray.from_parents(lists, [list(range(-1, len(x) - 1)) for x in lists])
    ours, theirs = fitted(name, paths), fitted(name, lists)
    for attribute in WEIGHTS if name in LINEAR else []:
        weights = (dense(getattr(model, attribute)) for model in (ours, theirs))
        assert_allclose(*weights, atol=1e-6, err_msg=attribute)
    for method in ("predict", "predict_proba"):
        found = getattr(ours, method)(paths)
        assert isinstance(found, SequenceArray)
        expected = SequenceArray.from_sequences(getattr(theirs, method)(lists)).data
        if method == "predict":
            assert_array_equal(found.data, expected)
        else:
            assert_allclose(found.data, expected, atol=1e-6)
    for method in ("entropy", "confidence"):
        found, expected = getattr(ours, method)(paths), getattr(theirs, method)(lists)
        assert_allclose(found, expected, atol=1e-6)


# Votes are of many models.
@for_each("name", sorted(set(LINEAR) - {"vote"}))
@for_each("train", [X, BARE])
def test_predictions_are_those_of_the_weights(name, train):
    model, new = fitted(name, train), NEW
    if train is BARE:
        new = GraphArray(NEW.data, NEW.offsets, NEW.edges, NEW.edge_offsets)
    else:
        assert model.edge_attribute_names_[-2:].tolist() == ["edge=left", "edge=right"]
        assert not dense(model.coef_)[-2:].any()
        assert model.edge_coef_[-2:].any()
    predicted, marginals = model.predict(new), model.predict_proba(new)
    entropy, confidence = model.entropy(new), model.confidence(new)
    for s, (start, stop) in enumerate(pairwise(new.offsets)):
        tables = local_scores(model, new, s)
        if name == "MEMM":
            tables = [table - logsumexp(table, axis=1, keepdims=True) for table in tables]
        labellings, values = enumerate_labellings(tables, new.parents[start:stop])
        p = np.exp(values - logsumexp(values))
        ids = np.searchsorted(model.classes_, predicted.data[start:stop])
        (place,) = np.flatnonzero((labellings == ids).all(axis=1))
        assert_allclose(values[place], values.max())
        of_tokens = [np.bincount(labellings[:, t], p, 3) for t in range(stop - start)]
        assert_allclose(marginals.data[start:stop], of_tokens, atol=1e-9)
        assert_allclose(confidence[s], p.max())
        assert_allclose(entropy[s], -(p * np.log(p)).sum(), atol=1e-9)


@models
def test_contributions_sum_to_the_score(name):
    model = trained(name)
    for s in range(2):
        explanation = explain(model, NEW[s : s + 1])
        other = explain(model, NEW[s : s + 1], labels=["N"] * NEW.lengths[s])
        difference = explanation.log_probability - other.log_probability
        assert_allclose(explanation.score - other.score, difference, atol=1e-8)
        assert len(explanation.token_scores) == NEW.lengths[s]
    longest = int(np.argmax(X.lengths))
    names = explain(model, X[longest : longest + 1]).contributions.name.tolist()
    assert name not in LINEAR or any("| edge=" in entry for entry in names)


@for_each("name", sorted(set(ALL) - {"vote"}))
def test_samples_and_log_probabilities(name):
    model = trained(name)
    drawn = np.array([y.data for y in model.sample(NEW, 400, random_state=0)])
    marginals = model.predict_proba(NEW).data
    frequencies = np.stack([(drawn == label).mean(axis=0) for label in model.classes_], axis=1)
    assert_allclose(frequencies, marginals, atol=0.12)
    assert_allclose(model.predict_log_proba(NEW).data, np.log(marginals))


@each_class
def test_what_forests_cannot_do_is_said_before_any_work(name, monkeypatch):
    model = trained(name)
    monkeypatch.setattr(type(model), "_prepare", None)
    said = f"^{type(model).__name__} needs {{}}, which Forest does not have$"
    with pytest.raises(Unsupported, match=said.format("k_best")):
        model.predict_k_best(NEW, 2)
    with pytest.raises(Unsupported, match=said.format("span_log_probability")):
        model.predict_spans(NEW)


def test_criteria_of_spans_are_refused_before_training(monkeypatch):
    crf = CRF("mce_f1")
    monkeypatch.setattr(CRF, "_start", None)
    labels = [["B-" + label for label in y] for y in Y]
    with pytest.raises(Unsupported, match=r"^criterion=MCEF1.* needs span_margin, which Forest"):
        crf.fit(X, labels)
    assert not hasattr(crf, "coef_")


@for_each("criterion", sorted(set(CRITERIA) - {"mce_f1"}))
def test_criteria_are_trained(criterion):
    crf = CRF(criterion, tol=1e-4, boundaries=True).fit(X, Y)
    assert crf.loss_curve_[-1] <= crf.loss_curve_[0]
    assert crf.score(X, Y) > 0.9


CYCLE = GraphArray.from_edges([["a"], ["a", "b", "c"]], [[], [(0, 1), (1, 2), (2, 0)]])


@each_class
def test_cycles_are_refused(name):
    with pytest.raises(ValueError, match=r"sample 1 .*cycle"):
        fitted(name, CYCLE, [["N"], ["N", "V", "N"]])
    model = trained(name)
    with pytest.raises(ValueError, match=r"sample 1 .*cycle"):
        model.predict(CYCLE)


@each_class
def test_edge_data_must_be_as_in_fit(name):
    said = "X has edges without types or attributes, but in fit it had types of edges"
    model = trained(name)
    for other in (BARE, X.tolist()):
        with pytest.raises(ValueError, match=said):
            model.predict(other)
    with pytest.raises(ValueError, match="X has types of edges, but in fit it had edges without"):
        fitted(name, BARE).predict(X)


@each_class
def test_unknown_types_have_no_weights(name):
    model = trained(name)
    strange = GraphArray(
        *(getattr(NEW, part) for part in ("data", "offsets", "edges")),
        NEW.edge_offsets,
        np.full(NEW.n_edges, "up", dtype=object),
    )
    assert len(model.predict(strange)) == len(NEW)


def pipeline(name):
    model = clone(ALL[name])
    if name == "CRF observed":
        model.set_params(edge_columns=())
    return make_pipeline(Window([-1, 0, 1]), model)


@models
def test_results_are_the_same_bits_for_any_number_of_threads(name, monkeypatch):
    monkeypatch.setattr(corpus, "SMALLEST_CHUNK", 20)
    monkeypatch.setattr(corpus, "CHUNK", 1)
    monkeypatch.setattr(batches, "CHUNK", 100)
    one, *more = (
        clone(ALL[name]).set_params(**dict.fromkeys(threads_of(name), n)).fit(X, Y) for n in (1, 3)
    )
    for other in more:
        for attribute in WEIGHTS if name in LINEAR else []:
            of_one, of_other = (dense(getattr(model, attribute)) for model in (one, other))
            assert_array_equal(of_one, of_other)
        assert_array_equal(one.predict_proba(NEW).data, other.predict_proba(NEW).data)
        assert_array_equal(one.entropy(NEW), other.entropy(NEW))


def threads_of(name):
    """The parameters of a model that are a number of threads."""
    return [key for key in ALL[name].get_params() if key.split("__")[-1] == "n_jobs"]


@each_class
def test_pipelines_and_searches(name):
    model = pipeline(name)
    out_of_fold = cross_val_predict(model, X, Y, cv=2)
    assert isinstance(out_of_fold, SequenceArray)
    assert_array_equal(out_of_fold.offsets, X.offsets)
    assert (out_of_fold.data == tokens_of(Y)).mean() > 0.5
    search = GridSearchCV(model, {"window__templates": [[0]]}, cv=2).fit(X[:20], Y[:20])
    assert search.predict(NEW).data.shape == NEW.data.shape


@each_class
def test_stored_models_predict_the_same(name, tmp_path):
    model = pipeline(name).fit(X, Y)
    labels, probabilities = model.predict(NEW).data, model.predict_proba(NEW).data
    save_model(model, tmp_path / "model")
    for again in (load_model(tmp_path / "model").estimator, pickle.loads(pickle.dumps(model))):
        assert_array_equal(again.predict(NEW).data, labels)
        assert_array_equal(again.predict_proba(NEW).data, probabilities)


@for_each("name", ["CRF", "CRF observed", "MEMM", "perceptron", "vote"])
def test_training_goes_on_with_more_types(name):
    more, labels = make_trees(20, seed=2)
    rng = np.random.default_rng(0)
    types = [[rng.choice(["left", "new"]) for _ in x] for x in more.tolist()]
    parents = SequenceArray(more.parents, more.offsets)
    more = GraphArray.from_parents(more.tolist(), parents, edge_type=types)
    model = trained(name).partial_fit(more, labels)
    assert model.edge_attribute_names_[-3:].tolist() == ["edge=left", "edge=right", "edge=new"]
    assert model.edge_coef_[-1].any() and model.edge_coef_[-2].any()
    assert model.predict(X).data.shape == X.data.shape
    again = model.set_params(warm_start=True).fit(X, Y)
    assert again.edge_attribute_names_[-2:].tolist() == ["edge=left", "edge=right"]


def test_a_warm_start_keeps_the_weights_of_types():
    crf = CRF(max_iter=200, tol=1e-9).fit(X, Y)
    weights = crf.edge_coef_
    crf.set_params(warm_start=True, max_iter=1).fit(X, Y)
    assert_allclose(crf.edge_coef_, weights, atol=1e-3)


def test_attributes_of_edges_raise_transitions():
    rng = np.random.default_rng(0)
    data = rng.integers(0, 2, size=(X.n_edges, 1)).astype(float)
    other = GraphArray(X.data, X.offsets, X.edges, X.edge_offsets, data)
    kinds = np.where(data[:, 0] > 0, "yes", "no").astype(object)
    typed = GraphArray(X.data, X.offsets, X.edges, X.edge_offsets, kinds)
    for name in ("CRF", "MEMM", "perceptron", "bcfw"):
        model = fitted(name, other)
        assert model.edge_attribute_names_.tolist() == ["edge0"]
        assert model.edge_coef_.any()
        tables = model.transitions_, model.transitions_ + model.edge_coef_[0]
        twin = fitted(name, typed)
        twin.coef_ = np.vstack([model.coef_, np.zeros((1, 3))])
        twin.transitions_ = np.zeros((3, 3))
        twin.begin_, twin.end_, twin.edge_coef_ = model.begin_, model.end_, np.array(tables)
        assert_allclose(twin.predict_proba(typed).data, model.predict_proba(other).data, atol=1e-9)


@models
def test_known_labels_are_kept(name):
    model = trained(name)
    known = [["V", *[None] * (n - 1)] for n in NEW.lengths]
    predicted = model.predict(NEW, allowed=known)
    assert (predicted.data[NEW.offsets[:-1]] == "V").all() or name == "vote"


@pytest.mark.parametrize("name", ["CRF", "MEMM"])
def test_labels_may_be_partly_unknown(name):
    partial = [
        [None if (s + t) % 5 == 0 else label for t, label in enumerate(y)] for s, y in enumerate(Y)
    ]
    if name == "MEMM":
        with pytest.raises(ValueError, match="y"):
            fitted(name, X, partial)
        return
    assert fitted(name, X, partial).score(X, Y) > 0.85


def test_boosted_trees_take_forests_without_edge_data():
    rows = SequenceVectorizer().fit_transform(X)
    with pytest.raises(ValueError, match="X has types or attributes of edges, but the transitions"):
        BoostedCRF(max_iter=2).fit(rows, Y)
    bare = GraphArray(rows.data, rows.offsets, rows.edges, rows.edge_offsets)
    boosted = BoostedCRF(max_iter=30, min_samples_leaf=2).fit(bare, Y)
    assert boosted.score(bare, Y) > 0.9
    chain = BoostedCRF(max_iter=30, min_samples_leaf=2).fit(
        SequenceArray(rows.data, rows.offsets), Y
    )
    assert boosted.loss_curve_[-1] < chain.loss_curve_[-1]
    with pytest.raises(ValueError, match="X has types or attributes of edges"):
        boosted.predict(rows)
