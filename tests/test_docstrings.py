"""What docstrings say of parameters, options and fitted attributes is what estimators have."""

import ast
import inspect
import re
import warnings
from importlib import import_module
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from cases import for_each
from sklearn.base import BaseEstimator
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils._param_validation import Options, StrOptions, make_constraint

from sklearn_crcrf import CRF, HMM, EmpiricalCRF
from sklearn_crcrf.criteria import CRITERIA
from sklearn_crcrf.criteria._misclassification import MEASURES
from sklearn_crcrf.criteria._smoothing import SMOOTHINGS
from sklearn_crcrf.criteria.mce_f1 import OBJECTIVES
from sklearn_crcrf.criteria.piecewise import WITH_TOKENS
from sklearn_crcrf.estimators.crfsuite.algorithms import ALGORITHMS, ONLINE
from sklearn_crcrf.feature_extraction.presets import SPELLING
from sklearn_crcrf.feature_extraction.template_syntax import SYNTAXES
from sklearn_crcrf.labels.segments.schemes import ONE_TO_ONE, SCHEMES
from sklearn_crcrf.utils.docstrings import PLACE

PACKAGES = ["", ".criteria", ".feature_extraction", ".estimators.opinion_pool"]
# Constructor arguments that have no default, or do nothing without.
ARGUMENTS = {
    "CalibratedSequenceClassifier": {"estimator": CRF()},
    "SegmentF1Classifier": {"estimator": CRF()},
    "SemiSupervisedClassifier": {"estimator": CRF()},
    "ConformalSequenceClassifier": {
        "estimator": CRF(),
        "confidence_level": 0.3,
        "target": "token",
        "cv": 2,
    },
    "FoundLabels": {"estimator": EmpiricalCRF()},
    "TextTagger": {"estimator": HMM()},
    "Gazetteer": {"lists": {"city": ["York"]}},
    "MergedLabels": {"estimator": CRF(), "labels": ["N"]},
    "SequencePipeline": {"steps": [("crf", CRF())]},
    "OpinionPoolCRF": {"estimators": [("crf", CRF()), ("hmm", HMM())]},
    "PerToken": {"transformer": FunctionTransformer()},
    "SegmentGazetteer": {"lists": {"city": ["York"]}},
    "TemplateFeatures": {"template": "U:%x[0,0]"},
    "WordClusters": {"clusters": {"the": "0010"}},
    "WordVectors": {"vectors": {"the": [1.0, 2.0]}},
}
# Options that are not among the constraints of a parameter.
OPTIONS = {
    "algorithm": set(ALGORITHMS) | set(ONLINE),
    "constraints": set(SCHEMES),
    "pieces": set(WITH_TOKENS),
    "scheme": set(SCHEMES),
    "smoothing of MCE": set(SMOOTHINGS),
    "measure of MCE": set(MEASURES),
    "contains of MCEF1": {"segment", "labels"},
    "false of MCEF1": {"own", "gold"},
    "objective of MCEF1": set(OBJECTIVES),
    "syntax": set(SYNTAXES),
    "criterion of SemiMarkovCRF": set(CRITERIA) - {"piecewise", "pseudo_likelihood"},
    "features of SegmentFeatures": set(),
    "scheme of SequenceLabelModel": {"auto", *ONE_TO_ONE},
    "scheme of SegmentFeatures": set(ONE_TO_ONE),
    "scheme of SemiMarkovCRF": set(ONE_TO_ONE),
    "similarity of SegmentGazetteer": {"exact", "jaccard", "tfidf"},
    "features of TokenFeatures": {"default", "simple", *SPELLING},
}
# Only some of the inputs have columns, and only some of the columns names.
OF_SOME_INPUTS = {"n_features_in_", "feature_names_in_"}
# Only some parameters lead to iterations, and only a purge to a receipt.
OF_SOME_PARAMETERS = {
    "EmpiricalCRF": {"loss_curve_", "n_iter_", "converged_", "receipt_"},
    "HMM": {"receipt_"},
}
WORDS = [["the", "dog", "walks"], ["a", "cat", "sleeps"], ["dogs", "sleep"]] * 3
LABELS = [["D", "N", "V"], ["D", "N", "V"], ["N", "V"]] * 3


def public_estimators():
    found = {}
    for package in PACKAGES:
        module = import_module("sklearn_crcrf" + package)
        for name in module.__all__:
            public = getattr(module, name)
            if inspect.isclass(public) and issubclass(public, BaseEstimator):
                found[name] = public
    return found


ESTIMATORS = public_estimators()
estimators = for_each("name", ESTIMATORS)


class Entry(NamedTuple):
    """What a docstring says of a parameter or attribute: its type, and the text below it."""

    kind: str
    text: str


def section(estimator, title):
    """The entries of a section of a docstring, by name, in their order."""
    doc = inspect.getdoc(estimator)
    found = re.search(rf"^{title}\n-+\n(.*?)(?=^\S[^\n]*\n-+$|\Z)", doc, re.MULTILINE | re.DOTALL)
    entries = {}
    for entry in re.split(r"^(?=\S)", found[1] if found else "", flags=re.MULTILINE)[1:]:
        line, _, text = entry.partition("\n")
        names, _, kind = line.partition(" : ")
        for name in names.split(", "):
            assert name not in entries, f"{name} is there twice"
            entries[name] = Entry(kind.strip(), inspect.cleandoc(text))
    return entries


def signature(estimator):
    return inspect.signature(estimator).parameters


@estimators
def test_every_parameter_is_documented_in_order(name):
    parameters = list(signature(ESTIMATORS[name]))
    assert list(section(ESTIMATORS[name], "Parameters")) == parameters


@estimators
def test_defaults_are_those_of_the_signature(name):
    for parameter, entry in section(ESTIMATORS[name], "Parameters").items():
        default = signature(ESTIMATORS[name])[parameter].default
        said = re.search(r", default=(.*)$", entry.kind)
        if default is inspect.Parameter.empty:
            assert said is None, f"{parameter} has no default"
        elif entry.kind.endswith(", optional"):
            assert default is None, f"{parameter} is not optional, its default is {default!r}"
        else:
            assert said, f"{parameter} has the default {default!r}"
            assert _value(said[1]) == default, f"{parameter} has the default {default!r}"


def _value(text):
    names = {"inf": np.inf, "numpy.float64": np.float64}
    return names[text] if text in names else ast.literal_eval(text)


def quoted(kind):
    """The strings that a type names, without its default."""
    return set(re.findall(r'"([^"]*)"', re.sub(r", default=.*$", "", kind)))


def options_of(constraints):
    """The strings among the options of a parameter."""
    options = [c.options for c in constraints if isinstance(c, (StrOptions, Options))]
    return {option for of_one in options for option in of_one if isinstance(option, str)}


@estimators
def test_options_are_those_that_are_taken(name):
    constraints = getattr(ESTIMATORS[name], "_parameter_constraints", {})
    for parameter, entry in section(ESTIMATORS[name], "Parameters").items():
        options = OPTIONS.get(parameter, options_of(constraints.get(parameter, [])))
        options = OPTIONS.get(f"{parameter} of {name}", options)
        assert quoted(entry.kind) == options, parameter
        for number in re.findall(r"[{ ](\d+)(?=[,}])", "".join(re.findall(r"{.*?}", entry.kind))):
            assert _is_taken(constraints[parameter], int(number)), f"{parameter}={number}"


def _is_taken(constraints, value):
    return any(make_constraint(c).is_satisfied_by(value) for c in constraints)


@estimators
def test_none_is_named_where_it_is_taken(name):
    constraints = getattr(ESTIMATORS[name], "_parameter_constraints", {})
    for parameter, entry in section(ESTIMATORS[name], "Parameters").items():
        says_so = "None" in entry.kind or entry.kind.endswith(", optional")
        # Constraints of random states take None without naming it.
        if parameter in constraints and parameter != "random_state":
            assert says_so == (None in constraints[parameter]), parameter


@pytest.fixture(scope="module")
def fitted():
    """Fitted estimators by name, each to all inputs that it takes."""
    n_tokens = sum(map(len, WORDS))
    rows = np.random.default_rng(0).integers(0, 3, (n_tokens, 3)).astype(float)
    labels = [label for sequence in LABELS for label in sequence]
    inputs = [
        (WORDS, LABELS),
        (["the dog"], [[(4, 7, "N")]]),
        ([[{"word": word} for word in words] for words in WORDS], LABELS),
        (rows, labels),
        (pd.DataFrame(rows, columns=["a", "b", "c"]), labels),
    ]
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, kind in ESTIMATORS.items():
            if not hasattr(kind, "fit"):
                continue
            found[name] = []
            for X, y in inputs:
                try:
                    found[name].append(kind(**ARGUMENTS.get(name, {})).fit(X, y))
                except (ValueError, TypeError):
                    continue
            assert found[name], name
        found["EmpiricalCRF"].append(
            EmpiricalCRF(exponents="fit", validation_fraction=0.5).fit(WORDS, LABELS)
        )
        for estimator in (EmpiricalCRF(), HMM()):
            purged = estimator.fit(WORDS, LABELS).forget(WORDS[:1], LABELS[:1], purge=True)
            found[type(estimator).__name__].append(purged)
    return found


def attributes_of(estimator):
    """The public fitted attributes that there are, also those that the class computes."""
    names = {*vars(estimator), *dir(type(estimator))}
    public = {name for name in names if name.endswith("_") and not name.startswith("_")}
    return {name for name in public if hasattr(estimator, name)}


@estimators
def test_fitted_attributes_are_documented(name, fitted):
    documented = set(section(ESTIMATORS[name], "Attributes"))
    for estimator in fitted.get(name, ()):
        assert attributes_of(estimator) - documented == set()


@estimators
def test_documented_attributes_exist(name, fitted):
    documented = set(section(ESTIMATORS[name], "Attributes"))
    for estimator in fitted.get(name, ()):
        has = {attribute for attribute in documented if hasattr(estimator, attribute)}
        assert documented - has <= OF_SOME_INPUTS | OF_SOME_PARAMETERS.get(name, set())
    if name in fitted:
        everything = set().union(*map(attributes_of, fitted[name]))
        assert documented - everything <= {"edge_columns"}


@estimators
def test_no_entry_is_left_to_be_filled_in(name):
    members = (getattr(ESTIMATORS[name], member, None) for member in dir(ESTIMATORS[name]))
    for part in (ESTIMATORS[name], *members):
        assert not PLACE.search(getattr(part, "__doc__", None) or "")


def test_an_attribute_has_the_same_shape_everywhere():
    # CRFsuiteCRF has the attributes of another package.
    ours = {name: kind for name, kind in ESTIMATORS.items() if name != "CRFsuiteCRF"}
    shapes = {}
    for name, estimator in ours.items():
        for attribute, entry in section(estimator, "Attributes").items():
            shape = entry.kind.partition(" of shape ")[2]
            shapes.setdefault(attribute, {}).setdefault(shape, []).append(name)
    differing = {attribute: of for attribute, of in shapes.items() if len(of) > 1}
    assert differing == {}
