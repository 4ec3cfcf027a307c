"""A parameter or attribute means the same in every estimator that has it."""

import re
import warnings
from inspect import signature

import numpy as np
import pytest
from cases import for_each
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from test_docstrings import ESTIMATORS, section

from sklearn_crcrf import (
    CRF,
    HMM,
    MEMM,
    ArowCRF,
    AssociativeMarkovNetwork,
    BoostedCRF,
    CRFsuiteCRF,
    EmpiricalCRF,
    GraphCRF,
    LatticeCRF,
    MaxMarginCRF,
    OpinionPoolCRF,
    OutputCodeCRF,
    PassiveAggressiveCRF,
    SemiMarkovCRF,
    StructuredPerceptron,
)
from sklearn_crcrf.training.loop import CallbackSupportMixin

STOPPING = {"validation_fraction", "n_iter_no_change"}
SHARED = {"sigma", "class_weight", "warm_start", "verbose", *STOPPING}
# What each estimator has of these. Weights of labels, and starts from the last fit, are for what is
# minimised over labelled sequences from any start: not for counts, nor for a dual.
HAS = {
    "CRF": SHARED,
    "MEMM": SHARED,
    "CRFsuiteCRF": {"verbose"},
    "EmpiricalCRF": {"sigma", "validation_fraction"},
    "EmpiricalCRFCV": set(),
    "HMM": set(),
    "StructuredPerceptron": SHARED - {"sigma"},
    "PassiveAggressiveCRF": SHARED - {"sigma"},
    "ArowCRF": SHARED - {"sigma"},
    "MaxMarginCRF": {"class_weight", "verbose"},
    "BoostedCRF": SHARED - {"sigma"},
    "OpinionPoolCRF": {"validation_fraction", "verbose"},
    "MergedLabels": set(),
    "CalibratedSequenceClassifier": set(),
    "SegmentF1Classifier": set(),
    "SemiSupervisedClassifier": set(),
    "ConformalSequenceClassifier": set(),
    "GraphCRF": {"sigma", "verbose", "warm_start"},
    "AssociativeMarkovNetwork": {"sigma", "verbose", "warm_start"},
    "SeparateCRF": {"sigma"},
    "LatticeCRF": {"sigma", "verbose"},
    "OutputCodeCRF": {"sigma", "class_weight", "verbose"},
    "SemiMarkovCRF": SHARED,
    "FeatureInduction": {"verbose"},
}
# Strengths of regularisation by other names: how the documentation relates them to sigma.
RELATED = {
    ("MaxMarginCRF", "C"): "``sigma ** 2``",
    ("CRFsuiteCRF", "c1, c2"): "``1 / (2 sigma ** 2)``",
    ("BoostedCRF", "l2_regularization"): "``1 / sigma ** 2``",
    ("HMM", "smoothing"): "``1 / sigma ** 2``",
}
ITERATIVE = {
    "CRF": CRF(max_iter=6, random_state=0),
    "CRF, sgd": CRF(max_iter=6, solver="sgd", random_state=0),
    "CRF, c1": CRF(max_iter=6, c1=0.1, random_state=0),
    "MEMM": MEMM(max_iter=6, random_state=0),
    "CRFsuiteCRF": CRFsuiteCRF(max_iterations=6, random_state=0),
    "EmpiricalCRF": EmpiricalCRF(exponents="fit", validation_fraction=0.5),
    "StructuredPerceptron": StructuredPerceptron(max_iter=6, random_state=0),
    "PassiveAggressiveCRF": PassiveAggressiveCRF(max_iter=6, random_state=0),
    "ArowCRF": ArowCRF(max_iter=6, random_state=0),
    "GraphCRF": GraphCRF(max_iter=6),
    "AssociativeMarkovNetwork": AssociativeMarkovNetwork(max_iter=6),
    "BoostedCRF": BoostedCRF(max_iter=6, min_samples_leaf=1, random_state=0),
    "LatticeCRF": LatticeCRF(solver="lbfgs", max_iter=6, random_state=0),
    "SemiMarkovCRF": SemiMarkovCRF(max_iter=6, random_state=0),
    "OutputCodeCRF": OutputCodeCRF(max_iter=6, random_state=0),
    "OpinionPoolCRF": OpinionPoolCRF([("crf", CRF(tol=0.1)), ("hmm", HMM())], random_state=0),
    **{
        f"MaxMarginCRF, {solver}": MaxMarginCRF(solver=solver, max_iter=6, random_state=0)
        for solver in ("bcfw", "smo", "eg", "subgradient")
    },
}
iterative = for_each("name", ITERATIVE)

rng = np.random.default_rng(0)
LABELS = [[f"L{j}" for j in rng.integers(3, size=n)] for n in rng.integers(2, 6, size=40)]
# Every fifth word tells of another label.
WORDS = [
    [f"{label if rng.random() < 0.8 else 'L1'}{rng.integers(4)}" for label in labels]
    for labels in LABELS
]
ROWS = [
    np.array([[float(word[1]), float(word[2])] for word in words])
    + rng.normal(scale=0.4, size=(len(words), 2))
    for words in WORDS
]
DICTS = [[{"word": word} for word in words] for words in WORDS]


def inputs_of(estimator):
    return {"BoostedCRF": ROWS, "CRFsuiteCRF": DICTS}.get(type(estimator).__name__, WORDS)


def fitted(estimator, **parameters):
    estimator = type(estimator)(**{**estimator.get_params(deep=False), **parameters})
    return again(estimator)


def again(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(inputs_of(estimator), LABELS)


@for_each("name", HAS)
def test_who_has_which_parameters(name):
    assert SHARED & set(signature(ESTIMATORS[name]).parameters) == HAS[name]


@for_each("name", HAS)
@for_each(
    "method", ["fit", "partial_fit", "forget", "fit_exponents", "predict_out_of_fold", "score"]
)
def test_sequences_have_weights_in_all_that_is_trained_or_scored(name, method):
    if hasattr(ESTIMATORS[name], method):
        parameters = signature(getattr(ESTIMATORS[name], method)).parameters
        assert parameters["sample_weight"].default is None


def test_every_estimator_is_here():
    classifiers = {name for name, kind in ESTIMATORS.items() if hasattr(kind, "predict")}
    # They predict from votes, and from texts.
    classifiers -= {"SequencePipeline", "SequenceLabelModel", "TextTagger"}
    assert classifiers == set(HAS)


@for_each("parameter", sorted(SHARED | {"sample_unit", "constraints", "dtype"}))
def test_a_parameter_takes_the_same_values_everywhere(parameter):
    # CRFsuiteCRF has the parameters of another package.
    kinds = [kind for name, kind in ESTIMATORS.items() if name in HAS and name != "CRFsuiteCRF"]
    taken = [kind._parameter_constraints.get(parameter) for kind in kinds]
    # Exponents and weights of experts are always learned on a part that is held out.
    taken = {str([str(c) for c in of if c is not None]) for of in taken if of is not None}
    assert len(taken) == 1


@for_each("parameter", ["warm_start", "class_weight", "verbose", "constraints"])
def test_a_parameter_has_the_same_type_and_default_everywhere(parameter):
    wrappers = {
        "CRFsuiteCRF",
        "MergedLabels",
        "CalibratedSequenceClassifier",
        "SegmentF1Classifier",
        "SemiSupervisedClassifier",
        "ConformalSequenceClassifier",
    }
    names = [name for name in HAS if name not in wrappers]
    kinds = {section(ESTIMATORS[name], "Parameters").get(parameter) for name in names}
    assert len({entry.kind for entry in kinds if entry}) == 1


@for_each(("name", "parameter"), RELATED)
def test_other_strengths_of_regularisation_are_related_to_sigma(name, parameter):
    entries = section(ESTIMATORS[name], "Parameters")
    text = " ".join(entries[parameter.split(", ")[-1]].text.split())
    assert RELATED[name, parameter] in text
    assert any(other in text for other in ("scikit-learn", "CRFsuite"))


@pytest.mark.parametrize("name", ["CRF", "MEMM", "EmpiricalCRF"])
def test_sigma_is_the_width_of_a_gaussian_prior(name):
    assert "Gaussian prior" in section(ESTIMATORS[name], "Parameters")["sigma"].text


@iterative
def test_iterations_are_told(name):
    model = fitted(ITERATIVE[name])
    assert type(model.n_iter_) is int and type(model.converged_) is bool
    assert type(model.loss_curve_) is list and len(model.loss_curve_) == model.n_iter_ > 0
    assert all(type(loss) is float for loss in model.loss_curve_)
    assert model.loss_curve_[-1] < model.loss_curve_[0]


# EmpiricalCRF and OpinionPoolCRF have limits of their own.
LIMITED = sorted({*ITERATIVE} - {"EmpiricalCRF", "OpinionPoolCRF"})


def limit_of(name):
    return "max_iterations" if name == "CRFsuiteCRF" else "max_iter"


@for_each("name", LIMITED)
def test_training_that_is_cut_short_has_not_converged(name):
    model = fitted(ITERATIVE[name], **{limit_of(name): 1})
    assert (model.n_iter_, model.converged_) == (1, False)


def test_every_iterative_estimator_is_here():
    told = {name for name in ESTIMATORS if "loss_curve_" in section(ESTIMATORS[name], "Attributes")}
    assert told == {name.split(",")[0] for name in ITERATIVE}


CALLERS = {
    "fit": lambda model, X, y: model.fit(X, y),
    "a pipeline": lambda model, X, y: make_pipeline(model).fit(X, y),
    "a grid search": lambda model, X, y: GridSearchCV(
        model, {"n_jobs": [None]}, cv=2, n_jobs=1, scoring=lambda *_: 0.0
    ).fit(X, y),
}


@for_each("caller", CALLERS)
@for_each("name", sorted({*LIMITED} - {"CRFsuiteCRF"}))  # whose limit is a budget
def test_training_that_is_cut_short_warns_at_the_line_of_the_user(name, caller):
    model = clone(ITERATIVE[name]).set_params(**{limit_of(name): 1})
    with pytest.warns(ConvergenceWarning, match="training did not converge") as caught:
        CALLERS[caller](model, inputs_of(model), LABELS)
    places = {(w.filename, w.lineno) for w in caught if w.category is ConvergenceWarning}
    code = CALLERS[caller].__code__
    assert places <= {(__file__, code.co_firstlineno + k) for k in range(3)}


@for_each("weight", [1e20, 1e100, 1e155, 1e300])
@iterative
@pytest.mark.filterwarnings("ignore")
def test_huge_weights_of_samples_are_trained_with_or_an_error(name, weight):
    model = clone(ITERATIVE[name])
    X, weights = inputs_of(model), np.full(len(LABELS), weight)
    model.fit(X, LABELS)
    before = [*map(list, model.predict(X))]
    try:
        model.fit(X, LABELS, sample_weight=weights)
    except ValueError as error:
        assert re.search("finite|precision|inf", str(error))
        assert re.search("scale|smaller|lower", str(error))
        assert [*map(list, model.predict(X))] == before
    else:
        assert len(model.predict(X)) == len(X)
        assert np.isfinite(model.loss_curve_[-1:]).all()
        assert not model.converged_ or model.loss_curve_[-1] < model.loss_curve_[0]


@for_each("scale", [1e30, 1e100])
@for_each("solver", ["auto", "owlqn", "sgd", "bundle", "cg", "rprop"])
@pytest.mark.filterwarnings("ignore")
def test_training_that_never_left_its_start_has_not_converged(solver, scale):
    criterion = "max_margin" if solver == "bundle" else "log_loss"
    rows = [scale * np.array(row) for row in ROWS]
    crf = CRF(criterion, solver=solver, max_iter=20, random_state=0).fit(rows, LABELS)
    start = CRF(criterion, solver="lbfgs", max_iter=1, random_state=0).fit(ROWS, LABELS)
    assert not crf.converged_ or crf.loss_curve_[-1] < start.loss_curve_[0]


@for_each("name", [name for name, has in HAS.items() if has >= STOPPING])
def test_sequences_are_held_out_to_validate_on(name):
    options = {"validation_fraction": 0.25, "n_iter_no_change": 2, "max_iter": 50}
    model = fitted(ITERATIVE[name], **options)
    curve = model.validation_curve_
    assert all(type(loss) is float for loss in curve) and len(curve) == model.n_iter_
    # Two iterations after the last of the best ones have shown that there is no better one.
    best = len(curve) - np.argmin(curve[::-1])
    assert model.n_iter_ <= best + 2 and model.converged_
    assert fitted(ITERATIVE[name]).validation_curve_ == []


@for_each("name", [name for name, has in HAS.items() if "warm_start" in has])
def test_a_warm_start_goes_on_where_the_last_fit_ended(name):
    model = fitted(ITERATIVE[name], max_iter=3, warm_start=True)
    first = model.loss_curve_
    again(model)
    assert len(model.loss_curve_) <= 3 and model.loss_curve_[0] < first[0]
    assert fitted(ITERATIVE[name], max_iter=3).loss_curve_ == first


@for_each("name", [name for name, has in HAS.items() if "sigma" in has])
@for_each("sigma", [5e-324, 1e-320, 1e-200, 1e-19])
def test_a_sigma_whose_penalty_is_no_number_is_refused(name, sigma):
    with pytest.raises(ValueError, match=rf"'sigma' .* in the range \[1e-18, inf\]\. Got {sigma}"):
        again(ESTIMATORS[name](sigma=sigma))


@for_each("sigma", [1e-18, 1e200, np.inf])
def test_the_smallest_and_the_largest_sigma(sigma):
    crf = fitted(CRF(), sigma=sigma, dtype="float32")
    proba = np.concatenate(crf.predict_proba(inputs_of(crf)))
    assert np.isfinite(proba).all()
    if sigma < 1:
        np.testing.assert_allclose(proba, 1 / 3, atol=1e-6)


def test_a_penalty_of_crfsuite_that_is_no_number_is_refused():
    with pytest.raises(ValueError, match=r"'c2' .* in the range"):
        again(CRFsuiteCRF(c2=1e300))
    assert again(CRFsuiteCRF(c2=1e34)).crf_.coef_.max() < 1e-30


@for_each("name", [name for name, has in HAS.items() if "class_weight" in has])
def test_labels_weigh_as_their_tokens_do(name):
    of_label = {"L0": 1.0, "L1": 3.0, "L2": 0.5}
    weights = [[of_label[label] for label in labels] for labels in LABELS]
    estimator = ITERATIVE.get(name, ITERATIVE.get(f"{name}, bcfw"))
    weighted = fitted(estimator, class_weight=of_label)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = fitted(estimator).fit(inputs_of(estimator), LABELS, sample_weight=weights)
    assert weighted.loss_curve_ == expected.loss_curve_


@pytest.mark.parametrize("name", [name for name in ITERATIVE if name != "EmpiricalCRF"])
def test_a_line_is_printed_after_so_many_iterations(name, capsys):
    every = True if name == "CRFsuiteCRF" else 2
    model = fitted(ITERATIVE[name], verbose=every)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == model.n_iter_ // every
    assert all(line.startswith("iteration ") and ", loss " in line for line in lines)


@iterative
def test_who_tells_callbacks(name):
    # What counts is no iteration, and what is like another package has not what that has not.
    silent = ("EmpiricalCRF", "CRFsuiteCRF")
    assert isinstance(ITERATIVE[name], CallbackSupportMixin) == (name not in silent)
