"""Tests of sets that hold the truth as often as they promise."""

import pickle

import numpy as np
import pandas as pd
import pytest
from cases import for_each
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneOut,
    cross_val_predict,
)
from sklearn.pipeline import make_pipeline

from sklearn_crcrf import (
    CRF,
    HMM,
    ConformalSequenceClassifier,
    CRFsuiteCRF,
    EmpiricalCRF,
    LatticeCRF,
    SequenceVectorizer,
    TextTagger,
    as_sequences,
    make_sequence_pipeline,
)
from sklearn_crcrf.base.unwrap import unwrap
from sklearn_crcrf.model_files import load_model, save_model

LABELS = np.array(["B-LOC", "B-PER", "I-PER", "O"])
FOLLOWS = np.array([[0, 1, 0, 3], [1, 0, 5, 4], [0, 1, 3, 6], [2, 2, 0, 6.0]])


def drawn(n, seed):
    """Sequences of labels, and of words that are often the same for different labels."""
    rng = np.random.default_rng(seed)
    chances = FOLLOWS / FOLLOWS.sum(axis=1, keepdims=True)
    X, y = [], []
    for length in rng.integers(1, 8, n):
        label, labels = 3, []
        for _ in range(length):
            label = rng.choice(4, p=chances[label])
            labels.append(label)
        words = 3 * np.array(labels) + rng.integers(0, 5, length)
        X.append([f"w{word}" for word in words])
        y.append(LABELS[labels].tolist())
    return X, y


TRAIN, MORE = drawn(150, 0), drawn(500, 1)
MODEL = EmpiricalCRF().fit(*TRAIN)


def taken(part, which):
    X, y = part
    return [X[i] for i in which], [y[i] for i in which]


def missed(model, X, y):
    """The loss of each sequence that has one."""
    sets = model.predict_set(X)
    if model.target == "labelling":
        return [
            labels not in [own for own, _ in found] for found, labels in zip(sets, y, strict=True)
        ]
    if model.target == "token":
        column = {label: j for j, label in enumerate(model.classes_)}
        return [
            np.mean([not row[column[label]] for row, label in zip(found, labels, strict=True)])
            for found, labels in zip(sets, y, strict=True)
        ]
    losses = []
    for found, labels in zip(sets, y, strict=True):
        names = np.flatnonzero(np.array(labels) != "O")
        if model.unit == "span":
            begins = np.flatnonzero([label[0] == "B" for label in labels])
            ends = [
                next((t for t in range(b + 1, len(labels)) if labels[t][0] != "I"), len(labels))
                for b in begins
            ]
            losses.append([not all(found[b:e]) for b, e in zip(begins, ends, strict=True)])
        else:
            losses.append([not found[t] for t in names])
    return [np.mean(own) for own in losses if own]


@for_each(
    ("target", "unit", "level"),
    [
        ("labelling", "token", 0.8),
        ("labelling", "token", 0.9),
        ("token", "token", 0.9),
        ("recall", "token", 0.95),
        ("recall", "span", 0.9),
    ],
)
def test_promises_hold_on_average_over_random_splits(target, unit, level):
    rng, n, risks, losses = np.random.default_rng(0), 99, [], []
    model = ConformalSequenceClassifier(MODEL, level, target, unit=unit)
    for _ in range(25):
        order = rng.permutation(400)
        model.conformalize(*taken(MORE, order[:n]))
        losses.append(missed(model, *taken(MORE, order[n:])))
        risks.append(np.mean(losses[-1]))
    # Both the calibration and the new sequences are drawn.
    error = np.std(np.concatenate(losses)) * np.sqrt((1 / n + 1 / (400 - n)) / len(risks))
    assert 1 - level + 3 * error >= np.mean(risks)
    if (target, unit) != ("recall", "token"):  # whose best paths miss no more than is allowed
        assert np.mean(risks) >= 1 - level - 2.5 / (n + 1) - 3 * error


def test_promises_hold_for_groups_of_alike_sequences():
    rng, level = np.random.default_rng(0), 0.85
    X, y = MORE
    groups = np.repeat(np.arange(100), 5)
    alike = [X[i] for i in 5 * groups], [y[i] for i in 5 * groups]  # five times the same
    risks, unheeded = [], []
    model = ConformalSequenceClassifier(MODEL, level)
    for _ in range(40):
        order = rng.permutation(100)
        own = np.isin(groups, order[:9])
        calibration, new = taken(alike, np.flatnonzero(own)), taken(alike, np.flatnonzero(~own))
        model.conformalize(*calibration, groups=groups[own])
        assert model.n_calibration_ == 9
        risks.append(np.mean(missed(model, *new)))
        model.conformalize(*calibration)
        unheeded.append(np.mean(missed(model, *new)))
    assert np.mean(risks) <= 1 - level + 3 * 0.36 * np.sqrt((1 / 9 + 1 / 91) / 40)
    assert np.mean(unheeded) > 1 - level  # as if 45 sequences had been drawn


def test_sets_have_all_labellings_that_are_probable_enough():
    model = ConformalSequenceClassifier(MODEL, 0.95, k=10**5).conformalize(*MORE)
    X = [words for words in MORE[0] if len(words) <= 4][:60]
    for found, every in zip(model.predict_set(X), MODEL.predict_k_best(X, 4**4), strict=True):
        assert np.isclose(sum(p for _, p in every), 1.0)
        wanted = [(labels, p) for labels, p in every if p >= model.threshold_]
        assert [labels for labels, _ in found] == [labels for labels, _ in wanted]
        assert np.allclose([p for _, p in found], [p for _, p in wanted])


def test_sets_are_of_the_k_best_labellings():
    model = ConformalSequenceClassifier(MODEL, 0.5, k=2).conformalize(*MORE)
    ranks = [
        [labels for labels, _ in paths].index(y) if y in [labels for labels, _ in paths] else 99
        for paths, y in zip(MODEL.predict_k_best(MORE[0], 2), MORE[1], strict=True)
    ]
    assert max(map(len, model.predict_set(MORE[0]))) <= 2
    share = f"{np.mean(np.array(ranks) == 99):.1%}"
    with pytest.raises(ValueError, match=f"{share} of the true labellings .* k=2 best; raise k"):
        ConformalSequenceClassifier(MODEL, 0.99, k=2).conformalize(*MORE)


@for_each("unit", ["token", "span"])
def test_found_tokens_are_of_the_best_path_or_probable(unit):
    model = ConformalSequenceClassifier(MODEL, 0.98, "recall", unit=unit).conformalize(*MORE)
    X = drawn(30, 5)[0]
    off_path = 0
    found, paths = model.predict_set(X), MODEL.predict(X)
    spans, marginals = model.predict_spans(X), MODEL.predict_proba(X)
    for own, path, proba, of_x in zip(found, paths, marginals, spans, strict=True):
        wanted = (np.array(path) != "O") | (proba[:, :3].sum(axis=1) >= model.threshold_)
        assert own == wanted.tolist()
        off_path += wanted.sum() - (np.array(path) != "O").sum()
        covered = np.zeros(len(path), bool)
        for start, end, kind, probability in of_x:
            assert 0 <= probability <= 1
            assert not covered[start:end].any()
            covered[start:end] = True
            best = np.where(np.array(path) != "O", path, LABELS[proba[:, :3].argmax(axis=1)])
            assert {label[2:] for label in best[start:end].tolist()} == {kind}
            assert all(label[0] == "I" for label in best[start + 1 : end])
        assert covered.tolist() == own
    assert off_path > 0
    assert model.predict(X).tolist() == paths.tolist()


def test_the_probabilities_of_spans_are_exact():
    model = ConformalSequenceClassifier(MODEL, 0.99, "recall").conformalize(*MORE)
    X = [words for words in MORE[0] if 2 < len(words) <= 4][:30]
    every, n = MODEL.predict_k_best(X, 4**4), 0
    for spans, paths in zip(model.predict_spans(X), every, strict=True):
        for start, end, kind, probability in spans:
            if end - start > 1:
                continue
            n += 1
            begins = f"B-{kind}"
            exact = sum(
                p for y, p in paths if y[start] == begins and y[end : end + 1] != [f"I-{kind}"]
            )
            inside = sum(
                p
                for y, p in paths
                if y[start] == "I-PER"
                and kind == "PER"
                and (start == 0 or y[start - 1] not in ("B-PER", "I-PER"))
                and y[end : end + 1] != ["I-PER"]
            )
            assert np.isclose(probability, exact) or np.isclose(probability, inside)
    assert n > 20


def refitted(estimator, X, y, fold):
    """A model of the other folds, for each sequence."""
    models = {f: clone(estimator).fit(*taken((X, y), np.flatnonzero(fold != f))) for f in set(fold)}
    return [models[f] for f in fold]


def truth_by_refits(target, models, X, y):
    scores = []
    for model, words, labels in zip(models, X, y, strict=True):
        if target == "labelling":
            found = {tuple(path): p for path, p in model.predict_k_best([words], 100)[0]}
            scores.append([found.get(tuple(labels), 0.0)])
            continue
        proba = dict(zip(model.classes_, model.predict_proba([words])[0].T, strict=True))
        if target == "token":
            scores.append([proba[label][t] for t, label in enumerate(labels)])
        else:
            path, outside = model.predict([words])[0], proba["O"]
            scores.append(
                [
                    1.0 if path[t] != "O" else 1 - outside[t]
                    for t, label in enumerate(labels)
                    if label != "O"
                ]
            )
    return scores


@for_each("target", ["labelling", "token", "recall"])
@for_each(
    ("estimator", "cv", "folds"),
    [
        (EmpiricalCRF(), "left_out", "sequences"),
        (EmpiricalCRF(), LeaveOneOut(), "sequences"),
        (EmpiricalCRF(), "left_out", "groups"),
        (EmpiricalCRF(), 4, "blocks"),
        (HMM(), KFold(4), "blocks"),
        (HMM(), 3, "thirds"),
    ],
)
def test_out_of_fold_calibration_is_that_of_refitted_models(target, estimator, cv, folds):
    X, y = taken(TRAIN, range(60))
    groups = np.arange(60) // 2
    fold = {"sequences": np.arange(60), "groups": groups, "blocks": np.arange(60) // 15}.get(folds)
    given = groups if folds in ("groups", "thirds") else None
    if folds == "thirds":
        fold = np.empty(60, int)
        for number, (_, test) in enumerate(GroupKFold(3).split(X, groups=groups)):
            fold[test] = number
    model = ConformalSequenceClassifier(estimator, 0.9, target, cv=cv).fit(X, y, groups=given)
    scores = truth_by_refits(target, refitted(estimator, X, y, fold), X, y)
    sample = groups if given is not None else np.arange(60)
    best = max(t for t in np.concatenate(scores) if allowed(scores, sample, t * (1 - 1e-9), 0.9))
    assert model.threshold_ == pytest.approx(best, rel=1e-5)
    assert model.n_calibration_ == len({s for s, own in zip(sample, scores, strict=True) if own})
    plain = clone(estimator).fit(X, y)
    assert model.predict(X).tolist() == plain.predict(X).tolist()


def allowed(scores, sample, threshold, level):
    """Whether the losses at a threshold are small enough."""
    of_sample = {}
    for s, own in zip(sample, scores, strict=True):
        of_sample.setdefault(s, []).extend(np.array(own) < threshold)
    losses = [np.mean(own) for own in of_sample.values() if own]
    return (sum(losses) + 1) / (len(losses) + 1) <= 1 - level + 1e-9


def test_unknown_new_and_no_labels():
    X, y = taken(MORE, range(100))
    plain = ConformalSequenceClassifier(MODEL, 0.5, "token").conformalize(X, y)
    y = [list(labels) for labels in y]
    more_X, more_y = [*X, [], ["w1"], ["w1"]], [*y, [], [None], [{"O", "B-LOC"}]]
    for target, n in [
        ("token", 100),
        ("labelling", 100),
        ("recall", sum(set(labels) != {"O"} for labels in y)),
    ]:
        model = ConformalSequenceClassifier(MODEL, 0.5, target).conformalize(more_X, more_y)
        assert model.n_calibration_ == n
    assert model.predict_set([[]]).tolist() == [[]]
    model = ConformalSequenceClassifier(MODEL, 0.5).conformalize(more_X, more_y)
    assert model.predict_set([[], ["w1"]])[0] == [([], 1.0)]
    # Half of them have a label that the model does not know: it is missed, but a name.
    new = [["B-NEW", *labels[1:]] if i % 2 else labels for i, labels in enumerate(y)]
    for target in "labelling", "token", "recall":
        before, after = (
            ConformalSequenceClassifier(MODEL, 0.6, target, unit="span").conformalize(X, labels)
            if target == "recall"
            else ConformalSequenceClassifier(MODEL, 0.6, target).conformalize(X, labels)
            for labels in (y, [*y[:70], *new[70:]])
        )
        assert after.threshold_ <= before.threshold_
    assert plain.threshold_ > 0
    with pytest.raises(ValueError, match=r"50\.0% of the true labellings are not among"):
        ConformalSequenceClassifier(MODEL, 0.9, k=10**4).conformalize(
            X,
            [
                ["NEW" for _ in x] if i % 2 else labels
                for i, (x, labels) in enumerate(zip(X, y, strict=True))
            ],
        )


def test_probability_zero_is_named():
    X, y = [["a", "b"]] * 10 + [["b", "b"]], [["B-X", "O"]] * 10 + [["O", "O"]]
    zeros = EmpiricalCRF.ecrn().fit(X, y)
    new = [["b", "b"]] * 12, [["B-X", "O"]] * 12
    zero = zeros.predict_proba(new[0])[0][0][0]
    if zero == 0:
        with pytest.raises(ValueError, match=r"100.0% of the truth has the probability 0"):
            ConformalSequenceClassifier(zeros, 0.9, "recall").conformalize(*new)
    y = [["NEW" for _ in x] for x in new[0]]
    with pytest.raises(ValueError, match=r"100.0% of the truth has the probability 0; use a model"):
        ConformalSequenceClassifier(zeros, 0.9, "token").conformalize(new[0], y)


@for_each("target", ["labelling", "token", "recall"])
@for_each("model", [MODEL, CRF(dtype="float32", tol=0.1).fit(*TRAIN)])
def test_a_sequence_alone_has_the_set_that_it_has_among_others(model, target):
    X, y = taken(MORE, np.arange(200) % 20)  # each ten times: many scores are equal
    for level in 0.5, 0.75, 0.9:
        found = ConformalSequenceClassifier(model, level, target).conformalize(X, y)
        together = found.predict_set(X)
        for words, own in zip(X[:20], together[:20], strict=True):
            (alone,) = found.predict_set([words])
            if target == "labelling":
                assert [labels for labels, _ in alone] == [labels for labels, _ in own]
            else:
                assert np.array_equal(alone, own)
        assert np.mean(missed(found, X, y)) <= 1 - level


@for_each(
    "estimator",
    [
        CRF(max_iter=5, constraints="IOB2"),
        EmpiricalCRF(order=2),
        EmpiricalCRF(exponents="fit"),
        EmpiricalCRF(segments="counted"),
        LatticeCRF(max_iter=2, random_state=0),
        GridSearchCV(HMM(), {"smoothing": [0.1, 1.0]}, cv=2),
        make_pipeline(SequenceVectorizer(), CRF(max_iter=5)),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_any_classifier_can_make_promises(estimator):
    X, y = MORE
    for target in "labelling", "token", "recall":
        model = ConformalSequenceClassifier(estimator, 0.8, target).fit(*TRAIN)
        if target == "labelling" and getattr(estimator, "segments", None):
            continue
        model.conformalize(*taken(MORE, range(200)))
        risk = np.mean(missed(model, X[200:], y[200:]))
        assert risk <= 0.3
        assert model.predict(X[:9]).tolist() == model.estimator_.predict(X[:9]).tolist()
    for of_x in model.predict_spans(X[:50]):
        assert all(0 <= probability <= 1 for *_, probability in of_x)


def test_crfsuite():
    dicts = [[{"w": word} for word in words] for words in MORE[0]]
    model = ConformalSequenceClassifier(CRFsuiteCRF(c2=1.0), 0.8, "recall")
    model.fit(dicts[:100], MORE[1][:100]).conformalize(dicts[100:300], MORE[1][100:300])
    assert np.mean(missed(model, dicts[300:], MORE[1][300:])) < 0.3


def test_pipelines_clones_pickles_and_files(tmp_path):
    X, y = MORE
    model = ConformalSequenceClassifier(CRF(tol=0.1), 0.8, "recall")
    pipeline = make_sequence_pipeline(SequenceVectorizer(), model).fit(*TRAIN)
    assert pipeline.conformalize(X, y) is pipeline
    inside = ConformalSequenceClassifier(
        make_pipeline(SequenceVectorizer(), CRF(tol=0.1)), 0.8, "recall"
    )
    inside.fit(*TRAIN).conformalize(X, y)
    assert inside.threshold_ == pytest.approx(pipeline[-1].threshold_)
    found = inside.predict_spans(X[:20])
    assert [[span[:3] for span in of_x] for of_x in pipeline.predict_spans(X[:20])] == [
        [span[:3] for span in of_x] for of_x in found
    ]
    assert [list(own) for own in pipeline.predict_set(X[:20])] == [
        list(own) for own in inside.predict_set(X[:20])
    ]
    left_out = ConformalSequenceClassifier(EmpiricalCRF(), 0.8, cv="left_out").fit(*TRAIN)
    for fitted in inside, pipeline, left_out, clone(left_out).fit(*TRAIN).conformalize(X, y):
        save_model(fitted, tmp_path / "model.crcrf")
        for copied in (
            pickle.loads(pickle.dumps(fitted)),
            load_model(tmp_path / "model.crcrf").estimator,
        ):
            assert str(copied.predict_set(X[:20])) == str(fitted.predict_set(X[:20]))
    with pytest.raises(NotFittedError):
        clone(inside).predict_set(X)
    broken = pickle.dumps(inside)
    inside.threshold_ = -1.0
    with pytest.raises(ValueError, match="threshold_"):
        pickle.loads(pickle.dumps(inside))
    assert pickle.loads(broken).threshold_ > 0


def test_texts_are_redacted_as_promised():
    texts = [" ".join(words) for words in MORE[0]]
    spans = []
    for words, labels in zip(*MORE, strict=True):
        begins = np.cumsum([0, *(len(word) + 1 for word in words)]).tolist()
        spans.append(
            [
                (begins[t], begins[t] + len(words[t]), label[2:])
                for t, label in enumerate(labels)
                if label != "O"
            ]
        )
    tagger = TextTagger(ConformalSequenceClassifier(EmpiricalCRF(), 0.98, "recall"))
    tagger.fit(texts[:100], spans[:100]).conformalize(texts[100:300], spans[100:300])
    recall = tagger.estimator_
    assert recall.n_calibration_ == sum(map(bool, spans[100:300]))
    frozen = TextTagger(FrozenEstimator(recall)).fit([], [])
    for one in tagger, frozen:
        found = one.redact(texts[300:330], replace="#")
        for words, mask, made in zip(
            MORE[0][300:330], recall.predict_set(MORE[0][300:330]), found, strict=True
        ):
            kept = [word for word, is_hidden in zip(words, mask, strict=True) if not is_hidden]
            assert made.replace("#", "").split() == kept
        assert unwrap(one)[0] is recall


def test_inputs_of_all_kinds():
    X, y = taken(MORE, range(60))
    plain = ConformalSequenceClassifier(MODEL, 0.8, "token").conformalize(X, y)
    arrays = as_sequences(X).X, as_sequences(y).X
    assert clone(plain).fit(*arrays).conformalize(*arrays).predict_set(arrays[0]).data.ndim == 2
    frame = pd.concat({i: pd.DataFrame({"w": words}) for i, words in enumerate(X)})
    labels = np.concatenate(y)
    group = frame.index.get_level_values(0) // 2
    model = ConformalSequenceClassifier(EmpiricalCRF(), 0.8, "recall").fit(frame, labels)
    model.conformalize(frame, labels, groups=group)
    assert model.n_calibration_ == 30
    assert model.predict_set(frame).shape == (len(frame),)
    assert model.n_features_in_ == 1


def test_what_cannot_be_done_is_said():
    X, y = MORE
    model = ConformalSequenceClassifier(EmpiricalCRF(), 0.9, "recall")
    with pytest.raises(NotFittedError):
        model.conformalize(X, y)
    model.fit(*TRAIN)
    for method in model.predict_set, model.predict_spans:
        with pytest.raises(NotFittedError, match="call conformalize"):
            method(X)
    with pytest.raises(ValueError, match=r"needs 9 sequences with names or more .* there are 8"):
        model.conformalize(X[:1] * 8 + [["w10"]], [["B-PER"] * len(X[0])] * 8 + [["O"]])
    assert not hasattr(model, "threshold_")
    with pytest.raises(ValueError, match="needs 99 groups or more"):
        ConformalSequenceClassifier(MODEL, 0.99).conformalize(X, y, groups=np.arange(500) // 6)
    with pytest.raises(ValueError, match=r"needs 99 groups .* there are 1:"):
        ConformalSequenceClassifier(MODEL, 0.99).conformalize(X, y, groups=np.zeros(500))
    with pytest.raises(ValueError, match="groups must hold the group of each of 500"):
        model.conformalize(X, y, groups=[1, 2])
    with pytest.raises(ValueError, match='needs the label "O"'):
        tags = [["N"] * len(words) for words in X]
        ConformalSequenceClassifier(EmpiricalCRF(), 0.9, "recall").fit(X, tags).conformalize(
            X, tags
        )
    with pytest.raises(ValueError, match="must be a fitted sequence classifier"):
        ConformalSequenceClassifier(SequenceVectorizer()).fit(X, y)
    for name, value in {
        "confidence_level": 1.0,
        "target": "names",
        "unit": "word",
        "k": 0,
        "cv": "all",
    }.items():
        with pytest.raises(ValueError, match=name):
            clone(model).set_params(**{name: value}).fit(X, y)
        with pytest.raises(ValueError, match=name):
            ConformalSequenceClassifier(MODEL).set_params(**{name: value}).conformalize(X, y)


def test_a_fit_forgets_what_was_promised():
    model = ConformalSequenceClassifier(EmpiricalCRF(), 0.8).fit(*TRAIN).conformalize(*MORE)
    assert not hasattr(model.fit(*TRAIN), "threshold_")
    with pytest.raises(NotFittedError):
        model.predict_set(MORE[0])


@for_each(
    ("target", "name", "value"),
    [
        ("labelling", "confidence_level", 0.9),
        ("token", "target", "recall"),
        ("recall", "unit", "span"),
        ("labelling", "k", 9),
    ],
)
def test_what_is_promised_cannot_change_unnoticed(target, name, value):
    model = ConformalSequenceClassifier(MODEL, 0.8, target).conformalize(*MORE)
    assert model.promise_["target"] == target
    assert model.promise_["confidence_level"] == 0.8
    model.set_params(**{name: value})
    for method in model.predict_set, model.predict_spans:
        if model.target == "recall" or method == model.predict_set:
            with pytest.raises(ValueError, match="call conformalize again"):
                method(MORE[0][:3])
    assert len(model.conformalize(*MORE).predict_set(MORE[0][:3])) == 3
    assert model.promise_[name] == value


def test_folds_must_not_divide_groups():
    X, y = TRAIN
    with pytest.raises(ValueError, match="cv divides groups"):
        ConformalSequenceClassifier(EmpiricalCRF(), 0.8, cv=LeaveOneOut()).fit(
            X, y, groups=np.arange(150) // 2
        )


def test_searches_and_cross_validation_need_no_calibration():
    X, y = TRAIN
    model = ConformalSequenceClassifier(EmpiricalCRF(), 0.8)
    plain = cross_val_predict(EmpiricalCRF(), X, y, cv=3)
    assert cross_val_predict(model, X, y, cv=3).tolist() == plain.tolist()
    search = GridSearchCV(model, {"estimator__sigma": [0.5, 1.0]}, cv=2).fit(X, y)
    assert search.best_estimator_.conformalize(*MORE).threshold_ > 0
