"""The stand-in for sklearn_crfsuite.CRF, against that package where it is there."""

import copy
import gc
import pickle
import re
import time
from pathlib import Path

import numpy as np
import pytest
from cases import for_each
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

from sklearn_crcrf import (
    CRF,
    CalibratedSequenceClassifier,
    ConformalSequenceClassifier,
    CRFsuiteCRF,
    GraphArray,
    SequenceArray,
    explain,
    make_sequence_pipeline,
)
from sklearn_crcrf.datasets import fetch_conll2002, make_addresses
from sklearn_crcrf.estimators.crfsuite.algorithms import estimator_of
from sklearn_crcrf.metrics import sequence_accuracy, token_f1
from sklearn_crcrf.solvers._progress import Progress
from sklearn_crcrf.structures import Chain, Scores


def word_features(words, t):
    """Values of every kind."""
    word = words[t]
    features = {
        "bias": 1.0,
        "lower": word.lower(),
        "title": word.istitle(),
        "length": len(word) / 10,
        "colon:in:key": "and:value",
        "ends": {"2": word[-2:], "last": [word[-1:], "any"], "deep": {"3": word[-3:]}},
    }
    if t:
        features["before"] = {words[t - 1].lower(), "some"}
    else:
        features["BOS"] = True
    return features


def tutorial_features(tokens, t):
    """Those of the tutorial of sklearn-crfsuite."""
    word, tag = tokens[t]["word"], tokens[t]["pos"]
    features = {
        "bias": 1.0,
        "word.lower()": word.lower(),
        "word[-3:]": word[-3:],
        "word[-2:]": word[-2:],
        "word.isupper()": word.isupper(),
        "word.istitle()": word.istitle(),
        "word.isdigit()": word.isdigit(),
        "postag": tag,
        "postag[:2]": tag[:2],
    }
    for name, other in [("-1", t - 1), ("+1", t + 1)]:
        if 0 <= other < len(tokens):
            word, tag = tokens[other]["word"], tokens[other]["pos"]
            features |= {
                f"{name}:word.lower()": word.lower(),
                f"{name}:word.istitle()": word.istitle(),
                f"{name}:word.isupper()": word.isupper(),
                f"{name}:postag": tag,
                f"{name}:postag[:2]": tag[:2],
            }
        else:
            features["BOS" if other < 0 else "EOS"] = True
    return features


def make_corpus(n_sequences, seed):
    words, labels = make_addresses(n_sequences, random_state=seed)
    return [[word_features(x, t) for t in range(len(x))] for x in words], labels


X, y = make_corpus(60, 0)
X_NEW, Y_NEW = make_corpus(50, 1)
TIGHT = {"delta": 1e-12, "max_iterations": 5000}
# Where weights go to zero and back, there is much to do for the last digits.
LESS_TIGHT = {"delta": 1e-9, "max_iterations": 5000}


def train_theirs(X, y, **parameters):
    sklearn_crfsuite = pytest.importorskip("sklearn_crfsuite")
    return sklearn_crfsuite.CRF(**parameters).fit(X, y)


def objective(crf, of, X, y):
    """What CRFsuite minimises, with the weights of another model, ``of``, of the same features."""
    c1, c2 = crf.c1 or 0.0, 1.0 if crf.c2 is None else crf.c2
    rows = crf.vectorizer_.transform(X)
    attributes = {name: i for i, name in enumerate(crf.vectorizer_.get_feature_names_out())}
    labels = {label: j for j, label in enumerate(crf.classes_)}
    coef = np.zeros((len(attributes), len(labels)))
    transitions = np.zeros((len(labels), len(labels)))
    for (name, label), weight in of.state_features_.items():
        coef[attributes[name], labels[label]] = weight
    for (a, b), weight in of.transition_features_.items():
        transitions[labels[a], labels[b]] = weight
    chain, scores = Chain(rows.offsets), Scores.of(rows.data @ coef, transitions)
    ids = np.array([labels[label] for s in y for label in s], dtype=np.int32)
    loss = (chain.log_partition(scores)[0] - chain.score(scores, ids)[0]).sum()
    w = np.concatenate([coef.ravel(), transitions.ravel()])
    return loss + c2 * w @ w + c1 * abs(w).sum()


def assert_same_model(ours, theirs, X, y, X_new):
    """The same objective, features, labels and probabilities."""
    loss = objective(ours, theirs, X, y)
    assert_allclose(objective(ours, ours, X, y), ours.crf_.loss_curve_[-1])
    assert_allclose(ours.crf_.loss_curve_[-1], loss, rtol=1e-6)
    assert set(ours.classes_) == set(theirs.classes_)
    predicted, expected = ours.predict(X_new), theirs.predict(X_new)
    equal = [
        a == b for s, t in zip(predicted, expected, strict=True) for a, b in zip(s, t, strict=True)
    ]
    assert np.mean(equal) >= 0.999
    for s, t in zip(ours.predict_marginals(X_new), theirs.predict_marginals(X_new), strict=True):
        for p, q in zip(s, t, strict=True):
            assert p.keys() == q.keys()
            assert p == pytest.approx(q, abs=5e-3)


SETTINGS = [
    {},
    {"all_possible_transitions": True, "c2": 0.1},
    {"all_possible_states": True, "all_possible_transitions": True},
    {"all_possible_states": True, "min_freq": 2.5},
    {"min_freq": 3, "c2": 0.5},
]


@for_each("parameters", SETTINGS)
def test_the_same_model(parameters):
    theirs = train_theirs(X, y, epsilon=1e-9, **TIGHT, **parameters)
    ours = CRFsuiteCRF(**TIGHT, **parameters).fit(X, y)
    assert_same_model(ours, theirs, X, y, X_NEW)
    state, expected = ours.state_features_, theirs.state_features_
    assert state.keys() == expected.keys()
    assert_allclose([state[pair] for pair in expected], list(expected.values()), atol=2e-3)
    assert ours.transition_features_.keys() == theirs.transition_features_.keys()
    assert sorted(ours.attributes_) == sorted(theirs.attributes_)
    assert ours.num_attributes_ == theirs.num_attributes_
    assert ours.score(X_NEW, Y_NEW) == pytest.approx(theirs.score(X_NEW, Y_NEW), abs=1e-3)


def test_the_same_model_with_a_penalty_of_absolute_values():
    parameters = {"c1": 0.5, "c2": 0.05, "all_possible_transitions": True}
    theirs = train_theirs(X, y, epsilon=1e-9, **LESS_TIGHT, **parameters)
    ours = CRFsuiteCRF(**LESS_TIGHT, **parameters).fit(X, y)
    assert_same_model(ours, theirs, X, y, X_NEW)
    different = ours.state_features_.keys() ^ theirs.state_features_.keys()
    assert len(different) < 0.05 * len(theirs.state_features_)


def test_the_defaults_are_the_same():
    theirs, ours = train_theirs(X, y), CRFsuiteCRF().fit(X, y)
    assert_allclose(ours.crf_.loss_curve_[-1], objective(ours, theirs, X, y), rtol=1e-4)
    assert ours.state_features_.keys() == theirs.state_features_.keys()


def test_frequencies_are_sums_of_values():
    tokens = [
        [{"s": -0.7, "z": 0.0, "c": 1.0, "w": "a"}, {"s": 2.0, "c": -1.0, "w": "b"}, {"s": 2.0}],
        [{"s": -2.7, "c": -1.0, "w": "a"}, {"s": 2.0, "c": 1.0}],
    ]
    labels = [["A", "B", "A"], ["A", "B"]]
    for parameters in ({}, *SETTINGS[1:]):
        theirs = train_theirs(tokens, labels, **parameters)
        ours = CRFsuiteCRF(**parameters).fit(tokens, labels)
        assert ours.state_features_.keys() == theirs.state_features_.keys()
        assert ours.transition_features_.keys() == theirs.transition_features_.keys()
    assert ("s", "A") not in CRFsuiteCRF().fit(tokens, labels).state_features_


def test_forests():
    parents = [np.arange(len(words)) // 2 - (np.arange(len(words)) == 0) for words in X]
    trees = GraphArray.from_parents(X, parents)
    crf, expected = CRFsuiteCRF().fit(trees, y), CRF(sigma=0.5**0.5, features="observed")
    rows = crf.vectorizer_.transform(trees)
    assert crf.predict(trees) == expected.fit(rows, y).predict(rows).tolist()
    assert crf.predict(trees) != CRFsuiteCRF().fit(X, y).predict(X)


def test_tokens_may_be_lists_of_attributes():
    tokens = [[["w:the", "title", "twice", "twice"], ["w:dog"]], [["w:dogs", "title"], ["w:sleep"]]]
    labels = [["D", "N"], ["N", "V"]]
    theirs = train_theirs(tokens, labels, epsilon=1e-9, **TIGHT)
    ours = CRFsuiteCRF(**TIGHT).fit(tokens, labels)
    assert ours.state_features_ == pytest.approx(theirs.state_features_, abs=1e-4)
    assert ours.predict(tokens).tolist() == theirs.predict(tokens).tolist()


def test_stochastic_descent():
    ours = CRFsuiteCRF("l2sgd", random_state=0).fit(X, y)
    optimum = CRFsuiteCRF().fit(X, y)
    assert_allclose(ours.crf_.loss_curve_[-1], optimum.crf_.loss_curve_[-1], rtol=0.05)
    one, two = (clone(ours).fit(X[:10], y[:10]) for _ in range(2))
    assert one.state_features_ == two.state_features_


@for_each("c1, c2", [(0.1, 0.01), (0.3, 0.0), (1.0, 1.0), (0.0, 0.1)])
def test_training_that_is_ended_early_takes_the_steps_of_crfsuite(c1, c2):
    """Its model is not the optimum, but one on the way."""
    early = {"c1": c1, "c2": c2, "max_iterations": 20 if c1 else 10}
    theirs = train_theirs(X, y, **early)
    ours = CRFsuiteCRF(**early).fit(X, y)
    assert_allclose(ours.loss_curve_[-1], objective(ours, theirs, X, y), rtol=1e-3)
    names = theirs.state_features_.keys() | ours.state_features_.keys()
    weights = [[crf.state_features_.get(name, 0.0) for name in names] for crf in (ours, theirs)]
    assert np.corrcoef(weights)[0, 1] > 0.999


def test_an_l1_penalty_takes_few_evaluations():
    """Their number, as times vary: on addresses, with the settings of parsers of addresses."""
    X, y = make_corpus(200, 2)
    with pytest.MonkeyPatch.context() as patch:
        n, evaluate = [], Progress.evaluate
        patch.setattr(Progress, "evaluate", lambda self, x: n.append(0) or evaluate(self, x))
        ours = CRFsuiteCRF(c1=0.1, c2=0.01).fit(X, y)
    assert ours.converged_
    assert len(n) < 1.15 * ours.n_iter_
    assert ours.n_iter_ < 230
    theirs = train_theirs(X, y, c1=0.1, c2=0.01)
    assert ours.loss_curve_[-1] <= objective(ours, theirs, X, y)


@pytest.mark.data
@pytest.mark.parametrize(
    "parameters", [{"c2": 1.0}, {"c1": 0.1, "c2": 0.1, "all_possible_transitions": True}], ids=str
)
def test_names_in_dutch_text(parameters):
    try:
        train, test = (
            fetch_conll2002(part, download_if_missing=False, return_X_y=True)
            for part in ("train", "testa")
        )
    except OSError as error:
        pytest.skip(str(error))
    (X, y), (X_new, _) = (
        ([[tutorial_features(x, t) for t in range(len(x))] for x in words[:n]], labels[:n])
        for (words, labels), n in ((train, 50), (test, 100))
    )
    stop = LESS_TIGHT if "c1" in parameters else TIGHT
    theirs = train_theirs(X, y, epsilon=1e-9, **stop, **parameters)
    ours = CRFsuiteCRF(**stop, **parameters).fit(X, y)
    assert_same_model(ours, theirs, X, y, X_new)
    if "c1" not in parameters:
        assert ours.state_features_.keys() == theirs.state_features_.keys()


@pytest.fixture(scope="module")
def crf():
    return CRFsuiteCRF(c2=0.1).fit(X, y)


def test_what_the_parameters_stand_for(crf):
    same = CRF(sigma=5**0.5, features="observed", max_iter=10**6)
    rows = crf.vectorizer_.transform(X)
    assert_allclose(same.fit(rows, y).coef_.toarray(), crf.crf_.coef_.toarray())
    made = estimator_of(CRFsuiteCRF(c1=0.3, c2=0, max_iterations=7, delta=1e-3, period=5))
    assert (made.sigma, made.c1, made.max_iter) == (np.inf, 0.3, 7)
    assert made.tol == 1e-3
    assert made.solver_options == {"period": 5, "epsilon": 1e-5, "memory": 6}
    made = estimator_of(CRFsuiteCRF("l2sgd"))
    assert (made.sigma, made.solver, made.max_iter) == (0.5**0.5, "sgd", 1000)
    assert made.tol == pytest.approx(5e-7)
    crf = CRFsuiteCRF(max_iterations=3).fit(X, y)  # warnings are errors
    assert (crf.crf_.n_iter_, crf.converged_) == (3, False)


def test_what_predictions_look_like(crf):
    predicted = crf.predict([*X_NEW[:2], []])
    assert isinstance(predicted, list)
    assert [type(s) for s in predicted] == [list] * 3
    assert predicted[0] == crf.predict_single(X_NEW[0])
    marginals = crf.predict_marginals([*X_NEW[:2], []])
    assert [len(s) for s in marginals] == [len(X_NEW[0]), len(X_NEW[1]), 0]
    for many, single in zip(marginals[1], crf.predict_marginals_single(X_NEW[1]), strict=True):
        assert single == pytest.approx(many, rel=1e-12)
    for p in marginals[0]:
        assert list(p) == crf.classes_.tolist()
        assert sum(p.values()) == pytest.approx(1)
    assert crf.predict([]).tolist() == []
    flat = SequenceArray.from_sequences(X_NEW)
    assert crf.predict(flat).tolist() == crf.predict(X_NEW).tolist()


def test_weights_have_the_names_of_attributes(crf):
    state = crf.state_features_
    for name in ("bias", "length", "colon:in:key:and:value", "ends:last:any", "ends:deep:3:aße"):
        assert name in crf.attributes_
        assert any(attribute == name for attribute, _ in state)
    assert {a for a, _ in crf.transition_features_} <= set(crf.classes_)
    assert all(type(weight) is float for weight in state.values())


@pytest.mark.parametrize(
    "parameters",
    [
        {"algorithm": "pa"},
        {"algorithm": "pa", "pa_type": 0, "error_sensitive": False},
        {"algorithm": "pa", "pa_type": 2, "c": 0.5},
        {"algorithm": "arow", "variance": 2.0, "gamma": 0.5},
    ],
    ids=str,
)
def test_online_algorithms_are_as_accurate_as_there(parameters):
    sklearn_crfsuite = pytest.importorskip("sklearn_crfsuite")
    parameters = {**parameters, "max_iterations": 10}
    gold = np.concatenate(Y_NEW)

    def mean_accuracy(crfs):
        # CRFsuite shuffles by random numbers without a seed, so that one fit of it proves nothing.
        return np.mean([np.concatenate(crf.fit(X, y).predict(X_NEW)) == gold for crf in crfs])

    ours = mean_accuracy([CRFsuiteCRF(**parameters, random_state=seed) for seed in range(10)])
    assert ours > mean_accuracy([sklearn_crfsuite.CRF(**parameters) for _ in range(10)]) - 0.02


@for_each(
    ("parameters", "message"),
    [
        ({"algorithm": "newton"}, "algorithm='newton': CRFsuiteCRF has"),
        ({"algorithm": "ap", "c1": 0.1}, "c1=0.1 is not for"),
        ({"algorithm": "passive-aggressive", "c2": 1.0}, "c2=1.0 is not for"),
        ({"algorithm": "pa", "pa_type": 3}, "'pa_type'"),
        ({"algorithm": "l2sgd", "c1": 0.1}, 'needs algorithm="lbfgs"'),
        ({"c2": -1.0}, "'c2'"),
        ({"period": 0}, "'period'"),
        ({"min_freq": -1}, "'min_freq'"),
    ],
)
def test_what_cannot_be_done_is_an_error(parameters, message):
    with pytest.raises(ValueError, match=message):
        CRFsuiteCRF(**parameters).fit(X, y)


def test_tables_are_refused():
    with pytest.raises(ValueError, match="not a table"):
        CRFsuiteCRF().fit(X, y).predict(np.array([["a"], ["b"]], dtype=object))


def test_bad_input_is_named():
    with pytest.raises(ValueError, match=r"X, sequence 1, position 0.*is None"):
        CRFsuiteCRF().fit([[{"a": "b"}], [{"a": None}]], [["A"], ["B"]])
    with pytest.raises(ValueError, match=r"X, sequence 0, position 1.*must be str, but is {"):
        CRFsuiteCRF().fit([[["a"], [{"b": "c"}]]], [["A", "B"]])
    endless = "a"
    for _ in range(200_000):
        endless = (endless,)
    with pytest.raises(ValueError, match=r"X, sequence 0, position 1.*must be str, but is \(+\."):
        CRFsuiteCRF().fit([[["a"], [endless]]], [["A", "B"]])
    with pytest.raises(ValueError, match="list of dict"):
        CRFsuiteCRF().fit(X[0], y[0])
    with pytest.raises(NotFittedError):
        CRFsuiteCRF().predict(X)
    assert CRFsuiteCRF().classes_ is None


def test_search(crf):
    search = GridSearchCV(CRFsuiteCRF(), {"c2": [0.1, 30.0]}, cv=3).fit(X, y)
    assert search.best_params_ == {"c2": 0.1}
    assert search.best_estimator_.state_features_ == crf.state_features_
    weights = np.arange(len(X)) % 2
    weighted = CRFsuiteCRF(c2=0.1).fit(X, y, sample_weight=weights)
    half = CRFsuiteCRF(c2=0.1).fit(X[1::2], y[1::2])
    assert weighted.predict(X_NEW).tolist() == half.predict(X_NEW).tolist()


def test_all_parameters_of_sklearn_crfsuite_are_accepted():
    sklearn_crfsuite = pytest.importorskip("sklearn_crfsuite")
    ours, theirs = CRFsuiteCRF().get_params(), sklearn_crfsuite.CRF().get_params()
    assert {name: ours[name] for name in theirs} == theirs
    others = {"linesearch": "Backtracking", "max_linesearch": 9, "calibration_eta": 0.2}
    CRFsuiteCRF(max_iterations=2, num_memories=3, keep_tempfiles=True, **others).fit(X, y)
    with pytest.warns(UserWarning, match="trainer_cls has no effect"):
        CRFsuiteCRF(max_iterations=2, trainer_cls=object).fit(X, y)


def test_every_way_to_predict(crf):
    rows, proba = crf.vectorizer_.transform(X_NEW[:3]), crf.predict_proba(X_NEW[:3])
    for ours, theirs in zip(proba, crf.crf_.predict_proba(rows), strict=True):
        assert_array_equal(ours, theirs)
    for name in ("confidence", "entropy"):
        assert_array_equal(getattr(crf, name)(X_NEW[:3]), getattr(crf.crf_, name)(rows))
    for name in ("predict_spans", "predict_k_best"):
        assert getattr(crf, name)(X_NEW[:3]) == getattr(crf.crf_, name)(rows)
    (drawn,) = crf.sample(X_NEW[:3], random_state=0)
    (expected,) = crf.crf_.sample(rows, random_state=0)
    assert drawn.tolist() == [list(labels) for labels in expected]
    label = crf.classes_[-1]
    allowed = [[label, *[None] * (len(tokens) - 1)] for tokens in X_NEW[:3]]
    assert [labels[0] for labels in crf.predict(X_NEW[:3], allowed=allowed)] == [label] * 3
    explained = explain(crf, X_NEW[0])
    assert explained.labels == crf.predict_single(X_NEW[0])


def test_it_may_be_inside_of_others():
    inner = CRFsuiteCRF(max_iterations=5)
    calibrated = CalibratedSequenceClassifier(inner, cv=2).fit(X, y)
    assert calibrated.predict(X).tolist() == calibrated.estimator_.predict(X)
    conformal = ConformalSequenceClassifier(CRFsuiteCRF(c2=0.1), confidence_level=0.5)
    conformal.fit(X[:-9], y[:-9]).conformalize(X[-9:], y[-9:])
    assert len(conformal.predict_set(X[:2])) == 2
    pipeline = make_sequence_pipeline(CRFsuiteCRF(max_iterations=5)).fit(X, y)
    assert pipeline.confidence(X[:2]).shape == (2,)


def test_training_goes_on():
    crf = CRFsuiteCRF(c2=0.1, random_state=0).fit(X, y)
    before = crf.score(X, y)
    crf.partial_fit(X[:10], y[:10])
    assert crf.score(X, y) > before - 0.02
    assert crf.attributes_[0] in crf.vectorizer_.vocabulary_.symbols
    new = CRFsuiteCRF(random_state=0)
    for _ in range(8):
        new.partial_fit(X, y, classes=[*crf.classes_, "Q"])
    assert "Q" in new.classes_
    assert new.score(X, y) > 0.8
    with pytest.raises(ValueError, match="penalty of absolute values"):
        CRFsuiteCRF(c1=1.0).partial_fit(X, y)


def test_the_log_and_the_file_of_the_model(tmp_path):
    pycrfsuite = pytest.importorskip("pycrfsuite")
    y_new = CRFsuiteCRF().fit(X, y).predict(X_NEW)
    crf = CRFsuiteCRF(max_iterations=5).fit(X, y, X_NEW, y_new)
    log = crf.training_log_
    assert [info["loss"] for info in log.iterations] == crf.loss_curve_
    assert log.last_iteration["item_accuracy_float"] == crf.score(X_NEW, y_new)
    for info in log.iterations:
        early = CRFsuiteCRF(max_iterations=info["num"]).fit(X, y)
        assert info["item_accuracy_float"] == early.score(X_NEW, y_new)
        found = early.predict(X_NEW)
        assert info["instance_accuracy_float"] == sequence_accuracy(y_new, found)
        assert info["avg_f1"] == pytest.approx(
            token_f1(y_new, found, labels=crf.classes_, average="macro")
        )
    assert (CRFsuiteCRF().training_log_, CRFsuiteCRF().modelfile.name) == (None, None)
    name = crf.modelfile.name
    assert name == crf.modelfile.name
    tagger = pycrfsuite.Tagger()
    tagger.open(name)
    assert tagger.tag(X[0]) == crf.predict_single(X[0])
    crf.modelfile.refresh()
    other = crf.modelfile.name
    assert other != name
    del crf
    gc.collect()
    assert not Path(name).exists()
    assert not Path(other).exists()
    given = CRFsuiteCRF(max_iterations=2, model_filename=tmp_path / "model").fit(X, y)
    assert given.modelfile.name == str(tmp_path / "model")


@for_each(
    "c1, stop",
    [
        (0.1, {"period": 3, "delta": 1e-2}),
        (0.0, {"period": 3, "delta": 1e-2}),
        (0.1, {"epsilon": 0.1}),
        (0.0, {"epsilon": 0.1}),
        (0.3, {"num_memories": 2, "max_iterations": 25}),
        (0.0, {"num_memories": 2, "max_iterations": 25}),
    ],
)
def test_training_stops_as_crfsuite_stops(c1, stop):
    theirs = train_theirs(X, y, c1=c1, c2=0.1, **stop)
    ours = CRFsuiteCRF(c1=c1, c2=0.1, **stop).fit(X, y)
    assert ours.n_iter_ == pytest.approx(len(theirs.training_log_.iterations), abs=5)
    assert_allclose(ours.loss_curve_[-1], objective(ours, theirs, X, y), rtol=0.03)


def test_the_averaged_perceptron():
    ours = CRFsuiteCRF("ap", random_state=0).fit(X, y)
    assert ours.score(X, y) == 1.0
    theirs = train_theirs(X, y, algorithm="ap")
    assert ours.score(X_NEW, Y_NEW) > theirs.score(X_NEW, Y_NEW) - 0.02
    full_name = CRFsuiteCRF("averaged-perceptron", random_state=0).fit(X, y)
    assert full_name.predict(X_NEW) == ours.predict(X_NEW)


def test_development_data(crf, capsys):
    evaluated = CRFsuiteCRF(c2=0.1, verbose=True).fit(X, y, X_NEW, Y_NEW)
    assert evaluated.dev_score_ == crf.score(X_NEW, Y_NEW)
    assert "accuracy on X_dev" in capsys.readouterr().out
    assert crf.dev_score_ is None
    with pytest.raises(ValueError, match="X_dev and y_dev"):
        CRFsuiteCRF().fit(X, y, X_NEW)
    with pytest.raises(ValueError, match="sequence 0 has 1 tokens in X, but 2 in y_dev"):
        CRFsuiteCRF().fit(X, y, [[{"w": "a"}]], [["D", "N"]])
    with pytest.raises(ValueError, match="y_dev has no token with a known label"):
        CRFsuiteCRF().fit(X, y, [], [])


def test_bytes_are_text():
    as_bytes = [[{b"w": "der"}, {"w": "Stra\u00dfe".encode()}]]
    as_text = [[{"w": "der"}, {"w": "Stra\u00dfe"}]]
    ours, same = (CRFsuiteCRF().fit(x, [["D", "N"]]) for x in (as_bytes, as_text))
    assert ours.state_features_ == same.state_features_
    assert ours.predict(as_bytes) == same.predict(as_bytes) == [["D", "N"]]
    assert same.tagger()(as_bytes[0]) == ["D", "N"]
    for bad in ([[{b"\xff": "der"}]], [[[b"\xff"]]], [[{"w": b"\xff"}]]):
        with pytest.raises(ValueError, match=r"X, sequence 0, position 0: bytes must be UTF-8"):
            CRFsuiteCRF().fit(bad, [["D"]])


def test_attributes_before_fit_are_none():
    names = "tagger_ size_ classes_ num_attributes_ attributes_ state_features_"
    for name in [*names.split(), "transition_features_"]:
        assert getattr(CRFsuiteCRF(), name) is None


def test_the_tagger_is_that_of_python_crfsuite(crf):
    tagger = crf.tagger_
    assert tagger.labels() == crf.classes_.tolist()
    assert (tagger.tag(), tagger.probability([]), tagger.marginal("O", 0)) == ([], 0.0, 0.0)
    assert tagger.tag(X_NEW[0]) == crf.predict_single(X_NEW[0])
    marginals = crf.predict_marginals_single(X_NEW[0])
    assert tagger.marginal(crf.classes_[0], 1) == marginals[1][crf.classes_[0]]
    assert crf.size_ > 1000


def test_the_tagger_is_fast(crf):
    tagger = crf.tagger_
    times = {}
    functions = {
        "tag": tagger.tag,
        "predict_single": crf.predict_single,
        "predict": lambda tokens: crf.predict([tokens])[0],
    }
    for name, function in functions.items():
        start = time.process_time()
        labels = [function(tokens) for tokens in X_NEW[:100]]
        times[name] = time.process_time() - start
        assert labels == crf.predict(X_NEW[:100])
    assert max(times["tag"], times["predict_single"]) < times["predict"] / 5
    for tokens in X_NEW[:5]:
        tagger.set(tokens)
        expected = crf.predict_marginals_single(tokens)
        for position, token in enumerate(expected):
            assert {label: tagger.marginal(label, position) for label in token} == token


def test_the_tagger_follows_its_estimator(crf):
    other = copy.deepcopy(crf)
    tagger = other.tagger_
    assert tagger.tag(X_NEW[0]) == crf.predict_single(X_NEW[0])
    other.crf_.coef_ = -other.crf_.coef_
    assert tagger.tag(X_NEW[0]) == other.predict_single(X_NEW[0]) != crf.predict_single(X_NEW[0])
    other.fit([[["a"]], [["b"]]], [["A"], ["B"]])
    assert tagger.tag([["b"], ["a"]]) == other.predict_single([["b"], ["a"]])
    assert pickle.loads(pickle.dumps(other)).tagger_.tag([["b"]]) == ["B"]


def test_the_tagger_takes_what_predict_takes():
    crf = CRFsuiteCRF().fit([[["a"], ["b", "b", "c"]]], [["A", "B"]])
    tagger = crf.tagger_
    for tokens in (
        [[b"b"], {"b": 2, "c": True}, {"b", "c"}, [], {}, {b"b": 1.0}, {"b": {"c": -1}}, "b"],
        ["b", "a", "a"],
        [],
    ):
        assert tagger.tag(tokens) == crf.predict_single(tokens)
        for position, token in enumerate(crf.predict_marginals_single(tokens)):
            assert tagger.marginal("A", position) == token["A"]
    assert tagger.tag(iter(["b", "a"])) == crf.predict_single(["b", "a"])
    assert tagger.marginal("A", 1) == crf.predict_marginals_single(["b", "a"])[1]["A"]
    for bad in ([["b"], None], [{"b": np.nan}], [[1]], "b"):
        with pytest.raises(ValueError) as expected:
            crf.predict_single(bad)
        with pytest.raises(ValueError, match=re.escape(str(expected.value))):
            tagger.tag(bad)


def test_sequences_may_be_generators():
    X, y = [[{"w": "a"}, {"w": "b"}], [{"w": "b"}]] * 3, [["A", "B"], ["B"]] * 3
    expected = CRFsuiteCRF().fit(X, y)

    def attributes(token):
        return iter([f"w:{token['w']}"]) if isinstance(token, dict) else token

    for make in (
        lambda items: (s for s in items),
        lambda items: [iter(s) for s in items],
        lambda items: ((token for token in s) for s in items),
        lambda items: [
            [iter([f"w:{t['w']}"]) if isinstance(t, dict) else t for t in s] for s in items
        ],
    ):
        crf = CRFsuiteCRF().fit(make(X), make(y), make(X), make(y))
        assert crf.state_features_ == expected.state_features_
        assert crf.predict(make(X)) == y
        assert crf.predict_marginals(make(X)) == expected.predict_marginals(X)
        assert crf.predict_single(next(iter(make(X)))) == ["A", "B"]
        assert crf.score(make(X), make(y)) == 1.0


@for_each("kind", ["array", "objects", "rows", "iterators", "keys"])
def test_tokens_may_be_any_iterables_of_attributes(kind):
    X, y = (
        [[["w:a", "x"], ["w:b", "x"]], [["w:b", "y"], ["w:a", "y"]]] * 3,
        [["A", "B"], ["B", "A"]] * 3,
    )
    make = {
        "array": np.array,
        "objects": lambda s: np.array(s, dtype=object),
        "rows": lambda s: [np.array(token) for token in s],
        "iterators": lambda s: [iter(token) for token in s],
        "keys": lambda s: [dict.fromkeys(token).keys() for token in s],
    }[kind]
    expected = CRFsuiteCRF().fit(X, y)
    crf = CRFsuiteCRF().fit([*map(make, X)], y)
    assert crf.state_features_ == expected.state_features_
    assert crf.predict([*map(make, X)]) == crf.tagger().many(map(make, X)) == y
    assert (
        crf.tagger_.tag(make(X[0])) == crf.predict_single(make(X[0])) == crf.tagger()(X[0]) == y[0]
    )


def test_what_iterators_hold_is_not_forgotten_where_it_is_wrong():
    crf = CRFsuiteCRF().fit([[["a"], ["b"]]] * 3, [["A", "B"]] * 3)
    with pytest.raises(
        TypeError, match="position 0: attributes must be str, but is 3, of type int"
    ):
        crf.predict_single([iter(["b", 3])])


def test_sequences_may_be_item_sequences():
    pycrfsuite = pytest.importorskip("pycrfsuite")
    X, y = [[{"w": "a", "n": 0.5}, {"w": "b"}]] * 3, [["A", "B"]] * 3
    crf = CRFsuiteCRF().fit([pycrfsuite.ItemSequence(s) for s in X], y)
    assert crf.state_features_ == CRFsuiteCRF().fit(X, y).state_features_
    assert crf.predict(pycrfsuite.ItemSequence(s) for s in X) == y
    assert crf.tagger()(pycrfsuite.ItemSequence(X[0])) == y[0]


def test_sets_are_read_in_the_same_order_in_every_run():
    X = [[{"z", "a", "m", "b"}, {"s": {"z", "a", "m"}}]]
    names = ["a", "b", "m", "z", "s:a", "s:m", "s:z"]
    assert CRFsuiteCRF().fit(X, [["A", "B"]]).vectorizer_.vocabulary_.symbols == names
