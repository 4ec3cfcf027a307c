"""A fit replaces the fitted state of an estimator completely, or not at all."""

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from cases import for_each
from sklearn import config_context, get_config
from sklearn.base import clone
from sklearn.utils.metadata_routing import get_routing_for_object

from sklearn_crcrf import (
    CRF,
    HMM,
    MEMM,
    BoostedCRF,
    CalibratedSequenceClassifier,
    ConformalSequenceClassifier,
    CRFsuiteCRF,
    EmpiricalCRF,
    EmpiricalCRFCV,
    LatticeCRF,
    MaxMarginCRF,
    OpinionPoolCRF,
    OutputCodeCRF,
    SegmentF1Classifier,
    SemiMarkovCRF,
    SequenceArray,
    StructuredPerceptron,
)
from sklearn_crcrf.criteria import log_loss
from sklearn_crcrf.estimators.opinion_pool import MergedLabels
from sklearn_crcrf.estimators.opinion_pool import estimator as opinion_pool_estimator

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

LENGTHS = [3, 2, 1, 3, 2, 3]
N_TOKENS = sum(LENGTHS)
OFFSETS = np.append(0, np.cumsum(LENGTHS))
RNG = np.random.default_rng(0)
ROWS = RNG.integers(0, 3, (N_TOKENS, 4)).astype(float)
WORDS = np.array(["the", "dog", "walks", "cats", "sleep", "often", "here"])[np.arange(14) * 5 % 7]
LABELS = np.array(["D", "N", "V"])[np.arange(N_TOKENS) % 3]
Y = SequenceArray(LABELS, OFFSETS)


def by_sequence(tokens):
    return [list(tokens[a:b]) for a, b in pairwise(OFFSETS)]


def frame(index=None):
    return pd.DataFrame({"word": WORDS, "number": ROWS[:, 0]}, index=index)


TOKENS = pd.MultiIndex.from_arrays(
    [np.repeat(np.arange(len(LENGTHS)), LENGTHS), np.concatenate([np.arange(n) for n in LENGTHS])],
    names=["sequence", "position"],
)
NAMED = [f"column {j}" for j in range(ROWS.shape[1] - 1)]
SYMBOLS = {
    "token lists": (by_sequence(WORDS), by_sequence(LABELS)),
    "feature dicts": (by_sequence([{"word": w, "odd": i % 2} for i, w in enumerate(WORDS)]), Y),
    "frame of words": (frame(), LABELS),
    "frame of words, MultiIndex": (frame(TOKENS), LABELS),
}
NUMBERS = {
    "lists of arrays": ([np.array(rows) for rows in by_sequence(ROWS)], by_sequence(LABELS)),
    "array": (ROWS[:, :2], LABELS),
    "CSR": (sp.csr_array(ROWS), LABELS),
    "SequenceArray": (SequenceArray(sp.csr_array(ROWS[:, :3]), OFFSETS), Y),
    "frame": (pd.DataFrame(ROWS[:, :3], columns=NAMED), LABELS),
    "MultiIndex": (pd.DataFrame(ROWS[:, :3], columns=NAMED[::-1], index=TOKENS), LABELS),
}
INPUTS = {**SYMBOLS, **NUMBERS}
ESTIMATORS = [
    CRF(max_iter=5),
    CRF(max_iter=5, features="observed", c1=0.1, validation_fraction=0.3, random_state=0),
    CRF(max_iter=5, solver="sgd", random_state=0),
    MEMM(max_iter=5),
    CRFsuiteCRF(max_iterations=5),
    EmpiricalCRF(),
    EmpiricalCRF(exponents="fit", validation_fraction=0.5),
    EmpiricalCRF(order=2),
    HMM(),
    StructuredPerceptron(max_iter=3, random_state=0),
    StructuredPerceptron("vote", max_iter=3, random_state=0),
    MaxMarginCRF(max_iter=3, random_state=0),
    BoostedCRF(max_iter=2, pairs=True, random_state=0),
    OpinionPoolCRF([("crf", CRF(max_iter=5)), ("hmm", HMM())], random_state=0),
    MergedLabels(CRF(max_iter=5), ["N"]),
    CalibratedSequenceClassifier(CRF(max_iter=5), cv=2),
    SegmentF1Classifier(HMM(), cv=2),
    ConformalSequenceClassifier(CRF(max_iter=5), 0.3, "token", cv=2),
    EmpiricalCRFCV([1.0], [0.5, 1.0], cv=2),
    LatticeCRF(max_iter=2, random_state=0),
    OutputCodeCRF(code_size=8, max_iter=5, random_state=0),
    SemiMarkovCRF(max_iter=5),
]
estimators = pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)


# Inputs whose fits leave different attributes.
UNLIKE = ["token lists", "feature dicts", "CSR", "MultiIndex"]


# These leave most of the reading of inputs to estimators that they fit, or to a class above.
MADE_OF_OTHERS = (
    CalibratedSequenceClassifier,
    ConformalSequenceClassifier,
    EmpiricalCRFCV,
    LatticeCRF,
    MergedLabels,
    OpinionPoolCRF,
    OutputCodeCRF,
    SegmentF1Classifier,
)


def is_first(estimator):
    """Whether it reads inputs itself, and no estimator before it is of the same class."""
    first = next(e for e in ESTIMATORS if type(e) is type(estimator))
    return estimator is first and not isinstance(estimator, MADE_OF_OTHERS)


def inputs_of(estimator):
    """The names of inputs that an estimator takes: all of them, once for each class."""
    if isinstance(estimator, CRFsuiteCRF):
        return ["feature dicts"]
    taken = list(NUMBERS if isinstance(estimator, BoostedCRF) else INPUTS)
    return taken if is_first(estimator) else [name for name in taken if name in UNLIKE]


@cache
def fitted(estimator, name):
    """A model that was never fitted before, which no test changes."""
    return clone(estimator).fit(*INPUTS[name])


def public_attributes(estimator):
    """The hashes of all public fitted attributes, of the instance and of its class."""
    names = {*vars(estimator), *dir(type(estimator))}
    fitted = sorted(n for n in names if n.endswith("_") and not n.startswith("_"))
    return {name: joblib.hash(getattr(estimator, name)) for name in fitted}


def predictions(estimator, X):
    proba = getattr(estimator, "predict_proba", None)
    return joblib.hash([estimator.predict(X), proba and proba(X)])


def identities(estimator):
    """What an estimator holds; two are the same only if not even an equal object was put there."""
    return {name: id(value) for name, value in vars(estimator).items()}


def check_unchanged(estimator, attempt, error=ValueError):
    """An attempt that fails leaves an estimator exactly as it was."""
    before, held = identities(estimator), list(vars(estimator).values())
    with pytest.raises(error):
        attempt(estimator)
    assert identities(estimator) == before
    assert len(held) == len(before)


@estimators
def test_nothing_of_an_older_fit_survives(estimator):
    def facts(model, name):
        return public_attributes(model), set(vars(model)), predictions(model, INPUTS[name][0])

    names = inputs_of(estimator)
    fresh = {name: facts(fitted(estimator, name), name) for name in names}
    # What a fit leaves stays through the fits that do not replace it: there and, once for each
    # class, back.
    back = [name for name in names[-2::-1] if name in UNLIKE] if is_first(estimator) else []
    model = clone(estimator).fit(*INPUTS[names[-1]])
    for name in [*names, *back]:
        assert facts(model.fit(*INPUTS[name]), name) == fresh[name], name


def test_boosting_forgets_the_names_of_columns():
    crf = BoostedCRF(max_iter=2).fit(*INPUTS["frame"]).fit(*INPUTS["array"])
    assert not hasattr(crf, "feature_names_in_")
    crf.predict(INPUTS["array"][0])


@estimators
def test_every_fit_sets_the_same_private_attributes(estimator):
    """What a fit does not set would survive it."""
    private = {
        frozenset(n for n in vars(fitted(estimator, name)) if not n.endswith("_"))
        for name in inputs_of(estimator)
    }
    assert len(private) == 1


@for_each("kind", dict.fromkeys(map(type, ESTIMATORS)))
def test_private_attributes_do_not_depend_on_parameters(kind):
    models = [clone(estimator) for estimator in ESTIMATORS if type(estimator) is kind]
    private = {
        frozenset(n for n in vars(m.fit(*INPUTS[inputs_of(m)[0]])) if not n.endswith("_"))
        for m in models
    }
    assert len(private) == 1


@estimators
@pytest.mark.parametrize("is_fitted", [False, True])
def test_a_failed_fit_changes_nothing(estimator, is_fitted):
    model, (X, y) = clone(estimator), INPUTS[inputs_of(estimator)[0]]
    if is_fitted:
        model.fit(X, y)
    check_unchanged(model, lambda model: model.fit(X, y[:-1]))
    check_unchanged(model, lambda model: model.fit(X, None))
    check_unchanged(model, lambda model: model.fit(X, y, sample_weight=[-1.0] * len(X)))
    nothing = [0.0] * len(X)
    check_unchanged(model, lambda model: model.fit(X, y, sample_weight=nothing))
    if hasattr(model, "partial_fit") and model.get_params().get("c1", 0.0) == 0.0:
        check_unchanged(model, lambda model: model.partial_fit(X, y[:-1]))
    if is_fitted and hasattr(model, "forget"):
        check_unchanged(model, lambda model: model.forget([["zebra"]], [["N"]]))
    if is_fitted and hasattr(model, "fit_exponents"):
        check_unchanged(model, lambda model: model.fit_exponents(X, [["?"] * len(s) for s in X]))


class Interrupting:
    """An input that is interrupted when it is read for the n-th time."""

    def __init__(self, labels, n):
        self.labels, self.n = labels, n

    def __len__(self):
        return len(self.labels)

    def __iter__(self):
        self.n -= 1
        if self.n < 0:
            raise KeyboardInterrupt
        return iter(self.labels)

    def __getitem__(self, key):
        return self.labels[key]


@estimators
def test_an_interrupt_before_the_first_iteration_changes_nothing(estimator):
    X, y = INPUTS[inputs_of(estimator)[0]]
    y = [list(labels) for labels in y]
    model = clone(estimator).fit(X, y)
    check_unchanged(model, lambda model: model.fit(X, Interrupting(y, 0)), KeyboardInterrupt)


class Watched(Interrupting):
    """An input that notes how scikit-learn is configured when it is read."""

    def __init__(self, labels):
        super().__init__(labels, 1_000_000)
        self.configurations = []

    def __iter__(self):
        self.configurations.append(get_config())
        return super().__iter__()


@estimators
def test_a_fit_changes_no_configuration_that_an_interrupt_could_leave_behind(estimator):
    """An interrupt at the very end of a fit would leave parameters unchecked from then on."""
    X, y = INPUTS[inputs_of(estimator)[0]]
    y = Watched([list(labels) for labels in y])
    clone(estimator).fit(X, y)
    assert y.configurations
    assert all(seen == get_config() for seen in y.configurations)


@estimators
def test_what_scikit_learn_and_users_keep_survives(estimator):
    model = clone(estimator)
    model.note = "mine"
    with config_context(enable_metadata_routing=True):
        model.set_fit_request(sample_weight=True)
        for name in inputs_of(estimator)[:2]:
            model.fit(*INPUTS[name])
        requests = get_routing_for_object(model).fit.requests
    assert model.note == "mine"
    assert requests["sample_weight"] is True


@for_each("estimator", [e for e in ESTIMATORS if hasattr(e, "set_callbacks")])
def test_callbacks_survive_and_are_ended(estimator):
    class Counting:
        def __init__(self):
            self.calls = []

        def setup(self, estimator, context):
            self.calls.append("setup")

        def on_fit_task_begin(self, estimator, context, **kwargs):
            pass

        def on_fit_task_end(self, estimator, context, **kwargs):
            pass

        def teardown(self, estimator, context):
            self.calls.append("teardown")

    callback = Counting()
    model = clone(estimator).set_callbacks(callback)
    X, y = INPUTS[inputs_of(estimator)[0]]
    before = set(vars(model.fit(X, y)))
    assert set(vars(model.fit(X, y))) == before
    with pytest.raises(ValueError, match=r"y|X"):
        model.fit(X, y[:-1])
    assert set(vars(model)) == before
    assert callback.calls == ["setup", "teardown"] * 3


def test_parameters_stay_what_they_are():
    crf = CRF(solver="lbfgs", max_iter=7, random_state=np.random.RandomState(0))
    before = crf.get_params(deep=False)
    crf.partial_fit(*INPUTS["token lists"]).partial_fit(*INPUTS["token lists"])
    perceptron = StructuredPerceptron(max_iter=4, validation_fraction=0.3)
    perceptron.partial_fit(*INPUTS["token lists"])
    assert all(crf.get_params(deep=False)[name] is value for name, value in before.items())
    assert (perceptron.max_iter, perceptron.validation_fraction) == (4, 0.3)


def test_a_warm_start_goes_on_and_a_cold_one_does_not():
    X, y = INPUTS["token lists"]
    crf = CRF(max_iter=3).fit(X, y)
    again = clone(crf).fit(X, y).fit(X, y)
    assert again.loss_curve_ == crf.loss_curve_
    warm = clone(crf).set_params(warm_start=True).fit(X, y).fit(X, y)
    assert warm.loss_curve_[0] < crf.loss_curve_[0]


# One interrupt ends everything that is inside of a fit.


def interrupting_after(n):
    """A criterion that is interrupted once, at the n-th call."""

    def criterion(structure, scores, y):
        criterion.n += 1
        if criterion.n == n:
            raise KeyboardInterrupt
        return log_loss(structure, scores, y)

    criterion.n = 0
    return criterion


def test_an_interrupt_ends_the_fit_of_a_pool(monkeypatch):
    X, y = INPUTS["token lists"]
    fitted = []
    fit_expert = opinion_pool_estimator.fit_expert

    def noted(estimator, *samples):
        fitted.append(type(estimator).__name__)
        return fit_expert(estimator, *samples)

    monkeypatch.setattr(opinion_pool_estimator, "fit_expert", noted)
    pool = OpinionPoolCRF([("crf", CRF(interrupting_after(4), tol=0.0)), ("hmm", HMM())])
    monkeypatch.setattr(opinion_pool_estimator, "clone", lambda estimator: estimator)
    with pytest.raises(KeyboardInterrupt):
        pool.fit(X, y)
    assert fitted == ["CRF"]
    assert set(vars(pool)) == set(pool.get_params(deep=False))


def test_an_interrupt_ends_a_fit_that_trains_its_start_first():
    X, y = INPUTS["token lists"]
    criterion = interrupting_after(4)
    criterion.n = 4
    crf = CRF(init=CRF(Shared(criterion), tol=0.0)).fit(X[:2], y[:2])
    criterion.n = 0
    check_unchanged(crf, lambda crf: crf.fit(X, y), KeyboardInterrupt)
    assert criterion.n == 4


class Shared:
    """A criterion that clones share."""

    def __init__(self, criterion):
        self.criterion = criterion

    def __call__(self, structure, scores, y):
        return self.criterion(structure, scores, y)

    def __deepcopy__(self, memo):
        return self


def test_an_expert_alone_keeps_the_best_so_far():
    X, y = INPUTS["token lists"]
    merged = MergedLabels(CRF(Shared(interrupting_after(4)), tol=0.0), ["N"]).fit(X, y)
    assert not merged.estimator_.converged_
    assert len(merged.predict(X)) == len(X)


@for_each(
    ("estimator", "name"),
    [
        (CRF(), "max_iter"),
        (HMM(), "smoothing"),
        (EmpiricalCRF(), "spelling"),
        (StructuredPerceptron(), "averaging"),
    ],
)
def test_parameters_are_checked_at_every_call_of_partial_fit(estimator, name):
    estimator = clone(estimator).partial_fit(*INPUTS["token lists"])
    estimator.set_params(**{name: "nonsense"})
    with pytest.raises(ValueError, match=f"The '{name}' parameter of"):
        estimator.partial_fit(*INPUTS["token lists"])


def words_and_labels():
    return [["a", "b", "c"]] * 20, [["A", "B", "C"]] * 20


@pytest.mark.parametrize("make", [EmpiricalCRF, HMM, CRF, StructuredPerceptron])
def test_an_update_that_another_thread_overtakes_is_refused(make, monkeypatch):
    """What another thread has learned meanwhile is never lost without a word."""
    X, y = words_and_labels()
    model, begun = make().fit(X, y), []
    check = type(model)._check_training

    def overtaken(self, *data, **options):
        if not begun:
            begun.append(None)
            model.partial_fit([["d"]], [["D"]])
        return check(self, *data, **options)

    monkeypatch.setattr(type(model), "_check_training", overtaken)
    with pytest.raises(RuntimeError, match="another thread has changed this model"):
        model.partial_fit([["e"]], [["E"]])
    assert "D" in model.classes_.tolist()
    assert "E" not in model.classes_.tolist()
    model.partial_fit([["e"]], [["E"]])
    assert "E" in model.classes_.tolist()


def test_no_update_of_eight_threads_is_lost_without_a_word():
    X, y = words_and_labels()
    model, learned = HMM().fit(X, y), []

    def learn(number):
        for k in range(20):
            label = f"{number}.{k}"
            try:
                model.partial_fit([[label]], [[label]])
            except RuntimeError:
                continue
            learned.append(label)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(learn, range(8)))
    assert learned
    assert set(model.classes_.tolist()) == {"A", "B", "C", *learned}
