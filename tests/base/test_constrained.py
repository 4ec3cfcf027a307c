"""Prediction under constraints, against the enumeration of all labellings."""

import numpy as np
import pandas as pd
import pytest
from enumerated import Enumerated
from global_constraints import constraints, is_satisfied
from hypothesis import given
from hypothesis import strategies as st
from read_scores import ReadScores, enumerate_paths, fitted
from sklearn.pipeline import make_pipeline
from test_docstrings import ARGUMENTS, ESTIMATORS

from sklearn_crcrf import (
    CRF,
    EmpiricalCRF,
    GraphArray,
    LatticeCRF,
    SequenceArray,
    SequenceVectorizer,
    StructuredPerceptron,
    TokenFeatures,
)
from sklearn_crcrf.base import batches
from sklearn_crcrf.labels import (
    AtLeast,
    AtMost,
    AtMostSegments,
    Exactly,
    Implies,
    Linear,
    OneSegment,
    SameLabel,
)
from sklearn_crcrf.structures import Unsupported


@given(st.lists(st.integers(0, 4), max_size=4), st.integers(1, 20), st.data())
def test_the_best_labels_that_satisfy_constraints(lengths, chunk, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    X = [rng.normal(size=(n, 3)).round(1) for n in lengths]
    several = data.draw(st.lists(constraints(lengths), max_size=3))
    best = []
    for i, s in enumerate(X):
        paths, values = enumerate_paths(s)
        labels = [["ABC"[j] for j in path] for path in paths]
        fine = [all(is_satisfied(c, i, path) for c in several) for path in labels]
        best.append(values[fine].max(initial=-np.inf))
    before, batches.CHUNK = batches.CHUNK, chunk
    try:
        predicted = fitted().predict(X, subject_to=several)
    except ValueError as error:
        assert str(error).startswith(f"X, sequence {best.index(-np.inf)}: no possible labels")
        return
    finally:
        batches.CHUNK = before
    for i, (s, labels) in enumerate(zip(X, predicted, strict=True)):
        assert all(is_satisfied(c, i, labels) for c in several)
        paths, values = enumerate_paths(s)
        found = values[(paths == [*map("ABC".index, labels)]).all(axis=1)]
        np.testing.assert_allclose(found, best[i], atol=1e-9)


X = [["the", "dog", "walks"], ["a", "cat", "sleeps"], ["dogs", "sleep"], ["a", "dog", "sleeps"]]
y = [["D", "N", "V"], ["D", "N", "V"], ["N", "V"], ["D", "N", "V"]]
INPUTS = {
    "BoostedCRF": [np.array([[len(w), w[-1] == "s"] for w in words], float) for words in X],
    "CRFsuiteCRF": [[["word=" + word] for word in words] for words in X],
}


PREDICTING = [name for name, kind in ESTIMATORS.items() if hasattr(kind, "predict")]
# Its structure has scores of segments, and no scores of labels to constrain.
OWN_SCORES = ("SemiMarkovCRF",)
OTHER_DATA = ("SequenceLabelModel", "TextTagger")  # of votes, and of texts
SCORED = [name for name in PREDICTING if name not in OWN_SCORES + OTHER_DATA]


@pytest.mark.parametrize("name", OWN_SCORES)
def test_scores_of_other_structures_cannot_be_constrained(name):
    estimator = ESTIMATORS[name]().fit(X, y)
    with pytest.raises(Unsupported, match="subject_to needs first-order scores"):
        estimator.predict(X, subject_to=[AtLeast("D", 1)])


@pytest.mark.parametrize(
    "name", [name for name in PREDICTING if name not in OWN_SCORES + OTHER_DATA]
)
def test_every_estimator_takes_constraints(name):
    estimator = ESTIMATORS[name](**ARGUMENTS.get(name, {}))
    if name == "LatticeCRF":
        estimator.set_params(threshold=1e-12)  # so that all labels are candidates
    rows = INPUTS.get(name, X)
    quick = {"cv": 2, "max_iter": 10} if name == "BoostedCRF" else {"cv": 2, "exponent": 0.5}
    estimator.set_params(**{key: quick[key] for key in quick.keys() & estimator.get_params()})
    estimator.fit(rows, y)
    label, free = next(iter(estimator.classes_)), estimator.predict(rows)
    for k in (1, 2):
        predicted = estimator.predict(rows, subject_to=[AtLeast(label, k)])
        assert all(list(labels).count(label) >= k for labels in predicted)
    kept = estimator.predict(rows, subject_to=[AtLeast(label, 0)])
    assert kept.tolist() == free.tolist()
    for method in ("predict_proba", "predict_log_proba"):
        if hasattr(estimator, method):
            with pytest.raises(ValueError, match=f"^{method} has no probabilities under constr"):
                getattr(estimator, method)(rows, subject_to=[AtLeast(label, 1)])


def test_only_sequences_that_break_a_constraint_change():
    crf, sequences = CRF().fit(X, y), [["the", "dog"], ["dog", "walks"], ["walks"]]
    free = crf.predict(sequences).tolist()
    predicted = crf.predict(sequences, subject_to=[AtMost("N", 0)]).tolist()
    assert not any("N" in labels for labels in predicted)
    assert ["N" in labels for labels in free] == [
        a != b for a, b in zip(free, predicted, strict=True)
    ]


def test_a_frame_whose_sequences_are_samples():
    index = pd.MultiIndex.from_tuples([("b", 1), ("a", 0), ("b", 0), ("a", 1), ("b", 2)])
    frame = pd.DataFrame({"word": ["dog", "dogs", "the", "sleep", "walks"]}, index=index)
    crf = CRF(sample_unit="token").fit(frame, ["N", "N", "D", "V", "V"])
    assert crf.predict(frame).tolist() == ["N", "N", "D", "V", "V"]
    at_least = crf.predict(frame, subject_to=[AtLeast("D", 1)])
    assert at_least[[2, 0, 4]].tolist() == ["D", "N", "V"]
    assert "D" in at_least[[1, 3]]
    groups = pd.Series(["x", None, None, None, "x"], index=index)
    same = crf.predict(frame, subject_to=[SameLabel(groups)])
    assert same[0] == same[4]
    assert same[[1, 3]].tolist() == ["N", "V"]


def test_rows_are_samples_of_one_token():
    rows = np.array([[0.0], [1.0], [2.0]])
    crf = CRF().fit(rows, ["a", "b", "c"])
    assert set(crf.predict(rows, subject_to=[AtMost("c", 0)])) <= {"a", "b"}


def test_pipelines_pass_constraints_on():
    pipeline = make_pipeline(TokenFeatures(["shape"]), SequenceVectorizer(), CRF()).fit(X, y)
    predicted = pipeline.predict(X, subject_to=[Exactly("N", 2)])
    assert [list(labels).count("N") for labels in predicted] == [2] * 4


class ReadTrees(ReadScores):
    """Scores are read from the nodes of trees."""

    def _structure(self, X):
        return Enumerated(X.offsets, *X.token_edges.T)


def test_children_of_a_parent():
    parents = [[-1, 0, 0, 2, 2], [-1], [1, -1]]
    rows = [np.tile([8.0, 1.0, 0.0], (len(of), 1)) for of in parents]
    rows[0][1, 0] = 12.0
    X = GraphArray.from_parents(rows, parents)
    trees = ReadTrees().fit([np.zeros((3, 3))], [["A", "B", "C"]])
    free = trees.predict(X).tolist()
    assert [labels.count("A") for labels in free] == [5, 1, 2]
    predicted = trees.predict(X, subject_to=[AtMost("A", 1, per="parent")]).tolist()
    assert predicted[1:] == free[1:]
    assert predicted[0][:2].count("A") == 2
    assert predicted[0][2] != "A" and predicted[0][3:].count("A") == 1


def test_allowed_labels_and_constraints():
    crf = CRF().fit(X, y)
    labels = crf.predict(X[:1], allowed=[["V", None, None]], subject_to=[AtMost("V", 1)])[0]
    assert labels[0] == "V"
    assert labels.count("V") == 1


def test_labels_of_a_vote():
    perceptron = StructuredPerceptron(averaging="vote", random_state=0).fit(X, y)
    free, some = perceptron.predict(X), [["x"] * 3, [None] * 3, [1, 2], [None] * 3]
    predicted = perceptron.predict(X, subject_to=[AtMost("N", 0, per=some)])
    assert not any("N" in predicted[i] for i in (0, 2))
    assert predicted[[1, 3]].tolist() == free[[1, 3]].tolist()


def test_labels_of_the_best_marginals():
    crf = CRF(decoding="marginal").fit(X, y)
    predicted = crf.predict(X, subject_to=[AtMost("N", 0)])
    paths = crf.set_params(decoding="viterbi").predict(X, subject_to=[AtMost("N", 0)])
    assert predicted.tolist() == paths.tolist()


def test_tokens_have_their_best_labels_where_no_path_is_possible():
    crf = EmpiricalCRF.ecrn(zeros="exact").fit([["a", "b"], ["c", "d"]], [["A", "B"], ["C", "D"]])
    impossible = [["a", "d", "a"]]
    assert crf.confidence(impossible) == [0.0]
    free = crf.predict(impossible)[0]
    assert free == ["A", "D", "A"]
    assert crf.predict(impossible, subject_to=[AtMost("A", 2), AtMost("B", 0)])[0] == free
    with pytest.raises(ValueError, match=r"^X, sequence 0: no possible labels satisfy subject_to"):
        crf.predict(impossible, subject_to=[AtMost("A", 1)])


@pytest.mark.parametrize("order", [2, 3])
def test_scores_of_higher_order(order):
    crf = EmpiricalCRF(order=order).fit(X, y)
    assert max(labels.count("N") for labels in crf.predict(X)) == 1
    found = crf.predict(X, subject_to=[Exactly("N", 2)])
    assert all(labels.count("N") == 2 for labels in found)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_labels_of_lattices_are_candidates(order):
    crf = LatticeCRF(order, threshold=1e-12, random_state=0).fit(X, y)
    assert max(labels.count("N") for labels in crf.predict(X)) == 1
    found = crf.predict(X, subject_to=[Exactly("N", 2)])
    assert all(labels.count("N") == 2 for labels in found)
    narrow = LatticeCRF(order, threshold=0.9, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"^X, sequence 0: no possible labels satisfy subject_to"):
        narrow.predict(X, subject_to=[Exactly("N", 2)])


@pytest.mark.parametrize(
    ("several", "needed"),
    [
        ([AtMost("D", 9), Exactly("N", 2), AtLeast("N", 3), AtMost("V", 0)], [2]),
        ([Implies("N", "D"), AtLeast("N", 1), AtMost("V", 9), Exactly("D", 0)], [0, 1, 3]),
        ([Exactly("V", 3), Linear({"N": 1.0}, lower=3)], [1]),
        ([AtMost("V", 3), SameLabel("sample"), AtLeast("N", 1), AtMost("V", 0)], [1, 2]),
        ([Exactly("N", 1), AtLeast("V", 3)], [0, 1]),
    ],
)
def test_the_reason_is_minimal(several, needed):
    crf = CRF(constraints={"N": ["V"]}).fit(X, y)  # so of three labels at most two are N
    with pytest.raises(ValueError, match=r"^X, sequence 0: no possible labels satisfy ") as raised:
        crf.predict(X[:2], subject_to=several)
    reason = " and ".join(f"subject_to[{i}], {several[i]}" for i in needed)
    assert str(raised.value).endswith(f"satisfy {reason}")


def test_the_reason_may_be_what_is_allowed():
    crf = CRF().fit(X, y)
    with pytest.raises(ValueError, match=r"^X, sequence 1: .* satisfy subject_to\[0\], AtLeast"):
        crf.predict(X[:2], allowed=[[None] * 3, ["D"] * 3], subject_to=[AtLeast("V", 1)])


@pytest.mark.parametrize(
    ("subject_to", "message"),
    [
        (AtMost("N", 1), r"^subject_to must be a list of constraints, such as \[AtMost"),
        (
            [AtMost("N", 1), "IOB2"],
            r"^subject_to\[1\] must be a constraint of sklearn_crcrf.labels",
        ),
        ([AtMost("X", 1)], r"^subject_to\[0\]: the label 'X' is not among the classes"),
        ([AtMost("N", 1, per="parent")], r"^subject_to\[0\].per=\"parent\" needs tokens that have"),
        ([SameLabel(X[:1])], r"^X has 4 sequences, but subject_to\[0\].groups has 1"),
    ],
)
def test_what_are_no_constraints_on_X(subject_to, message):
    with pytest.raises(ValueError, match=message):
        CRF().fit(X, y).predict(X, subject_to=subject_to)


def test_nothing_in_nothing_out():
    assert len(fitted().predict([], subject_to=[AtLeast("A", 1)])) == 0
    empty = SequenceArray(np.zeros((0, 3)), [0, 0])
    assert fitted().predict(empty, subject_to=[AtLeast("A", 1)]).lengths.tolist() == [0]


def test_k_best_paths_and_their_probabilities_under_limits_of_segments():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(n, 3)).round(1) * 2 for n in (0, 1, 3, 5)]
    for several in ([OneSegment()], [AtMostSegments("A", 1), AtMostSegments(per="sample", k=3)]):
        best = fitted().predict_k_best(X, k=4, subject_to=several)
        confidence = fitted().confidence(X, subject_to=several)
        free = fitted().predict(X, subject_to=several)
        for i, s in enumerate(X):
            paths, values = enumerate_paths(s)
            labels = [["ABC"[j] for j in path] for path in paths]
            fine = [all(is_satisfied(c, i, path) for c in several) for path in labels]
            p = np.where(fine, np.exp(values), 0.0)
            order = np.argsort(-p, kind="stable")[: min(4, sum(fine))]
            found = [probability for _, probability in best[i]]
            np.testing.assert_allclose(found, p[order] / p.sum(), rtol=1e-6)
            assert [path for path, _ in best[i]] == [labels[j] for j in order]
            assert confidence[i] == pytest.approx(found[0])
            assert free[i] == best[i][0][0]


def test_probabilities_are_only_under_limits_of_segments():
    crf = CRF().fit(X, y)
    with pytest.raises(ValueError, match="only under constraints on segments"):
        crf.predict_k_best(X, subject_to=[OneSegment(), AtMost("N", 1)])
    with pytest.raises(ValueError, match="only under constraints on segments"):
        EmpiricalCRF(order=2).fit(X, y).confidence(X, subject_to=[OneSegment()])
    found = crf.predict_k_best([["the", "dog"]], subject_to=[AtMostSegments(k=0)])
    assert found == [[]]
    assert crf.confidence([["the", "dog"]], subject_to=[AtMostSegments(k=0)]) == [0.0]
    with pytest.raises(ValueError, match=r"no possible labels satisfy subject_to\[0\], AtMostSegm"):
        crf.predict([["the", "dog"]], subject_to=[AtMostSegments(k=0)])
    pipeline = make_pipeline(TokenFeatures(["shape"]), SequenceVectorizer(), CRF()).fit(X, y)
    assert pipeline.predict(X, subject_to=[OneSegment()]).tolist() == y


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AtMostSegments(k=-1), "k must be an integer of 0 or more"),
        (lambda: OneSegment(per="parent"), 'per must be "label" or "sample"'),
        (lambda: OneSegment(scheme="BIO"), "scheme must be one of auto, IOB1"),
        (lambda: OneSegment([]), "types must not be empty"),
        (lambda: CRF().fit(X, y).predict(X, subject_to=[OneSegment("Q")]), "the type 'Q' is not"),
        (
            lambda: CRF().fit(X, y).predict(X, subject_to=[OneSegment(scheme="IOB2")]),
            r"subject_to\[0\]: label 'D' does not fit the scheme IOB2",
        ),
        (
            lambda: CRF().fit([["a"]], [["O"]]).predict([["a"]], subject_to=[OneSegment()]),
            "no label is of a segment",
        ),
    ],
)
def test_what_are_no_limits_of_segments(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_segments_are_of_sequences():
    trees = ReadTrees().fit([np.zeros((3, 3))], [["A", "B", "C"]])
    X = GraphArray.from_parents([np.zeros((3, 3))], [[-1, 0, 0]])
    with pytest.raises(ValueError, match="segments are of sequences, but X has trees or graphs"):
        trees.predict(X, subject_to=[OneSegment()])


@pytest.mark.parametrize("order", [2, 3])
def test_segments_with_scores_of_higher_order(order):
    crf = EmpiricalCRF(order=order).fit(X, y)
    sequences = [["the", "dog", "walks", "the", "dog", "walks"]]
    assert crf.predict(sequences)[0].count("D") == 2
    (found,) = crf.predict(sequences, subject_to=[OneSegment()])
    runs = [label for label, before in zip(found, [None, *found], strict=False) if label != before]
    assert len(runs) == len(set(runs))
