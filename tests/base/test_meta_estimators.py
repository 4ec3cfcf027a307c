"""Which meta-estimators and functions of scikit-learn work on lists, and which on frames."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import permutation_importance
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    HalvingGridSearchCV,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
    cross_validate,
    learning_curve,
    validation_curve,
)
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.semi_supervised import SelfTrainingClassifier

from sklearn_crcrf import HMM, EmpiricalCRF
from sklearn_crcrf.base.classifier import SINGLE_TOKENS
from sklearn_crcrf.metrics import get_sequence_scorer

# Only the first token of a sequence tells its labels: neighbours are needed for the others.
Y = [["A", "B", "A"] if i % 2 else ["B", "A", "B"] for i in range(12)]
X = [["a" if labels[0] == "A" else "b", "c", "c"] for labels in Y]
INDEX = pd.MultiIndex.from_product([range(12), range(3)], names=["sequence", "position"])
FRAME = pd.DataFrame({"token": np.concatenate(X), "noise": ["x", "z"] * 18}, INDEX)
LABELS = np.concatenate(Y)
FOLDS = list(GroupKFold(3).split(FRAME, LABELS, INDEX.get_level_values("sequence")))
CRF, BY_TOKEN = EmpiricalCRF(), EmpiricalCRF(sample_unit="token")
TWO = [("crf", BY_TOKEN), ("hmm", HMM(sample_unit="token"))]
TWO_OF_LISTS = [("crf", CRF), ("hmm", HMM())]
GRID = {"sigma": [0.5, 1.0]}
SCORERS = {name: get_sequence_scorer(name) for name in ("token_accuracy", "sequence_accuracy")}

SEARCHES = {
    "grid": lambda crf, cv: GridSearchCV(crf, GRID, cv=cv),
    "randomised": lambda crf, cv: RandomizedSearchCV(crf, GRID, n_iter=2, cv=cv),
    "frozen": lambda crf, cv: FrozenEstimator(crf),
}
OF_FRAMES = {
    "hard voting": VotingClassifier(TWO),
    "soft voting": VotingClassifier(TWO, voting="soft"),
    "stacking": StackingClassifier(TWO, cv=FOLDS),
    "calibration": CalibratedClassifierCV(BY_TOKEN, cv=FOLDS),
    "threshold": TunedThresholdClassifierCV(BY_TOKEN, cv=FOLDS),
}
REFUSED = {
    "voting": (VotingClassifier(TWO_OF_LISTS), "only supports binary or multiclass"),
    "stacking": (StackingClassifier(TWO_OF_LISTS), "y should be a 1d array"),
    "bagging": (BaggingClassifier(CRF), "y should be a 1d array"),
    "calibration": (CalibratedClassifierCV(CRF), "y should be a 1d array"),
    "threshold": (TunedThresholdClassifierCV(CRF), "Only binary classification"),
    "self-training": (SelfTrainingClassifier(CRF), "not compatible with arrays of bytes/strings"),
    "chain": (ClassifierChain(CRF), "not compatible with arrays of bytes/strings"),
    "several outputs": (MultiOutputClassifier(CRF), "y, sequence 0"),
}


@pytest.fixture(autouse=True)
def sequences_stay_whole():
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="every row of X is a sequence of one token")
        yield


@pytest.mark.parametrize("name", SEARCHES)
def test_on_lists_and_frames(name):
    make = SEARCHES[name]
    model = make(CRF.fit(X, Y) if name == "frozen" else CRF, 3)
    assert model.fit(X, Y).predict(X).tolist() == Y
    model = make(BY_TOKEN.fit(FRAME, LABELS) if name == "frozen" else BY_TOKEN, FOLDS)
    assert model.fit(FRAME, LABELS).predict(FRAME).tolist() == LABELS.tolist()


@pytest.mark.parametrize("name", OF_FRAMES)
def test_on_frames(name):
    model = OF_FRAMES[name].fit(FRAME, LABELS)
    assert model.predict(FRAME).tolist() == LABELS.tolist()


@pytest.mark.parametrize("name", REFUSED)
def test_lists_are_refused(name):
    model, message = REFUSED[name]
    with pytest.raises((ValueError, NotImplementedError), match=message):
        model.fit(X, Y)


def test_halving_is_for_lists():
    search = HalvingGridSearchCV(CRF, GRID, cv=3, min_resources=6, random_state=0)
    assert search.fit(X, Y).predict(X).tolist() == Y


@pytest.mark.parametrize("data", [(CRF, X, Y, 3), (BY_TOKEN, FRAME, LABELS, FOLDS)])
def test_scores(data):
    crf, X, y, cv = data
    found = cross_validate(crf, X, y, cv=cv, scoring=SCORERS)
    assert all((found[f"test_{name}"] == 1).all() for name in SCORERS)
    _, _, test = learning_curve(crf, X, y, cv=cv, train_sizes=[0.75, 1.0])
    assert (test[-1] == 1).all()
    _, test = validation_curve(crf, X, y, param_name="sigma", param_range=[0.5, 1.0], cv=cv)
    assert (test == 1).all()


def test_permutation_importance_is_for_frames():
    fitted = EmpiricalCRF(sample_unit="token").fit(FRAME, LABELS)
    found = permutation_importance(fitted, FRAME, LABELS, n_repeats=2, random_state=0)
    assert found.importances_mean[0] > 0.2 > found.importances_mean[1]


def test_several_outputs_are_for_frames():
    model = MultiOutputClassifier(BY_TOKEN).fit(FRAME, np.column_stack([LABELS, LABELS]))
    assert (model.predict(FRAME) == LABELS[:, None]).all()


@pytest.mark.parametrize("ensemble", [BaggingClassifier, AdaBoostClassifier])
def test_ensembles_that_draw_rows_warn_that_they_tear_sequences(ensemble):
    with pytest.warns(UserWarning, match=SINGLE_TOKENS[:40]):
        warnings.filterwarnings("always")
        ensemble(BY_TOKEN, n_estimators=1).fit(FRAME, LABELS)


OF_NUMBERS = "could not convert string to float|string targets|every row of X is a sequence of one"


@pytest.mark.parametrize("model", [SelfTrainingClassifier(BY_TOKEN), ClassifierChain(BY_TOKEN)])
def test_models_of_arrays_of_numbers_refuse_frames_of_strings(model):
    """Or warn that the rows are no sequences any more: versions of scikit-learn differ."""
    labels = (LABELS == "A").astype(int)[:, None] if "Chain" in repr(model) else LABELS
    with warnings.catch_warnings(), pytest.raises((ValueError, UserWarning), match=OF_NUMBERS):
        warnings.simplefilter("error", UserWarning)
        model.fit(FRAME, labels)
