"""Campaigns of inputs try all that is public, and see through wrong answers."""

import inspect
from random import Random

import numpy as np
import pytest

import sklearn_crcrf
from sklearn_crcrf import CRF, HMM, MaxMarginCRF, TokenFeatures, metrics
from sklearn_crcrf.criteria import CRITERIA
from sklearn_crcrf.estimators.crf.solving import SOLVERS
from sklearn_crcrf.estimators.max_margin.estimator import SOLVERS as MARGIN_SOLVERS
from sklearn_crcrf.estimators.separate import estimator as separate

X, Y = [["the", "dog"], ["a"], ["dog", "the", "a"]], [["D", "N"], ["D"], ["N", "D", "D"]]
SEGMENTS = [["O", "B-X"], ["O"], ["B-X", "I-X", "O"]]
PUBLIC = [getattr(sklearn_crcrf, name) for name in sklearn_crcrf.__all__]


def test_all_classifiers_and_transformers_are_tried(load):
    models = load("_models")
    classes = [public for public in PUBLIC if inspect.isclass(public)]
    tried = {*models.classifiers(), *models.transformers()}
    classes.remove(sklearn_crcrf.SequencePipeline)
    classes.remove(sklearn_crcrf.SequenceLabelModel)
    classes.remove(sklearn_crcrf.TextTagger)
    assert {public for public in classes if hasattr(public, "fit")} == tried


@pytest.mark.filterwarnings("ignore")
def test_all_ways_to_train_are_tried(load, monkeypatch):
    # A fit takes as long as there are choices, and iterations.
    for choices in ("EXPONENTS", "STRENGTHS"):
        monkeypatch.setattr(separate, choices, getattr(separate, choices)[::6])
    for name in ("max_iter", "max_iterations"):
        monkeypatch.setitem(load("_models").SMALL, name, 1)
    models = load("_models")
    assert all(models.kinds_for(public) for public in models.classifiers())
    monkeypatch.setattr(models, "classifiers", lambda: [CRF, MaxMarginCRF])
    names = {trainer.name for trainer in models.trainers(n_sequences=3)}
    assert {f"CRF criterion={name}" for name in CRITERIA} <= names | {
        "CRF criterion=local_log_loss"  # which MEMM has
    }
    assert {f"CRF solver={name}" for name in SOLVERS} <= names
    assert {f"MaxMarginCRF solver={name}" for name in MARGIN_SOLVERS} <= names


def test_all_metrics_are_tried(load):
    tried = load("_metrics").FUNCTIONS
    functions = {getattr(metrics, name) for name in metrics.__all__ if name.islower()}
    assert functions - {*tried} == {
        metrics.get_sequence_scorer,
        metrics.get_sequence_scorer_names,
    }
    arguments = load("_metrics").ARGUMENTS
    assert all(
        inspect.signature(function).parameters.keys() <= arguments.keys() for function in tried
    )


def test_all_questions_are_asked(load):
    methods = load("_answers").METHODS
    asked = {
        name
        for public in load("_models").classifiers()
        for name in dir(public)
        if name.startswith(("predict_", "confidence", "entropy", "sample"))
    }
    others = {"predict_out_of_fold", "predict_single", "predict_marginals_single"}
    others |= {"sample_unit", "confidence_level"}
    assert asked - others == set(methods)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["_samples.sample", "_models.random_estimator"])
def test_the_same_chance_makes_the_same(load, name):
    module, function = name.split(".")
    make = getattr(load(module), function)
    publics = load("_models").classifiers()
    for seed in range(200):
        arguments = (publics[seed % len(publics)],) if function == "random_estimator" else ()
        first, second = (make(Random(seed), *arguments) for _ in range(2))
        assert _without_addresses(first) == _without_addresses(second)


def _without_addresses(thing):
    text = repr(thing.X.__class__) + repr(thing.lengths) if hasattr(thing, "X") else repr(thing)
    return text.partition(" object at ")[0]


@pytest.mark.filterwarnings("ignore")
def test_most_kinds_of_input_are_taken_by_some_classifier(load):
    samples, taken = load("_samples"), set()
    for seed in range(300):
        rng = Random(seed)
        made = samples.sample(rng)
        try:
            HMM().fit(made.X, samples.labels(rng, made))
        except (ValueError, TypeError):
            continue
        taken.add(made.kind)
    assert taken >= {"words", "dicts", "numbers", "sparse", "SequenceArray", "other containers"}


class Liar(HMM):
    """Answers as it is told to."""

    def answer(self, method, answer):
        setattr(self, method, lambda X, **options: answer)
        return self.fit(X, Y)


@pytest.mark.filterwarnings("ignore")
def test_arrays_are_replaced_and_some_are_taken(load):
    classifiers, taken = load("_classifiers"), 0
    classifiers._fitted.append((HMM().fit(X, Y), X, Y))
    for seed in range(60):
        try:
            classifiers.replace_and_ask(Random(seed), seed)
        except Exception:
            continue
        taken += 1
    assert 10 < taken < 60
    names = {name for *_, name, _ in classifiers._arrays(HMM().fit(X, Y), "HMM", set())}
    assert {"classes_", "begin_", "transitions_"} <= names


NAN = [np.array([[0.5, 0.5], [np.nan, 1.0]]), np.array([[0, 1]]), np.eye(3)[:, :2]]
LIES = {
    "predict_proba": (NAN, "is not finite"),
    "predict_log_proba": (NAN, "is no logarithm of a probability"),
    "confidence": (np.array([0.5, 1.5, 0.5]), "is no probability"),
    "entropy": (np.array([0.5, np.nan, 0.5]), "is NaN"),
    "predict_k_best": ([[(["D", "N"], 0.6), (["D", "D"], 0.7)]], "probabilities that cannot be"),
    "predict_spans": ([[(0, 1, "X", np.nan)]], "is not finite"),
    "sample": ([[["D", "N"], ["D"], ["N", "D", "X"]]], "has an unknown label"),
}


@pytest.mark.parametrize("method", LIES)
def test_wrong_answers_are_found(load, method):
    answer, what = LIES[method]
    answers, wrong = load("_answers"), load("_campaign").Wrong
    answers.check_answer(Random(0), HMM().fit(X, SEGMENTS), X, method)
    with pytest.raises(wrong, match=what):
        answers.check_answer(Random(0), Liar().answer(method, answer), X, method)


@pytest.mark.parametrize(
    "labels, what",
    [
        ([["D", "N"], ["D"], ["N", "D"]], "other lengths than X"),
        ([["D", "N"], ["D"]], "other lengths than X"),
        ([["D", "N"], ["D"], ["N", "D", "O"]], "unknown label"),
    ],
)
def test_wrong_labels_are_found(load, labels, what):
    with pytest.raises(load("_campaign").Wrong, match=what):
        load("_answers").check_answers(Random(0), Liar().answer("predict", labels), X)


def test_probabilities_that_do_not_sum_to_one_are_found(load):
    rows = [np.array([[0.5, 0.4], [0.5, 0.5]]), np.array([[0, 1]]), np.eye(3)[:, :2] + 0.5]
    with pytest.raises(load("_campaign").Wrong, match="does not sum to one"):
        load("_answers").check_answers(Random(0), Liar().answer("predict_proba", rows), X)


def test_exceptions_by_accident_are_told_from_those_that_are_raised(load):
    crashes = load("_crashes")

    def raised(function, *arguments):
        try:
            function(*arguments)
        except (ValueError, TypeError) as error:
            return error

    assert crashes.is_raised(raised(HMM().fit, X, None))
    assert crashes.is_raised(raised(HMM(smoothing=-1).fit, X, Y))  # by scikit-learn
    assert not crashes.is_raised(raised(int, "x"))
    assert not crashes.is_raised(raised(np.zeros, -1))


def test_numbers_that_are_not_finite_are_found_behind_transformers(load, monkeypatch):
    module = load("_transformers")
    result = TokenFeatures().fit_transform(X)
    sample = load("_samples").Sample("strings", X, [2, 1, 3])
    module._check("TokenFeatures", result, sample)
    with pytest.raises(load("_campaign").Wrong, match="gives other lengths"):
        module._check("TokenFeatures", result, sample._replace(lengths=[2, 1, 2]))
    with pytest.raises(load("_campaign").Wrong, match="more or fewer names"):
        module._check_names("TokenFeatures", result, np.array(["word"]))
    vectors = sklearn_crcrf.WordVectors((["dog"], [[1.0]])).fit(X)
    result = vectors.transform(X)
    result.data[0] = np.nan
    with pytest.raises(load("_campaign").Wrong, match="not finite"):
        module._check("WordVectors", result, sample)


@pytest.mark.parametrize("result", [np.nan, [0.5, np.array([np.nan])], {"a": {"f1": np.nan}}])
def test_nan_is_found_in_whatever_a_metric_returns(load, result):
    with pytest.raises(load("_campaign").Wrong, match="f is NaN"):
        load("_metrics")._check("f", result)
