"""Effects of training sequences, against fits without each of them."""

from collections import Counter

import numpy as np
import pytest
from cases import for_each
from counted_trees import make_trees
from numpy.testing import assert_allclose
from sklearn.pipeline import make_pipeline

from sklearn_crcrf import (
    CRF,
    HMM,
    EmpiricalCRF,
    GraphArray,
    SequenceVectorizer,
    Window,
    as_sequences,
    explain,
)
from sklearn_crcrf.base.batches import Batch
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.display import TrainingExamples
from sklearn_crcrf.display.notebook.examples import Decision, shared_evidence
from sklearn_crcrf.estimators.empirical import estimator as empirical

X, Y = make_addresses(16, random_state=0)
NEW = ["Main", "Jansweg", "12", ",", "Zwijndrecht", *X[3][-2:]]
LABELS = ["B-STREET", "I-STREET", "B-NUMBER", "O", "B-CITY", "B-POSTCODE", "I-POSTCODE"]
OTHERS = ["B-RECIPIENT", "I-RECIPIENT", "B-NUMBER", "O", "B-CITY", "B-POSTCODE", "I-POSTCODE"]


def rows_of(sequences):
    return [[{"word": w, "title": w.istitle(), "last": w[-1]} for w in s] for s in sequences]


def log_odds(crf, sequence, labels, against):
    """The log-odds of two labellings, or the log-probability of one, by their scores."""
    own = sequence if isinstance(sequence, GraphArray) else as_sequences([sequence]).X
    structure = crf._structure(own)
    scores = crf._scores(crf._prepare(own), Batch(0, structure.n_tokens, structure, 0))
    values = []
    for given in (labels, against):
        if given is None:
            values.append(structure.log_partition(scores)[0][0])
        elif not {*given} <= {*crf.classes_.tolist()}:
            values.append(-np.inf)
        else:
            y = np.searchsorted(crf.classes_, given).astype(np.int32)
            values.append(structure.score(scores, y)[0][0])
    return values[0] - values[1]


def without(data, i):
    chosen = [j for j in range(len(data)) if j != i]
    return data[np.array(chosen)] if isinstance(data, GraphArray) else [data[j] for j in chosen]


def check(model, train, y, new, decisions, weights=None):
    """Compare all effects with those of a fit without each sequence; return the last ones."""

    def fitted(*data):
        return type(model)(**model.get_params()).fit(*data)

    crf, n = fitted(train, y, weights), len(y)
    others = [
        fitted(without(train, i), without(y, i), None if weights is None else without(weights, i))
        for i in range(n)
    ]
    for labels, against in decisions:
        whole = log_odds(crf, new, labels, against)
        expected = [whole - log_odds(other, new, labels, against) for other in others]
        explanation = explain(crf, new, labels, against=against)
        options = {"sample_weight": weights, "n_candidates": None}
        examples = explanation.by_examples(train, y, n, **options)
        found = np.zeros(n)
        found[examples.sequences] = examples.effects
        assert_allclose(found, expected, atol=1e-10)
        assert examples.value == pytest.approx(whole, abs=1e-10)
        sizes = np.abs(examples.effects)
        assert (sizes[:-1] >= sizes[1:]).all()
    best = explanation.by_examples(train, y, 3, **options)
    assert best.sequences.tolist() == examples.sequences[:3].tolist()
    return examples


MODELS = [
    EmpiricalCRF(),
    EmpiricalCRF(sigma=2.0, mu_oov=1.5),
    EmpiricalCRF(order=2),
    EmpiricalCRF(order=3),
    EmpiricalCRF(segments="counted"),
    EmpiricalCRF(experts=["token[-1]", "token:shape[0]"]),
    EmpiricalCRF.ecrn(),
    EmpiricalCRF.maxent(),
    HMM(),
]


BOTH = [(LABELS, OTHERS), (LABELS, None)]


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_effects_are_differences_to_fits_without_the_sequence(model):
    check(model, X, Y, NEW, BOTH)


@pytest.mark.parametrize("model", [EmpiricalCRF(), HMM()], ids=repr)
def test_effects_of_columns_weights_and_unknown_labels(model):
    check(model, rows_of(X), Y, rows_of([NEW])[0], BOTH)
    check(model, X, Y, NEW, BOTH, weights=[float(i % 4) for i in range(len(X))])
    y = [
        [None if (i + t) % 5 == 0 else label for t, label in enumerate(s)] for i, s in enumerate(Y)
    ]
    check(model, X, [[None] * len(X[0]), *y[1:]], NEW, BOTH)


def test_effects_of_trees_and_of_a_sparse_matrix():
    trees, y = make_trees(16, seed=3)
    check(EmpiricalCRF(), trees, y, trees[[5]], [(y[5], None)])
    check(HMM(), trees, y, trees[[5]], [(y[5], None)])
    rows = [SequenceVectorizer().fit(rows_of(X)).transform([s]).data for s in rows_of(X)]
    check(EmpiricalCRF(), rows, Y, rows[7], [(Y[7], None)])


def test_effects_on_single_tokens():
    words = [[word] for s in X[:6] for word in s]
    labels = [["B" if label == "O" else "A"] for s in Y[:6] for label in s]
    check(EmpiricalCRF(), words, labels, ["Main"], [(["A"], ["B"]), (["A"], None)])


def test_a_label_that_only_one_sequence_has():
    y = [["B-CITY" if label == "B-POSTCODE" else label for label in labels] for labels in Y]
    y = [["I-CITY" if label == "I-POSTCODE" else label for label in labels] for labels in y]
    y[4] = [*y[4][:-1], "B-POSTCODE"]
    examples = check(EmpiricalCRF(), X, y, X[4], [(y[4], None)])
    assert examples.sequences[0] == 4 and examples.effects[0] == np.inf
    assert "+inf sequence 4" in str(examples)
    assert "+inf" in examples._repr_html_()


def test_rows_are_used_where_there_are_any(monkeypatch):
    def refuse(*arguments):
        raise AssertionError

    y = [["O" if label == "O" else "B" for label in labels] for labels in Y]  # all are frequent
    crf = EmpiricalCRF().fit(X, y)
    monkeypatch.setattr(EmpiricalCRF, "_estimate", refuse)
    assert len(explain(crf, NEW).by_examples(X, y).sequences) == 5
    monkeypatch.setattr(empirical, "has_rows", lambda estimator: False)
    with pytest.raises(AssertionError):
        explain(crf, NEW).by_examples(X, y)


def test_after_learning_and_forgetting_and_with_a_part_of_the_data():
    crf = EmpiricalCRF().fit(X[4:], Y[4:]).partial_fit(X[:4], Y[:4]).forget(X[10:12], Y[10:12])
    left = X[:10] + X[12:], Y[:10] + Y[12:]
    expected = explain(EmpiricalCRF().fit(*left), NEW, LABELS).by_examples(*left, 22)
    found = explain(crf, NEW, LABELS).by_examples(*left, 22)
    assert found.sequences.tolist() == expected.sequences.tolist()
    assert_allclose(found.effects, expected.effects, atol=1e-10)
    part = explain(crf, NEW, LABELS).by_examples(X[:5], Y[:5], 22)
    assert part.effects.tolist() == found.effects[found.sequences < 5].tolist()


def test_pipelines_show_the_words_and_not_their_windows():
    pipe = make_pipeline(Window(), EmpiricalCRF()).fit(rows_of(X), Y)
    examples = explain(pipe, rows_of([NEW])[0]).by_examples(rows_of(X), Y, 2)
    assert examples.tokens == [X[i] for i in examples.sequences]
    assert examples.labels == [Y[i] for i in examples.sequences]


def test_text_frame_and_html():
    examples = explain(EmpiricalCRF().fit(X, Y), NEW, LABELS, against=OTHERS).by_examples(X, Y, 2)
    assert isinstance(examples, TrainingExamples)
    first, second, *_ = str(examples).splitlines()
    assert first == f"log-odds {examples.value:+.3f}, to which training sequences add most:"
    assert second == f"{examples.effects[0]:+.3f} sequence {examples.sequences[0]}"
    frame = examples.to_frame()
    assert frame.columns.tolist() == ["sequence", "effect", "tokens", "labels"]
    assert frame.labels.tolist() == examples.labels
    html = examples._repr_html_()
    assert X[examples.sequences[0]][0] in html and f"{examples.effects[0]:+.3f}" in html


def test_words_and_labels_are_no_markup():
    evil = "<script>document.title='broken'</script>"
    words, labels = [[*X[0], evil], *X[1:]], [[*Y[0], evil], *Y[1:]]
    examples = explain(EmpiricalCRF().fit(words, labels), words[0]).by_examples(words, labels)
    assert examples.sequences[0] == 0 and "<script>" not in examples._repr_html_()
    assert evil in str(examples)


def test_candidates_share_the_rarest_attributes():
    crf = EmpiricalCRF().fit(X, Y)
    everything = explain(crf, NEW, LABELS).by_examples(X, Y, 16, n_candidates=None)
    few = explain(crf, NEW, LABELS).by_examples(X, Y, 16, n_candidates=6)
    assert len(few.sequences) == 6 and {*few.sequences} < {*everything.sequences}
    assert everything.sequences[0] in few.sequences


@for_each("against", [None, OTHERS])
def test_shared_evidence(against):
    crf = EmpiricalCRF().fit(X, Y)
    compared = Decision(None, None, LABELS, against).compared(crf.classes_)
    one, every = (crf._prepare(crf._check_X(data).X) for data in ([NEW], X))
    labels = np.concatenate([np.searchsorted(crf.classes_, own) for own in Y])
    wanted = {
        (row, label)
        for rows, own in zip(one.rows, compared, strict=True)
        for row in rows[rows >= 0]
        for label in np.flatnonzero(own)
    }
    events = [
        {(row, label) for row in rows} for rows, label in zip(every.rows, labels, strict=True)
    ]
    times = Counter(event for own in events for event in own)
    of_tokens = np.array([sum(1 / times[event] for event in own & wanted) for own in events])
    offsets = crf._check_X(X).X.offsets
    expected = np.add.reduceat(of_tokens, offsets[:-1])
    assert_allclose(shared_evidence(one, compared, every, labels, offsets), expected)


def test_labels_that_are_compared():
    decision, classes = Decision(None, None, ["D", "N", "V", "D"], None), np.array(["D", "N", "V"])
    assert decision.compared(classes).all()
    compared = decision._replace(against=["N", "N", "V", "D"]).compared(classes)
    assert compared.tolist() == [
        [True, True, False],
        [False, True, False],
        [False] * 3,
        [False] * 3,
    ]
    assert not decision._replace(against=decision.labels).compared(classes).any()


def test_errors():
    crf = EmpiricalCRF().fit(X, Y)
    explanation = explain(crf, NEW)
    with pytest.raises(ValueError, match="some of these sequences were never counted"):
        explanation.by_examples([*X, ["zebra"]], [*Y, ["O"]])
    with pytest.raises(ValueError, match="sequence 0 has"):
        explanation.by_examples(X, Y[1:] + Y[:1])
    with pytest.raises(ValueError, match=r"trained by counting, .* is a CRF"):
        explain(CRF(tol=0.1).fit(X, Y), NEW).by_examples(X, Y)
    with pytest.raises(ValueError, match="min_count=2"):
        explain(EmpiricalCRF(min_count=2).fit(X, Y), NEW).by_examples(X, Y)
    made = type(explanation)(
        explanation.tokens,
        explanation.labels,
        explanation.contributions,
        explanation.log_probability,
    )
    with pytest.raises(ValueError, match=r"an explanation that sklearn_crcrf\.explain made"):
        made.by_examples(X, Y)
