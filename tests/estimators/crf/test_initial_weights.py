"""Where training starts, and how it goes on."""

import numpy as np
import pytest
from cases import for_each
from log_linear import all_weights
from numpy.testing import assert_allclose
from sklearn.base import clone
from toy import make_corpus

from sklearn_crcrf import (
    CRF,
    HMM,
    BoostedCRF,
    EmpiricalCRF,
    OpinionPoolCRF,
    SequenceVectorizer,
    StructuredPerceptron,
)
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.feature_extraction import TemplateFeatures, text_features
from sklearn_crcrf.linear import Weights

X, y = make_corpus(n_sequences=40)
EXACT = {"tol": 1e-13, "max_iter": 5000}


def weights_of(crf):
    return Weights(crf.coef_, crf.transitions_, crf.begin_, crf.end_, crf.edge_coef_)


def start_of(crf, X, y):
    """The weights with which training starts."""
    with pytest.warns(match="max_iter=0"):
        return clone(crf).set_params(max_iter=0).fit(X, y)


def loss_of_start(crf, X, y):
    """The log loss of the labels of tokens, where training starts."""
    start = start_of(crf, X, y)
    gold = np.searchsorted(start.classes_, np.concatenate([np.array(labels) for labels in y]))
    marginals = np.concatenate(list(start.predict_proba(X)))
    return -np.log(marginals[np.arange(len(gold)), gold]).mean()


@pytest.mark.parametrize("features", ["all", "observed"])
def test_counting_saves_iterations(features):
    words, labels = make_addresses(150, random_state=0)
    zeros = CRF(features=features).fit(words, labels)
    crf = CRF(features=features, init="empirical").fit(words, labels)
    assert_allclose(crf.loss_curve_[-1], zeros.loss_curve_[-1], rtol=1e-3)

    def iterations(crf, loss):
        return int(np.argmax(np.array(crf.loss_curve_) <= loss))

    for factor in (2.0, 1.5, 1.25):
        loss = factor * zeros.loss_curve_[-1]
        assert iterations(crf, loss) < iterations(zeros, loss)
    assert start_of(crf, words, labels).score(words, labels) > 0.8
    assert start_of(zeros, words, labels).score(words, labels) < 0.5


def test_the_empirical_start_is_counted():
    crf = start_of(CRF(init="empirical"), [["a", "b"], ["a"]], [["A", "B"], ["A"]])
    prior, factor = np.array([3.0, 2.0]) / 5, 1.25 / (1 + 4)
    assert_allclose(crf.coef_[0], [factor * np.log1p(2 / prior[0]), 0])
    assert_allclose(crf.coef_[1], [0, factor * np.log1p(1 / prior[1])])
    rate = (np.array([[0, 1.0], [0, 0]]) + np.outer(prior, prior)) / (2 * np.outer(prior, prior))
    assert_allclose(crf.transitions_, factor * np.log(rate))


def test_the_empirical_start_is_better_than_zero_with_few_attributes_and_with_many():
    words, labels = make_addresses(60, random_state=0)
    rows = text_features("names").fit_transform(words)
    assert rows.data.nnz > 30 * len(rows.data.indptr)
    for X in (words, rows):
        zeros, crf = CRF(), CRF(init="empirical")
        assert loss_of_start(crf, X, labels) < 0.9 * loss_of_start(zeros, X, labels)
        assert len(crf.fit(X, labels).loss_curve_) <= len(zeros.fit(X, labels).loss_curve_)


@pytest.mark.parametrize(
    "parameters", [{}, {"features": "observed"}, {"boundaries": True}], ids=str
)
def test_given_weights(parameters):
    optimum = CRF(**parameters, **EXACT).fit(X, y)
    crf = CRF(**parameters, init=weights_of(optimum), tol=1e-10)
    assert clone(crf).fit(X, y).n_iter_ <= 10
    assert_allclose(all_weights(start_of(crf, X, y)), all_weights(optimum))


def test_given_weights_of_what_only_transitions_depend_on_are_left_out():
    features = TemplateFeatures("U:%x[0,0]\nB:%x[0,0]").fit_transform([["a", "b"], ["b"]])
    init = Weights(np.ones((3, 2)), np.ones((2, 2)), *np.zeros((2, 2)), np.ones((1, 2, 2)))
    with pytest.warns(match="max_iter=0"):
        crf = CRF(init=init, max_iter=0).fit(features, [["x", "y"], ["y"]])
    assert crf.attribute_names_.tolist() == ["U=a", "U=b", "B=b"]
    assert crf.coef_.tolist() == [[1, 1], [1, 1], [0, 0]]


def test_given_weights_must_fit():
    weights = weights_of(CRF().fit(X, y))
    with pytest.raises(ValueError, match=r"init.transition has shape \(3, 4\), but it must be"):
        CRF(init=weights._replace(transition=weights.transition[1:])).fit(X, y)
    with pytest.raises(ValueError, match=r"init.state has shape"):
        CRF(init=weights).fit(X[:3], y[:3])


def test_a_warm_start_goes_on():
    crf = CRF(warm_start=True, **EXACT).fit(X, y)
    first = all_weights(crf)
    assert crf.fit(X, y).n_iter_ <= 10
    assert_allclose(all_weights(crf), first, atol=1e-5)
    cold = CRF(sigma=1.1, tol=1e-9).fit(X, y)
    warm = clone(cold).set_params(sigma=1.0, warm_start=True).fit(X, y)
    warm.set_params(sigma=1.1).fit(X, y)
    assert warm.n_iter_ < cold.n_iter_
    assert_allclose(warm.loss_curve_[-1], cold.loss_curve_[-1], rtol=1e-6)


def test_a_warm_start_on_other_attributes_and_labels():
    crf = CRF(warm_start=True, edge_columns=["token"], boundaries=True).fit(X, y)
    before = {**crf.state_features_}
    transitions = crf.transitions_
    more = [["first", *X[0]], *X[5:]]
    with pytest.warns(match="max_iter=0"):
        crf.set_params(max_iter=0).fit(more, [["E", *y[0]], *y[5:]])
    assert crf.classes_.tolist() == ["A", "B", "C", "D", "E"]
    names = set(crf.attribute_names_)
    kept = {pair: w for pair, w in before.items() if pair[0] in names}
    assert crf.state_features_ == kept
    assert_allclose(crf.transitions_[:4, :4], transitions)
    assert not crf.transitions_[4].any()
    new = crf.attribute_names_.tolist().index("first")
    assert not crf.edge_coef_[new].any()
    assert crf.edge_coef_.any()


def test_without_a_warm_start_fit_forgets():
    crf = CRF().fit(X[20:], y[20:])
    assert np.array_equal(crf.fit(X, y).coef_, CRF().fit(X, y).coef_)


def test_another_fit_leaves_nothing_of_the_one_before():
    crf = CRF().fit(np.eye(3), [0, 1, 0])
    crf.fit([["a", "b"]], [["x", "y"]])
    assert not hasattr(crf, "n_features_in_")


# Other estimators that are trained first

WORDS = [[{"word": w, "end": w[-1]} for w in x] for x in X]
CAPITALS = [[{"word": w, "capital": float(w[0].isupper())} for w in x] for x in X]


@pytest.mark.parametrize("sequences", [X, WORDS], ids=["strings", "dicts"])
def test_a_start_from_a_hidden_markov_model_is_that_model(sequences):
    hmm = HMM().fit(sequences, y)
    crf = start_of(CRF(boundaries=True, init=HMM()), sequences, y)
    for ours, theirs in zip(
        crf.predict_proba(sequences), hmm.predict_proba(sequences), strict=True
    ):
        assert_allclose(ours, theirs)
    crf.set_params(max_iter=1000).fit(sequences, y)
    optimum = CRF(boundaries=True).fit(sequences, y)
    assert_allclose(crf.loss_curve_[-1], optimum.loss_curve_[-1], rtol=1e-3)


def test_a_start_from_a_multinomial_model():
    vectorizer = SequenceVectorizer().fit(X)
    rows = vectorizer.transform(X)
    hmm = HMM().fit(rows, y)
    crf = start_of(CRF(boundaries=True, init=HMM()), rows, y)
    for ours, theirs in zip(crf.predict_proba(rows), hmm.predict_proba(rows), strict=True):
        assert_allclose(ours, theirs)


@pytest.mark.parametrize("sequences", [X, WORDS], ids=["strings", "dicts"])
def test_a_start_from_an_empirical_model_has_its_scores_of_single_tokens(sequences):
    """Two tokens have neighbours, on which the empirical model depends too."""
    alone = {"edges": 0.0}
    names = [name for name in EmpiricalCRF().fit(sequences, y).exponents_ if "[" in name]
    alone |= dict.fromkeys(names, 0.0)
    if sequences is WORDS:  # whether a word was seen often makes no difference in a CRF
        alone |= {f"end[0]{kind}": 0.4 for kind in ("", "/seldom", "/unseen")}
    empirical = EmpiricalCRF(exponents=alone)
    crf = start_of(CRF(boundaries=True, init=empirical), sequences, y)
    fitted = clone(empirical).fit(sequences, y)
    for ours, theirs in zip(
        crf.predict_proba(sequences), fitted.predict_proba(sequences), strict=True
    ):
        assert_allclose(ours, theirs)
    assert_allclose(crf.transitions_, fitted.transitions_)
    assert_allclose(crf.begin_, fitted.begin_)
    assert_allclose(crf.end_, fitted.end_)


@pytest.mark.parametrize("index", [-1, 10**6])
def test_sparse_weights_that_contradict_themselves(index):
    weights = weights_of(CRF(features="observed").fit(X, y))
    weights.state.indices = np.append(index, weights.state.indices[1:])
    with pytest.raises(ValueError, match=rf"init.state, row 0: column {index} is not one of"):
        CRF(features="observed", init=weights).fit(X, y)


@pytest.mark.parametrize("init", [HMM(), EmpiricalCRF(), StructuredPerceptron(random_state=0)])
def test_an_estimator_that_is_trained_first_saves_iterations(init):
    words, labels = make_addresses(100, random_state=0)
    zeros = CRF().fit(words, labels)
    crf = CRF(init=init).fit(words, labels)
    assert_allclose(crf.loss_curve_[-1], zeros.loss_curve_[-1], rtol=2e-3)
    assert not hasattr(init, "classes_")
    assert start_of(crf, words, labels).score(words, labels) > 0.8


def test_attributes_without_a_counterpart_start_from_zero():
    crf = start_of(CRF(init=HMM()), CAPITALS, y)
    is_word = np.array([name.startswith("word=") for name in crf.attribute_names_])
    assert (crf.coef_[is_word] != 0).all()
    assert (crf.coef_[~is_word] == 0).all()
    observed = start_of(CRF(init=HMM(), features="observed"), X, y)
    everything = start_of(CRF(init=HMM()), X, y)
    assert_allclose(observed.coef_.data, everything.coef_[observed.coef_.nonzero()])


@pytest.mark.parametrize("init", [HMM(), EmpiricalCRF()])
def test_bins_of_numbers_are_no_attributes_of_a_crf(init):
    rows = np.random.default_rng(0).normal(size=(30, 2))
    labels = np.array(["a", "b", "c"])[np.arange(30) % 3]
    with pytest.raises(ValueError, match="has none of the attributes of X, such as 'x0'"):
        CRF(init=init).fit(rows, labels)


@pytest.mark.parametrize(
    "init, message",
    [
        (HMM(transition_smoothing=0.0), "init: HMM finds events impossible"),
        (EmpiricalCRF.ecrn(), 'init: the weights of EmpiricalCRF need zeros="smoothed"'),
        (BoostedCRF(), "The 'init' parameter of CRF must be"),
        (OpinionPoolCRF([("hmm", HMM())]), "The 'init' parameter of CRF must be"),
    ],
)
def test_estimators_that_cannot_be_a_start(init, message):
    crf = CRF(init=init)
    with pytest.raises(ValueError, match=message):
        crf.fit([["a", "b"], ["a", "b"]], [["A", "B"], ["A", "B"]])
    assert not hasattr(crf, "classes_")


def test_a_warm_start_with_transitions_that_now_depend_on_columns():
    crf = CRF(warm_start=True).fit(WORDS, y)
    first = all_weights(crf)
    crf.set_params(edge_columns=["end"], max_iter=0)
    with pytest.warns(match="max_iter=0"):
        crf.fit(WORDS, y)
    assert not crf.edge_coef_.any()
    assert_allclose(all_weights(crf)[: len(first)], first)


@for_each("estimator", [CRF(warm_start=True), CRF(warm_start=True, features="observed")])
def test_a_warm_start_keeps_the_labels_that_y_lacks(estimator):
    estimator.fit(X, y)
    few = [i for i, labels in enumerate(y) if labels and "D" not in labels][:3]
    estimator.fit([X[i] for i in few], [y[i] for i in few])
    assert estimator.classes_.tolist() == ["A", "B", "C", "D"]
    assert estimator.fit(X[:5], [["E"] * len(words) for words in X[:5]]).classes_[-1] == "E"
    assert len(estimator.classes_) == 5
