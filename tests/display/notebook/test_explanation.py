"""Entries of explanations add up to scores, and are what their names say."""

from functools import reduce
from itertools import pairwise

import numpy as np
import pytest
from cases import for_each
from read_scores import ReadScores
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from sklearn_crcrf import (
    CRF,
    HMM,
    MEMM,
    BoostedCRF,
    CRFsuiteCRF,
    EmpiricalCRF,
    LatticeCRF,
    MaxMarginCRF,
    OpinionPoolCRF,
    SequenceArray,
    SequenceVectorizer,
    StructuredPerceptron,
    TemplateFeatures,
    TokenFeatures,
    Window,
    explain,
)
from sklearn_crcrf.base.batches import Batch
from sklearn_crcrf.base.contributions import Contributions
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.display.notebook.explanation import Explanation
from sklearn_crcrf.display.notebook.single import single
from sklearn_crcrf.structures import Chain, HigherOrderChain, Lattice

X, Y = make_addresses(40, random_state=0)
DICTS = [[{"word": w, "shape": w.istitle(), "size": len(w)} for w in x] for x in X]
ROWS = [np.array([[len(w), w.istitle(), 1.0] for w in x]) for x in X]
SPARSE = SequenceVectorizer().fit_transform(X)

FAST = {"tol": 1e-3}
CASES = {
    "CRF": (CRF(**FAST), X),
    "CRF of dicts": (CRF(features="observed", boundaries=True, **FAST), DICTS),
    "CRF of rows": (CRF(**FAST), ROWS),
    "CRF of a sparse matrix": (CRF(c1=0.5, **FAST), SPARSE),
    "CRF with edges": (CRF(edge_columns=["shape"], **FAST), DICTS),
    "CRF with constraints": (CRF(constraints="IOB2", boundaries=True, **FAST), X),
    "MEMM": (MEMM(boundaries=True, edge_columns=["shape"], **FAST), DICTS),
    "MEMM with constraints": (MEMM(constraints="IOB2", **FAST), X),
    "HMM": (HMM(), X),
    "HMM of dicts": (HMM(), DICTS),
    "HMM of rows": (HMM(), ROWS),
    "HMM of a sparse matrix": (HMM(), SPARSE),
    "OpinionPoolCRF": (OpinionPoolCRF([("hmm", HMM()), ("empirical", EmpiricalCRF())]), X),
    "OpinionPoolCRF of pipelines": (
        OpinionPoolCRF(
            [
                ("shapes", make_pipeline(TokenFeatures(["shape"]), Window([-1, 0]), CRF(**FAST))),
                ("template", make_pipeline(TemplateFeatures("U:%x[0,0]\nB:%x[0,0]"), MEMM(**FAST))),
                ("perceptron", StructuredPerceptron(random_state=0)),
            ],
            weights=[0.5, 0.2, 0.3],
        ),
        X,
    ),
    "OpinionPoolCRF of trees": (
        OpinionPoolCRF([("trees", BoostedCRF(max_iter=3)), ("hmm", HMM())], weights=[2.0, 1.0]),
        ROWS,
    ),
    "StructuredPerceptron": (StructuredPerceptron(random_state=0), X),
    "StructuredPerceptron with edges": (
        StructuredPerceptron(boundaries=True, edge_columns=["shape"], random_state=0),
        DICTS,
    ),
    "MaxMarginCRF": (MaxMarginCRF(constraints="IOB2", tol=0.1, random_state=0), X),
    "BoostedCRF": (BoostedCRF(max_iter=5), ROWS),
    "BoostedCRF of a sparse matrix": (BoostedCRF(max_iter=2, constraints="IOB2"), SPARSE),
    **{
        f"EmpiricalCRF {spelling} {zeros}": (EmpiricalCRF(spelling=spelling, zeros=zeros), X)
        for spelling, zeros in [
            ("product", "smoothed"),
            ("product", "exact"),
            ("joint", "floored"),
            ("mean", "smoothed"),
            ("maxent", "floored"),
            ("maxent", "exact"),
        ]
    },
    "EmpiricalCRF with exponents": (
        EmpiricalCRF.ecrn(exponents={"edges": 0.5, "spelling": 0.3}, mu_oov=2.0),
        X,
    ),
    "EmpiricalCRF of dicts": (EmpiricalCRF(mu_oov=1.5), DICTS),
    "EmpiricalCRF of rows": (EmpiricalCRF(), ROWS),
    "EmpiricalCRF of a sparse matrix": (EmpiricalCRF(), SPARSE),
    "EmpiricalCRF of the second order": (EmpiricalCRF(order=2), X),
    "EmpiricalCRF of the third order": (EmpiricalCRF(order=3), X),
    "LatticeCRF": (LatticeCRF(1, random_state=0), X),
    "LatticeCRF of the third order": (LatticeCRF(3, max_iter=2, random_state=0), DICTS),
    "LatticeCRF without scores of candidates": (
        LatticeCRF(candidate_scores=False, threshold=0.01, max_iter=2, random_state=0),
        X,
    ),
}


def score(classifier, sequences, y):
    """By the structure, from the scores of all parts."""
    X = (
        sequences
        if isinstance(sequences, SequenceArray)
        else SequenceArray.from_sequences(sequences)
    )
    structure = classifier._structure(X)
    batch = Batch(0, len(y), structure, 0)
    scores = classifier._scores(classifier._prepare(X), batch)
    if isinstance(structure, HigherOrderChain | Lattice):
        (score,), _ = structure.score(scores, y)
        return score
    (score,), _ = Chain(X.offsets).score(scores, y)
    return score


@for_each("name", CASES)
def test_entries_add_up_to_the_score_of_the_path(name):
    model, data = CASES[name]
    n_trained = 20
    model.fit(data[:n_trained], Y[:n_trained])
    rng = np.random.default_rng(0)
    for i in (0, n_trained, n_trained + 1):
        sequence = data[i] if isinstance(data, list) else data[i : i + 1]
        predicted = model.predict(data[i : i + 1])[0]
        drawn = model.classes_[rng.integers(0, len(model.classes_), len(X[i]))]
        best = explain(model, sequence)
        found = best, explain(model, sequence, predicted), explain(model, sequence, drawn)
        for chosen, explanation in zip((predicted, predicted, drawn), found, strict=True):
            assert explanation.labels == list(chosen)
            y = np.searchsorted(model.classes_, chosen).astype(np.int32)
            expected = score(model, data[i : i + 1], y)
            scale = max(1.0, abs(expected)) if np.isfinite(expected) else 1.0
            assert explanation.score == pytest.approx(expected, abs=1e-9 * scale)
            assert explanation.token_scores.sum() == pytest.approx(expected, abs=1e-9 * scale)
        proba = np.exp(best.log_probability)
        assert proba == pytest.approx(model.confidence(data[i : i + 1])[0], abs=1e-9)


def test_the_score_of_single_precision_is_nearly_the_same():
    model = CRF(dtype="float32", **FAST).fit(X, Y)
    y = np.searchsorted(model.classes_, model.predict(X[:1])[0]).astype(np.int32)
    assert explain(model, X[0]).score == pytest.approx(score(model, X[:1], y), rel=1e-6)


def test_entries_are_the_weights_times_the_values_of_attributes():
    tokens = [{"w": "a", "n": 2.0}, {"w": "b"}]
    crf = CRF(boundaries=True, edge_columns=["n"])
    crf.fit([tokens, tokens[::-1]], [["A", "B"], ["B", "A"]])
    frame = explain(crf, tokens[::-1], ["B", "B"]).to_frame()
    names = crf.attribute_names_.tolist()
    coef = {name: crf.coef_[j, 1] for j, name in enumerate(names)}
    expected = {
        (0, "w=b"): (coef["w=b"], 1.0),
        (0, "start → B"): (crf.begin_[1], 1.0),
        (1, "w=a"): (coef["w=a"], 1.0),
        (1, "n"): (coef["n"], 2.0),
        (1, "B → B"): (crf.transitions_[1, 1], 1.0),
        (1, "B → B | n"): (crf.edge_coef_[0, 1, 1], 2.0),
        (1, "B → end"): (crf.end_[1], 1.0),
    }
    rows = frame[["position", "name", "weight", "factor"]].to_numpy().tolist()
    found = {(position, name): values for position, name, *values in rows}
    assert found.keys() == {k for k, (w, _) in expected.items() if w != 0}
    for key, values in found.items():
        assert values == pytest.approx(expected[key])


def test_entries_of_frequencies_are_their_logarithms():
    crf = EmpiricalCRF.ecrn().fit([["a", "b"], ["a", "b"]], [["A", "B"], ["B", "B"]])
    entries = explain(crf, ["a", "b"], ["A", "B"]).contributions
    # p(A | a) = 1/2; p(B | b) = 1 adds nothing; CR(A; B | a, b) = 1/2 / (1/2 * 1) adds nothing.
    assert entries.name.tolist() == ["token[0]=a"]
    assert entries.value.tolist() == pytest.approx([np.log(0.5)])


def test_factors_of_smoothed_rates_are_exponents():
    crf = EmpiricalCRF(mu_oov=1.5).fit(X, Y)
    exponents = crf.exponents_
    known = explain(crf, X[0]).to_frame().set_index("name")
    assert known.factor[f"token[0]={X[0][0]}"] in (exponents["word"], exponents["word/seldom"])
    assert known.factor[f"start → {Y[0][0]}"] == exponents["boundary"]
    unknown = explain(crf, ["Xyzzyville"]).to_frame().set_index("name")
    assert unknown.factor["token:shape[0]=Xx"] == 1.5 * exponents["shape/unseen"]
    rows = crf.attribute_names_.tolist()
    label = crf.classes_.tolist().index(explain(crf, ["Xyzzyville"]).labels[0])
    row = rows.index("token:shape[0]=Xx")
    assert unknown.weight["token:shape[0]=Xx"] == crf.coef_[[row]].toarray()[0, label]


@pytest.mark.parametrize("model", [CRF(**FAST), EmpiricalCRF(), MEMM(**FAST)])
def test_differences_add_up_to_the_logarithm_of_the_ratio_of_probabilities(model):
    model.fit(X, Y)
    (best, p), (second, q) = model.predict_k_best(X[:1], k=2)[0]
    explanation = explain(model, X[0], against=second)
    assert explanation.labels == best
    assert explanation.score == pytest.approx(np.log(p) - np.log(q), abs=1e-9)
    assert explain(model, X[0], best, against=best).contributions.name.size == 0
    same = [t for t, (a, b) in enumerate(zip(best, second, strict=True)) if a == b and t]
    entries = explanation.contributions
    if isinstance(model, CRF) and not isinstance(model, MEMM):
        kinds = {k for k, t in zip(entries.kind, entries.position, strict=True) if t in same}
        assert kinds <= {"transition"}
    swapped = explain(model, X[0], second, against=best)
    assert swapped.score == pytest.approx(-explanation.score)


def test_what_is_impossible_says_so():
    crf = CRF(constraints="IOB2", **FAST).fit(X, Y)
    inside = next(label for label in crf.classes_ if label.startswith("I-"))
    explanation = explain(crf, X[0], [inside] * len(X[0]))
    assert explanation.score == -np.inf
    assert explanation.log_probability == -np.inf
    entry = explanation.contributions
    assert entry.name[np.isneginf(entry.value)].tolist() == [f"start → {inside}"]
    assert "-inf" in str(explanation)
    assert explain(crf, X[0], against=[inside] * len(X[0])).score == np.inf


def test_a_classifier_that_says_nothing_of_its_scores_has_an_entry_for_each():
    crf = ReadScores().fit([np.zeros((3, 3))], [["A", "B", "C"]])
    explanation = explain(crf, np.array([[1.0, 2.0, 3.0], [0.5, 0.0, 0.0]]), ["B", "A"])
    entries = explanation.contributions
    assert list(zip(entries.name, entries.value.tolist(), strict=True)) == [
        ("state score", 2.0),
        ("start → B", 0.2),
        ("state score", 0.5),
        ("B → A", 1.0),
    ]
    assert explanation.tokens == ["0", "1"]
    assert explanation.score == pytest.approx(2.0 + 0.2 + 0.5 + 1.0)


def test_trees_have_a_score_for_each_token_and_transitions():
    model = BoostedCRF(max_iter=5).fit(ROWS, Y)
    entries = explain(model, ROWS[0]).contributions
    state = entries.kind == "attribute"
    assert set(entries.name[state]) == {"state score"} and state.sum() == len(ROWS[0])
    ids = np.searchsorted(model.classes_, Y[0])
    entries = explain(model, ROWS[0], Y[0]).contributions
    pairs = [f"{a} → {b}" for a, b in pairwise(Y[0])]
    assert entries.name[entries.kind == "transition"].tolist() == pairs
    values = entries.value[entries.kind == "transition"]
    assert values.tolist() == model.transitions_[ids[:-1], ids[1:]].tolist()


def test_the_labels_of_a_vote_have_the_score_of_their_path():
    model = StructuredPerceptron(averaging="vote", random_state=0).fit(X[:20], Y[:20])
    for x in X[20:30]:
        labels = model.predict([x])[0]
        y = np.searchsorted(model.classes_, labels).astype(np.int32)
        expected = score(model, [x], y)
        assert explain(model, x).labels == labels
        assert explain(model, x).score == pytest.approx(expected, abs=1e-9)


def test_pipelines_and_searches_are_looked_into():
    steps = TokenFeatures(["shape"]), Window([-1, 0, 1]), CRF(**FAST)
    pipeline = make_pipeline(*steps).fit(X, Y)
    explanation = explain(pipeline, X[0])
    assert explanation.tokens == X[0]
    assert explanation.labels == list(pipeline.predict(X[:1])[0])
    assert any(name.startswith("shape") for name in explanation.contributions.name)
    vectors = make_pipeline(*steps[:2], SequenceVectorizer(), CRF(**FAST)).fit(X, Y)
    found, expected = (explain(model, X[0]).contributions for model in (vectors, pipeline))
    assert set(found.name) == set(expected.name)
    assert found.value.sum() == pytest.approx(expected.value.sum(), rel=1e-3)
    search = GridSearchCV(EmpiricalCRF(), {"mu_oov": [1.0]}, cv=2).fit(X, Y)
    assert str(explain(search, X[0])) == str(explain(search.best_estimator_, X[0]))
    suite = CRFsuiteCRF().fit([[{"w": w} for w in x] for x in X], Y)
    explanation = explain(suite, [{"w": w} for w in X[0]])
    assert explanation.tokens == X[0]
    assert f"w:{X[0][0]}" in explanation.contributions.name
    with pytest.raises(ValueError, match="estimator must be a fitted sequence classifier"):
        explain(make_pipeline(TokenFeatures(["shape"])).fit(X), X[0])


def test_experts_of_a_pool_are_weighted():
    experts = [("hmm", HMM()), ("empirical", EmpiricalCRF())]
    pool = OpinionPoolCRF(experts, weights=[0.25, 0.75]).fit(X, Y)
    frame = explain(pool, X[0]).to_frame().set_index("name")
    hmm = explain(pool.estimators_[0], X[0], explain(pool, X[0]).labels).to_frame()
    once = hmm[~hmm["name"].duplicated(keep=False)]
    assert len(once) > 0
    for name, weight in zip(once["name"], once["weight"], strict=True):
        assert frame.weight[f"hmm: {name}"] == weight
        assert frame.factor[f"hmm: {name}"] == 0.25


def test_what_is_predicted_is_explained():
    for model in (CRF(decoding="marginal", **FAST), StructuredPerceptron(averaging="vote")):
        model.fit(X[:20], Y[:20])
        assert all(explain(model, x).labels == list(model.predict([x])[0]) for x in X[20:30])


def test_frames_and_sequence_arrays_hold_one_sequence():
    pd = pytest.importorskip("pandas")
    model = EmpiricalCRF().fit(X, Y)
    one = SequenceArray.from_sequences(X[:1])
    assert str(explain(model, one)) == str(explain(model, X[0]))
    with pytest.raises(ValueError, match="a single sequence, but there are 2"):
        explain(model, SequenceArray.from_sequences(X[:2]))
    index = pd.MultiIndex.from_product([[0], range(len(X[0]))])
    frame = pd.DataFrame({"token": X[0]}, index=index)
    model = EmpiricalCRF().fit(frame, Y[0])
    assert explain(model, frame).tokens == X[0]


def test_labels_must_fit():
    model = EmpiricalCRF().fit(X, Y)
    with pytest.raises(ValueError, match="there are 2 tokens, but 1 labels"):
        explain(model, ["a", "b"], ["O"])
    endless = reduce(lambda inner, _: (inner,), range(200_000), "N")
    with pytest.raises(ValueError, match=r"against, position 0: .* is not among"):
        explain(model, ["a", "b"], against=[endless, "O"])
    with pytest.raises(ValueError, match="against, position 1: 'no' is not among"):
        explain(model, ["a", "b"], against=["O", "no"])
    with pytest.raises(ValueError, match="2 tokens, but 1 names of tokens"):
        explain(model, ["a", "b"], tokens=["x"])


def test_an_empty_sequence_has_nothing_to_explain():
    for model in (CRF(**FAST), EmpiricalCRF(), EmpiricalCRF.ecrn(), HMM(), MEMM(**FAST)):
        explanation = explain(model.fit(X, Y), [])
        assert explanation.score == 0.0
        assert explanation.log_probability == 0.0
        assert len(explanation.to_frame()) == 0
        assert explanation._repr_html_()


def test_only_the_entries_that_add_most_are_listed_one_by_one():
    entries = Contributions.of(
        "attribute", 0, [f"a{i}" for i in range(8)], np.arange(8) - 2.5, np.ones(8)
    )
    text = str(Explanation(["x"], ["A"], entries, np.log(0.25)))
    assert text.splitlines() == [
        "score 8.000, probability 0.25",
        "x A +8.000",
        "  +4.500 a7",
        "  +3.500 a6",
        "  -2.500 a0",
        "  +2.500 a5",
        "  -1.500 a1",
        "  +1.500 3 others",
    ]


def test_tokens_are_shown_by_the_column_of_the_words():
    words = [["dog", "walks", "home"], ["a", "cat", "sleeps"], ["birds", "sing", "well"]]
    X = [[{"shape": "x", "word": word} for word in sentence] for sentence in words]
    model = EmpiricalCRF(order=1).fit(X, [["D", "N", "V"]] * 3)
    assert model.observation_ == "word"
    for sequence in (X[0], SequenceArray.from_sequences(X)[:1]):
        assert single(model, sequence).tokens == words[0]
