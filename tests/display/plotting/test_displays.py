"""Displays have what they are said to have, and draw it."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import make_pipeline

from sklearn_crcrf import (
    CRF,
    HMM,
    MEMM,
    BoostedCRF,
    EmpiricalCRF,
    OpinionPoolCRF,
    SequenceArray,
    TokenFeatures,
    Window,
    find_label_issues,
)
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.display import (
    LabelConfusionDisplay,
    LabelIssuesDisplay,
    RegularisationDisplay,
    ReliabilityDisplay,
    SegmentErrorsDisplay,
    TopAttributesDisplay,
    TrainingCurve,
    TrainingDisplay,
    TransitionDisplay,
)
from sklearn_crcrf.metrics import get_sequence_scorer, segment_errors, token_confusion_matrix

matplotlib = pytest.importorskip("matplotlib", reason="displays are drawn by matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

X, Y = make_addresses(60, random_state=0)


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    plt.close("all")


def texts(ax):
    return [text.get_text() for text in ax.texts]


def names(labels):
    return [label.get_text() for label in labels]


def rendered(display, tmp_path):
    """What only shows when it is drawn, such as text that is no formula."""
    display.figure_.savefig(tmp_path / "figure.png", dpi=40)
    return (tmp_path / "figure.png").stat().st_size > 1000


@pytest.mark.parametrize("model", [CRF(tol=1e-3), HMM(), MEMM(tol=1e-3), EmpiricalCRF()])
def test_transitions_are_those_of_the_estimator(model, tmp_path):
    model.fit(X, Y)
    labels = ["B-STREET", "O"]
    display = TransitionDisplay.from_estimator(model, labels=labels)
    ids = [model.classes_.tolist().index(label) for label in labels]
    inner = display.scores[-2:, :2]
    np.testing.assert_array_equal(inner, model.transitions_[np.ix_(ids, ids)])
    assert names(display.ax_.get_xticklabels())[:2] == labels
    assert np.ma.max(display.im_.get_array()) == np.nanmax(display.scores)
    assert rendered(display, tmp_path)


@pytest.mark.parametrize("model", [HMM(), EmpiricalCRF(), CRF(tol=1e-3, boundaries=True)])
def test_ends_are_those_of_the_estimator(model):
    model.fit(X, Y)
    display, n = TransitionDisplay.from_estimator(model), len(model.classes_)
    assert display.scores.shape == (n + 1, n + 1)
    np.testing.assert_array_equal(display.scores[0, :-1], model.begin_)
    np.testing.assert_array_equal(display.scores[1:, -1], model.end_)
    assert (display.previous[0], display.current[-1]) == ("<start>", "<end>")


def test_ends_without_scores_are_not_shown():
    for model in (EmpiricalCRF.ecrn(), CRF(tol=1e-3)):
        model.fit(X, Y)
        assert not (model.begin_.any() or model.end_.any())
        assert TransitionDisplay.from_estimator(model).scores.shape == (len(model.classes_),) * 2


def test_ends_and_what_is_impossible_are_shown():
    crf = CRF(constraints="IOB2", boundaries=True, tol=1e-3).fit(X, Y)
    display = TransitionDisplay.from_estimator(crf)
    n = len(crf.classes_)
    assert display.scores.shape == (n + 1, n + 1)
    np.testing.assert_array_equal(display.scores[1:, -1], crf.end_)
    inside = [label.startswith("I-") for label in crf.classes_]
    assert np.isneginf(display.scores[0, :-1][inside]).all()
    assert np.isnan(display.scores[0, -1])
    assert len(display.ax_.collections) == np.isneginf(display.scores).sum()
    assert texts(display.ax_) == []
    again = display.plot(include_values=True)
    assert len(texts(again.ax_)) == np.isfinite(display.scores).sum()
    with pytest.raises(ValueError, match="labels, position 0: 'no' is not among"):
        TransitionDisplay.from_estimator(crf, labels=["no"])


def test_transitions_at_an_attribute():
    crf = CRF(edge_columns=["token"], tol=1e-2).fit(X, Y)
    name = crf.edge_attribute_names_[2]
    assert crf.edge_attribute_names_.shape == crf.edge_coef_.shape[:1]
    display = TransitionDisplay.from_estimator(crf, attribute=name)
    np.testing.assert_array_equal(display.scores, crf.transitions_ + crf.edge_coef_[2])
    for model in (crf, EmpiricalCRF().fit(X, Y)):
        with pytest.raises(ValueError, match="attribute: 'edge=left' is not among"):
            TransitionDisplay.from_estimator(model, attribute="edge=left")


@pytest.mark.parametrize("params", [{}, {"features": "observed"}, {"c1": 0.5}])
def test_top_attributes_are_the_extremes(params, tmp_path):
    pipeline = make_pipeline(TokenFeatures(["shape"]), Window([-1, 0]), CRF(tol=1e-3, **params))
    crf = pipeline.fit(X, Y)[-1]
    display = TopAttributesDisplay.from_estimator(pipeline, labels=["O", "B-CITY"], n_top=3)
    assert list(display.weights) == ["O", "B-CITY"]
    coef = crf.coef_.toarray() if params else crf.coef_
    for label, weights in display.weights.items():
        column = coef[:, crf.classes_.tolist().index(label)]
        values = list(weights.values())
        expected = [*np.sort(column[column > 0])[::-1][:3], *np.sort(column[column < 0])[:3][::-1]]
        assert values == pytest.approx(expected)
        place = crf.attribute_names_.tolist().index
        assert [column[place(name)] for name in weights] == pytest.approx(values)
    assert len(display.axes_) == 2
    assert len(display.axes_[0].patches) == len(display.weights["O"])
    assert rendered(display, tmp_path)


def test_estimators_without_what_is_drawn_say_so(tmp_path):
    pool = OpinionPoolCRF([("hmm", HMM()), ("empirical", EmpiricalCRF())], weights=[1, 1])
    pool.fit(X, Y)
    boosted = BoostedCRF(max_iter=2).fit([np.ones((len(x), 1)) for x in X], Y)
    with pytest.raises(ValueError, match="OpinionPoolCRF has no transitions_, so there is nothing"):
        TransitionDisplay.from_estimator(pool)
    with pytest.raises(ValueError, match="OpinionPoolCRF has no coef_ and no attribute_names_"):
        TopAttributesDisplay.from_estimator(pool)
    with pytest.raises(ValueError, match="BoostedCRF has no coef_ and no attribute_names_"):
        TopAttributesDisplay.from_estimator(boosted)
    assert rendered(TransitionDisplay.from_estimator(boosted), tmp_path)
    for display in (TransitionDisplay, TopAttributesDisplay):
        with pytest.raises(NotFittedError):
            display.from_estimator(HMM())
        with pytest.raises(NotFittedError):
            display.from_estimator(make_pipeline(TokenFeatures(["shape"]), CRF()))
        with pytest.raises(ValueError, match="must be a fitted sequence classifier"):
            display.from_estimator(TokenFeatures(["shape"]))


def test_dollars_are_no_formulae(tmp_path):
    X_dollars = [["$x_$", "a$\\b$"], ["$^$", "c"]]
    y_dollars = [["PRP$", "$$"], ["$", "PRP$"]]
    crf = CRF().fit(X_dollars, y_dollars)
    assert rendered(TopAttributesDisplay.from_estimator(crf), tmp_path)
    assert rendered(TransitionDisplay.from_estimator(crf), tmp_path)
    assert rendered(LabelConfusionDisplay.from_estimator(crf, X_dollars, y_dollars), tmp_path)
    display = ReliabilityDisplay.from_estimator(crf, X_dollars, y_dollars, label="$$")
    assert rendered(display, tmp_path)


def test_confusion_with_and_without_the_outside(tmp_path):
    y_pred = EmpiricalCRF().fit(X[:20], Y[:20]).predict(X)
    display = LabelConfusionDisplay.from_predictions(Y, y_pred)
    np.testing.assert_array_equal(display.confusion_matrix, token_confusion_matrix(Y, y_pred))
    assert "O" in display.display_labels
    without = LabelConfusionDisplay.from_predictions(Y, y_pred, exclude=["O"], normalize="true")
    kept = [label for label in display.display_labels if label != "O"]
    assert list(without.display_labels) == kept
    expected = token_confusion_matrix(Y, y_pred, labels=kept, normalize="true")
    np.testing.assert_array_equal(without.confusion_matrix, expected)
    few = LabelConfusionDisplay.from_predictions(Y, y_pred, labels=["O", "B-CITY"])
    assert few.text_.shape == (2, 2)
    assert rendered(without, tmp_path)
    flat = LabelConfusionDisplay.from_predictions(np.array(["a", "b"]), np.array(["a", "a"]))
    assert flat.confusion_matrix.tolist() == [[1, 0], [1, 0]]


def test_segment_errors_are_stacked(tmp_path):
    model = EmpiricalCRF().fit(X[:20], Y[:20])
    display = SegmentErrorsDisplay.from_estimator(model, X, Y)
    errors = segment_errors(Y, model.predict(X))
    for a, b in zip(display.errors, errors, strict=True):
        assert list(a) == list(b)
    assert list(display.bars_) == ["wrong type", "wrong boundary", "missed", "spurious"]
    of_missed = sum(bar.get_width() for bar in display.bars_["missed"])
    assert of_missed == errors.missed.sum()
    totals = sum(errors[2:])
    assert names(display.ax_.get_yticklabels())[0] == errors.types[int(np.argmax(totals))]
    shares = display.plot(normalize=True)
    true = errors.correct + errors.wrong_type + errors.wrong_boundary + errors.missed
    widths = sum(bar.get_width() for bar in shares.bars_["missed"])
    assert widths == pytest.approx((errors.missed / true).sum())
    assert rendered(display, tmp_path)
    SegmentErrorsDisplay.from_predictions([["O"]], [["O"]])


def test_issues_are_counted_by_labels_and_probability(tmp_path):
    issues = find_label_issues(HMM(), X, Y, cv=3)
    display = LabelIssuesDisplay.from_estimator(HMM(), X, Y, cv=3)
    assert display.issues.probability.tolist() == issues.probability.tolist()
    assert display.counts_.sum() == len(issues) or len(display.pairs_) == 20
    totals = display.counts_.sum(axis=1)
    assert (np.diff(totals) <= 0).all() and len(set(display.pairs_)) == len(display.pairs_)
    for pair, row in zip(display.pairs_, display.counts_, strict=True):
        same = np.array([(it.given, it.suggested) == pair for it in issues])
        expected, _ = np.histogram(issues.probability[same], [0, 0.001, 0.01, 0.1, 1])
        assert row.tolist() == expected.tolist()
    assert list(display.bars_) == ["below 0.001", "below 0.01", "below 0.1", "others"]
    for part, numbers in zip(display.bars_.values(), display.counts_.T, strict=True):
        assert [bar.get_width() for bar in part] == numbers.tolist()
    labels = names(display.ax_.get_yticklabels())
    for (given, suggested), label in zip(display.pairs_, labels, strict=True):
        same = f"{given}, other tokens"
        assert label == (same if given == suggested else f"{given} → {suggested}")
    assert any("other tokens" in label for label in labels)
    few = display.plot(n_pairs=2)
    assert len(few.pairs_) == 2 and few.counts_.shape == (2, 4)
    assert rendered(display, tmp_path)
    assert rendered(LabelIssuesDisplay(issues[:0]).plot(), tmp_path)
    dollars = LabelIssuesDisplay.from_estimator(HMM(), [["$"], ["a"]] * 9, [["$x_$"], ["$^$"]] * 9)
    assert rendered(dollars, tmp_path)


def test_reliability_of_probabilities_that_are_right(tmp_path):
    rng = np.random.default_rng(0)
    first = rng.random(20_000)
    y_true = np.where(rng.random(20_000) < first, "a", "b")
    proba = np.column_stack([first, 1 - first])
    of_label = ReliabilityDisplay.from_predictions(y_true, proba, ["a", "b"], label="a")
    assert len(of_label.probability) == 10
    np.testing.assert_allclose(of_label.probability, of_label.frequency, atol=0.04)
    assert of_label.n_tokens.sum() == 20_000
    of_likeliest = ReliabilityDisplay.from_predictions(y_true, proba, ["a", "b"])
    assert of_likeliest.probability.min() >= 0.5
    assert of_likeliest.calibration_error < 0.02
    by_number = ReliabilityDisplay.from_predictions(
        y_true, proba, ["a", "b"], strategy="quantile", n_bins=4, ax=of_likeliest.ax_, name="four"
    )
    assert np.ptp(by_number.n_tokens) <= 1
    assert len(by_number.ax_.get_legend().get_texts()) == 3
    assert rendered(by_number, tmp_path)


def test_reliability_made_by_hand():
    y_true = [["a", "b"], ["a"]]
    proba = [np.array([[0.9, 0.1], [0.8, 0.2]]), np.array([[0.2, 0.8]])]
    display = ReliabilityDisplay.from_predictions(y_true, proba, ["a", "b"], n_bins=5)
    np.testing.assert_allclose(display.probability, [(0.9 + 0.8 + 0.8) / 3])
    np.testing.assert_allclose(display.frequency, [1 / 3])
    assert display.calibration_error == pytest.approx(2.5 / 3 - 1 / 3)
    nested = SequenceArray.from_sequences(proba)
    assert ReliabilityDisplay.from_predictions(y_true, nested, ["a", "b"]).n_tokens.sum() == 3
    empty = ReliabilityDisplay.from_predictions([[]], [np.empty((0, 2))], ["a", "b"])
    assert empty.calibration_error == 0.0
    with pytest.raises(ValueError, match="label: 'c' is not among"):
        ReliabilityDisplay.from_predictions(y_true, proba, ["a", "b"], label="c")
    with pytest.raises(ValueError, match="strategy must be"):
        ReliabilityDisplay.from_predictions(y_true, proba, ["a", "b"], strategy="no")
    with pytest.raises(ValueError, match="is not a probability distribution"):
        ReliabilityDisplay.from_predictions([["a"]], [np.array([[0.9, 0.9]])], ["a", "b"])


def test_reliability_of_an_estimator():
    model = EmpiricalCRF().fit(X[:20], Y[:20])
    display = ReliabilityDisplay.from_estimator(model, X, Y)
    assert display.n_tokens.sum() == sum(map(len, X))
    right = (display.frequency * display.n_tokens).sum()
    marginals = np.concatenate(model.predict_proba(X))
    expected = (model.classes_[marginals.argmax(axis=1)] == np.concatenate(Y)).sum()
    assert right == pytest.approx(expected)


def test_training_is_timed_and_scored(tmp_path):
    models = {
        "CRF": CRF(),
        "pipeline": make_pipeline(Window([-1, 0]), CRF(tol=0.1)),
        "counting": EmpiricalCRF(),
    }
    scorer = get_sequence_scorer("segment_f1")
    display = TrainingDisplay.from_fits(
        models, X[:30], Y[:30], X[30:], Y[30:], scoring=scorer, max_iter=[1, 3, 400, 800]
    )
    curve = display.curves["CRF"]
    assert all(len(part) == 3 for part in curve)  # it converges before 400 iterations
    assert curve.objective[0] > curve.objective[1] > curve.objective[2]
    fitted = CRF().fit(X[:30], Y[:30])
    assert curve.objective[2] == pytest.approx(fitted.loss_curve_[-1])
    assert curve.score[2] == pytest.approx(scorer(fitted, X[30:], Y[30:]))
    assert (curve.seconds > 0).all()
    assert len(display.curves["counting"].score) == 1
    assert np.isnan(display.curves["counting"].objective).all()
    left, right = display.axes_
    assert len(left.lines) == 2 and len(right.lines) == 3
    assert not hasattr(models["CRF"], "coef_")
    assert rendered(display, tmp_path)


def test_curves_from_elsewhere_are_drawn():
    curve = TrainingCurve(np.array([0.1, 0.2]), np.array([9.0, 8.0]), np.array([0.5, 0.6]))
    _, ax = plt.subplots()
    display = TrainingDisplay({"there": curve}, "F1").plot(ax=ax)
    assert display.ax_ is ax
    assert display.axes_[1].get_title() == "F1"
    np.testing.assert_array_equal(display.axes_[0].lines[0].get_ydata(), [9.0, 8.0])


def test_scores_of_a_search_by_two_parameters(tmp_path):
    pipeline = make_pipeline(TokenFeatures(["shape"]), EmpiricalCRF())
    grid = {
        "empiricalcrf__sigma": [0.5, 2.0, np.inf],
        "empiricalcrf__mu_oov": [0, 1.0],
        "empiricalcrf__spelling": ["joint", "product"],
    }
    search = GridSearchCV(pipeline, grid, cv=2).fit(X, Y)
    display = RegularisationDisplay.from_search(search, "sigma", by="mu_oov")
    assert display.values.tolist() == [0.5, 2.0, np.inf]
    assert list(display.scores) == [0.0, 1.0]
    assert display.scores[display.best[1]].max() == search.best_score_
    best = search.best_params_
    assert display.best == (best["empiricalcrf__sigma"], best["empiricalcrf__mu_oov"])
    results = search.cv_results_
    runs = [k for k, p in enumerate(results["params"]) if p["empiricalcrf__mu_oov"] == 0]
    for value, score, deviation in zip(
        display.values, display.scores[0.0], display.deviations[0.0], strict=True
    ):
        of_value = [k for k in runs if results["params"][k]["empiricalcrf__sigma"] == value]
        top = max(of_value, key=lambda k: results["mean_test_score"][k])
        assert score == results["mean_test_score"][top]
        assert deviation == results["std_test_score"][top]
    assert rendered(display, tmp_path)
    one = RegularisationDisplay.from_search(results, "mu_oov")
    assert list(one.scores) == [None]
    assert len(one.lines_) == 1
    assert rendered(one, tmp_path)


def test_searches_with_gaps_and_other_metrics():
    candidates = {"sigma": [0.5, 1.0, 2.0], "mu_oov": [0.5, 1.0]}
    scoring = {"f1": get_sequence_scorer("segment_f1")}
    search = RandomizedSearchCV(
        EmpiricalCRF(), candidates, n_iter=4, cv=2, scoring=scoring, refit=False, random_state=0
    ).fit(X, Y)
    display = RegularisationDisplay.from_search(search, "sigma", by="mu_oov", metric="f1")
    assert sum(np.isfinite(of).sum() for of in display.scores.values()) == 4
    for arguments, message in (
        ({}, "no scores named 'score'"),
        ({"metric": "f1", "param": "c1"}, "0 parameters 'c1'"),
    ):
        with pytest.raises(ValueError, match=message):
            RegularisationDisplay.from_search(search, **arguments)
    words = SimpleNamespace(cv_results_={**search.cv_results_, "params": [{"a": "x"}] * 4})
    with pytest.raises(ValueError, match="values of 'a' are not numbers"):
        RegularisationDisplay.from_search(words, "a", metric="f1")


def test_without_matplotlib_it_is_said_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    display = SegmentErrorsDisplay(segment_errors([["B-X"]], [["O"]]))
    with pytest.raises(ImportError, match=r"SegmentErrorsDisplay needs matplotlib: pip install"):
        display.plot()


def test_half_characters_are_drawn_as_numbers():
    X, y = [["a", "b"]] * 3, [["\ud800", "$N$"]] * 3
    display = TransitionDisplay.from_estimator(EmpiricalCRF().fit(X, y))
    display.figure_.canvas.draw()
    names = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert r"\ud800" in names


def test_unknown_labels_are_left_out():
    y_true = [["D", None, {"N", "D"}]]
    display = LabelConfusionDisplay.from_predictions(y_true, [["D", "V", "N"]])
    assert display.confusion_matrix.tolist() == [[1, 0], [0, 1]]
    proba = [np.array([[0.75, 0.25], [0.25, 0.75], [0.25, 0.75]])]
    display = ReliabilityDisplay.from_predictions(y_true, proba, ["D", "N"])
    assert display.n_tokens.tolist() == [2]
    assert display.frequency.tolist() == [1.0]
