"""Lines B... of templates: weights of pairs of labels alone, as in CRF++, by enumeration."""

import pickle
from itertools import product

import numpy as np
import pytest
from cases import for_each
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.pipeline import FeatureUnion, make_pipeline

from sklearn_crcrf import (
    CRF,
    MEMM,
    MaxMarginCRF,
    SequenceArray,
    SequenceVectorizer,
    StructuredPerceptron,
    TemplateFeatures,
    TokenFeatures,
    explain,
)

TEMPLATE = "U00:%x[0,0]\nU01:%x[1,1]\nB\nB01:%x[0,1]\nB02:%x[-1,0]/%x[0,0]\n"
WORDS = [["the", "dog", "barks"], ["dogs", "bark"], ["the", "barks"], ["bark"]]
TAGS = [["D", "N", "V"], ["N", "V"], ["D", "N"], ["V"]]
X = [
    [{"w": w, "t": t} for w, t in zip(*pair, strict=True)] for pair in zip(WORDS, TAGS, strict=True)
]
y = [["B", "I", "O"], ["B", "O"], ["B", "I"], ["O"]]
LABELS = ["B", "I", "O"]
SIGMA = 1.5


def features_of(words, tags, labels):
    """The features of CRF++ that are active, by name."""
    n = len(words)
    for t in range(n):
        yield "U00", words[t], labels[t]
        yield "U01", tags[t + 1] if t + 1 < n else "_B+1", labels[t]
        if t > 0:
            pair = labels[t - 1], labels[t]
            yield "B", *pair
            yield "B01", tags[t], *pair
            yield "B02", f"{words[t - 1]}/{words[t]}", *pair


def tables():
    """For each sequence the counts of features on all its paths, and the place of the gold one."""
    index, tables = {}, []
    for words, tags, gold in zip(WORDS, TAGS, y, strict=True):
        paths = list(product(LABELS, repeat=len(words)))
        named = [list(features_of(words, tags, path)) for path in paths]
        for name in (name for of_path in named for name in of_path):
            index.setdefault(name, len(index))
        tables.append(
            ([[index[n] for n in of_path] for of_path in named], paths.index(tuple(gold)))
        )
    counted = [
        (np.array([np.bincount(places, minlength=len(index)) for places in rows]), gold)
        for rows, gold in tables
    ]
    return index, counted


def objective(w, counted):
    total, gradient = w @ w / (2 * SIGMA**2), w / SIGMA**2
    for counts, gold in counted:
        scores = counts @ w
        log_z = logsumexp(scores)
        total += log_z - scores[gold]
        gradient = gradient + np.exp(scores - log_z) @ counts - counts[gold]
    return total, gradient


def weight_of(crf, name):
    """The weight that a CRF has for a feature of CRF++."""
    *attribute, last = name
    names, j = crf.attribute_names_.tolist(), LABELS.index(last)
    if name[0].startswith("U"):
        return crf.coef_[names.index("=".join(attribute)), j]
    *attribute, previous = attribute
    i = LABELS.index(previous)
    if name[0] == "B":
        return crf.transitions_[i, j]
    edges = [names[k] for k in crf._encoder.edge_attributes]
    return crf.edge_coef_[edges.index("=".join(attribute)), i, j]


@pytest.mark.parametrize("named", [True, False])
def test_training_is_that_of_crfpp_by_enumeration(named):
    index, counted = tables()
    found = minimize(objective, np.zeros(len(index)), (counted,), jac=True, tol=1e-12)
    features = TemplateFeatures(TEMPLATE)
    edge_columns = features.edge_columns if named else ()
    crf = CRF(sigma=SIGMA, edge_columns=edge_columns, tol=1e-13)
    make_pipeline(features, crf).fit(X, y)
    assert crf.loss_curve_[-1] == pytest.approx(found.fun, rel=1e-9)
    for name, k in index.items():
        assert weight_of(crf, name) == pytest.approx(found.x[k], abs=2e-5)
    assert (crf.coef_ != 0).sum() + crf.transitions_.size + crf.edge_coef_.size == len(index)
    for i, (counts, gold) in enumerate(counted):
        scores = counts @ found.x
        (paths,) = crf.predict_k_best(features.transform(X[i : i + 1]), k=len(scores))
        probability = {tuple(path): p for path, p in paths}
        expected = np.exp(scores[gold] - logsumexp(scores))
        assert probability[tuple(y[i])] == pytest.approx(expected, abs=1e-5)


ESTIMATORS = [
    CRF(features="observed"),
    CRF(dtype="float32"),
    CRF(c1=0.1),
    CRF(solver="sgd", max_iter=20, tol=0, random_state=0),
    CRF(init="empirical"),
    CRF(criterion="mce"),
    MEMM(),
    MaxMarginCRF(random_state=0),
    StructuredPerceptron(random_state=0),
    StructuredPerceptron(averaging="vote", random_state=0),
]


@for_each("estimator", ESTIMATORS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_labels_have_no_weights_of_edges_in_any_estimator(estimator):
    tagger = make_pipeline(TemplateFeatures(TEMPLATE), clone(estimator)).fit(X, y)
    classifier = tagger[-1]
    is_edge = np.char.startswith(classifier.attribute_names_.astype(str), "B")
    assert is_edge.sum() == len(classifier.edge_coef_) == 6
    coef = (
        classifier.coef_ if isinstance(classifier.coef_, np.ndarray) else classifier.coef_.toarray()
    )
    assert (coef[is_edge] == 0).all() and (coef[~is_edge] != 0).any()
    assert (classifier.edge_coef_ != 0).any()
    assert tagger.predict(X).tolist() == y
    names = [name for x in X for name in explain(tagger, x).contributions.name]
    assert not [name for name in names if name.startswith("B0")]
    assert any(" | B0" in name for name in names)


def test_patterns_of_wapiti_for_both_have_both():
    features = TemplateFeatures("u:w=%x[0,0]\nb:t=%x[0,1]\n*:s=%x[0,1]", syntax="wapiti")
    crf = CRF(edge_columns=features.edge_columns)
    make_pipeline(features, crf).fit(X, y)
    names = [crf.attribute_names_[k] for k in crf._encoder.edge_attributes]
    assert names == ["b:t=N", "b:t=V", "*:s=D", "*:s=N", "*:s=V"]
    assert {name[0] for name, _ in crf.state_features_} == {"u", "*"}


def test_more_training_and_warm_starts_keep_edges_apart():
    features = TemplateFeatures(TEMPLATE)
    crf = CRF(warm_start=True, random_state=0)
    for start in (0, 2):
        crf.partial_fit(features.fit_transform(X[start:]), y[start:], classes=LABELS)
    crf.fit(features.transform(X), y)
    perceptron = StructuredPerceptron(random_state=0)
    for start in (2, 0):
        perceptron.partial_fit(features.transform(X[start:]), y[start:], classes=LABELS)
    for classifier in (crf, perceptron):
        assert {name[0] for name, _ in classifier.state_features_} == {"U"}
        assert (classifier.edge_coef_ != 0).any()


def test_columns_say_what_they_describe_through_unions_splits_and_files():
    union = FeatureUnion(
        [("template", TemplateFeatures(TEMPLATE)), ("own", TokenFeatures(["shape"]))]
    )
    made = union.fit_transform(X)
    assert made.data.edges == ("B01", "B02")
    joined = np.concatenate([made[2:], made[:2]])
    for table in (made[1:3].data, joined.data, pickle.loads(pickle.dumps(made)).data):
        assert table.edges == ("B01", "B02")
    tagger = make_pipeline(union, CRF()).fit(X, y)
    assert len(tagger[-1].edge_coef_) == 6
    # Numbers do not say it.
    rows = SequenceVectorizer().fit_transform(made)
    assert isinstance(rows, SequenceArray) and CRF().fit(rows, y).edge_coef_.size == 0
