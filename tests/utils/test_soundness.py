"""What does not fit together is refused when it is loaded, and never reaches a kernel."""

import copy
import pickle
from collections.abc import Iterator
from functools import partial, reduce
from itertools import islice

import numpy as np
import pytest
import scipy.sparse as sp
from cases import for_each
from damage import changed, damages, found_in_fork, parts_of
from forks import needs_fork
from toy import make_corpus

from sklearn_crcrf import (
    CRF,
    HMM,
    MEMM,
    AssociativeMarkovNetwork,
    BoostedCRF,
    CalibratedSequenceClassifier,
    ConformalSequenceClassifier,
    CRFsuiteCRF,
    EmpiricalCRF,
    EmpiricalCRFCV,
    FeatureInduction,
    Gazetteer,
    GraphArray,
    GraphCRF,
    LatticeCRF,
    MaxMarginCRF,
    OpinionPoolCRF,
    OutputCodeCRF,
    SegmentF1Classifier,
    SemiMarkovCRF,
    SemiSupervisedClassifier,
    SeparateCRF,
    SequenceLabelModel,
    SequenceVectorizer,
    StructuredPerceptron,
    Window,
    WordVectors,
)
from sklearn_crcrf.data.symbols import SymbolTable
from sklearn_crcrf.data.vocabulary import JoinedStrings, Vocabulary
from sklearn_crcrf.estimators.opinion_pool import MergedLabels, RandomAttributes
from sklearn_crcrf.estimators.semi_markov import SegmentFeatures, SegmentGazetteer
from sklearn_crcrf.labels import convert_scheme
from sklearn_crcrf.utils.soundness import Array, check_sound

X, y = make_corpus(n_sequences=8)
OF_SEGMENTS = {"A": "O", "B": "I-X", "C": "I-Y", "D": "B-X"}
SEGMENTS = convert_scheme([[OF_SEGMENTS[i] for i in labels] for labels in y], "IOB1", "IOB2")
DICTS = [[{"w": w, "n": float(len(w))} for w in x] for x in X]
ROWS = [np.array([[len(w), w.count("a"), w.count("n")] for w in x], dtype=float) for x in X]
SPARSE = [sp.csr_array(x) for x in ROWS]
TREES = GraphArray.from_parents(X, [[-1, *[0] * (len(x) - 1)] for x in X], edge_type=X)
RINGS = [[(t, (t + 1) % len(x)) for t in range(len(x)) if len(x) > 2] for x in X]
TYPES = [["near" if a < b else "far" for a, b in edges] for edges in RINGS]
GRAPHS = GraphArray.from_edges(X, RINGS, TYPES)
GRAPHS_OF_ROWS = GraphArray.from_edges(ROWS, RINGS, TYPES)
VECTORS = {X[0][0]: [0.0, 1.0], "other": [1.0, 0.0]}
EMPIRICAL = {
    f"EmpiricalCRF {spelling} {zeros}": (EmpiricalCRF(spelling=spelling, zeros=zeros), X)
    for spelling, zeros in [
        ("product", "exact"),
        ("joint", "floored"),
        ("mean", "exact"),
        ("maxent", "floored"),
    ]
}
MODELS = {
    "HMM": (HMM(), X),
    "HMM dicts": (HMM(), DICTS),
    "HMM sparse": (HMM(transition_smoothing=0.0), SPARSE),
    "MEMM": (MEMM(max_iter=2, tol=1.0), X),
    "CRF": (CRF(max_iter=2, tol=1.0), X),
    "CRF sparse": (CRF(max_iter=2, tol=1.0, c1=1e-3, constraints={"A": list("ABCD")}), SPARSE),
    "CRF rows": (CRF(max_iter=2, tol=1.0, min_freq=2, dtype="float32", boundaries=True), ROWS),
    "CRF edges": (CRF(max_iter=2, tol=1.0, edge_columns=["w"]), DICTS),
    "CRF trees": (CRF(max_iter=2, tol=1.0), TREES),
    "EmpiricalCRF trees": (EmpiricalCRF(), TREES),
    "EmpiricalCRF graphs": (EmpiricalCRF(), GRAPHS),
    "HMM trees": (HMM(), TREES),
    "GraphCRF": (GraphCRF(max_iter=2, tol=1.0), GRAPHS),
    "GraphCRF rows": (GraphCRF(max_iter=2, tol=1.0, symmetric=True), GRAPHS_OF_ROWS),
    "AssociativeMarkovNetwork": (AssociativeMarkovNetwork(max_iter=2), GRAPHS),
    "SeparateCRF": (SeparateCRF(exponent=0.5), GRAPHS),
    "SeparateCRF trees": (SeparateCRF(exponent=0.5), TREES),
    "SeparateCRF pairs": (SeparateCRF(exponent=0.5, pairs="maxent"), GRAPHS),
    "SeparateCRF pairs of rows": (
        SeparateCRF(exponent=0.5, pairs=CRF(max_iter=2, tol=1.0), edge_columns=[0]),
        ROWS,
    ),
    "MaxMarginCRF": (MaxMarginCRF(max_iter=2, tol=1e3), X),
    "StructuredPerceptron": (StructuredPerceptron(max_iter=2), X),
    "StructuredPerceptron vote": (
        StructuredPerceptron(averaging="vote", boundaries=True, max_iter=2),
        X,
    ),
    "BoostedCRF": (BoostedCRF(max_iter=2), ROWS),
    "BoostedCRF pairs": (BoostedCRF(max_iter=2, pairs=True), ROWS),
    "CRFsuiteCRF": (CRFsuiteCRF(max_iterations=20), DICTS),
    "OpinionPoolCRF": (OpinionPoolCRF([("a", HMM()), ("b", HMM(2.0))], [1, 2]), X),
    "FeatureInduction": (FeatureInduction(CRF(max_iter=2, tol=1.0), min_gain=0.1), DICTS),
    "CalibratedSequenceClassifier": (CalibratedSequenceClassifier(HMM(), cv=2), X),
    "SegmentF1Classifier": (SegmentF1Classifier(HMM(), cv=2), X),
    "ConformalSequenceClassifier": (
        ConformalSequenceClassifier(HMM(), 0.3, "token", cv=2),
        X,
    ),
    "SemiSupervisedClassifier": (SemiSupervisedClassifier(HMM()), X),
    "EmpiricalCRFCV": (EmpiricalCRFCV([1.0], [1.0], cv=2), X),
    "MergedLabels": (MergedLabels(HMM(), ["A"]), X),
    "SequenceLabelModel": (SequenceLabelModel(), [y, SEGMENTS]),
    "LatticeCRF": (LatticeCRF(max_iter=2, random_state=0), X),
    "OutputCodeCRF": (OutputCodeCRF(code_size=8, max_iter=3, random_state=0), X),
    "SemiMarkovCRF": (SemiMarkovCRF(max_iter=2, tol=1.0), X),
    "SegmentFeatures": (SegmentFeatures(min_freq=1), X),
    "SegmentGazetteer": (SegmentGazetteer({"animal": ["reed walk", "reed"]}), X),
    "EmpiricalCRF second order": (EmpiricalCRF(order=2), X),
    "EmpiricalCRF third order": (EmpiricalCRF(order=3), X),
    "EmpiricalCRF segments": (EmpiricalCRF(segments="counted"), X),
    "EmpiricalCRF known neighbour": (EmpiricalCRF.ecrn(known_neighbour="word"), X),
    "EmpiricalCRF sparse": (EmpiricalCRF(), SPARSE),
    "EmpiricalCRF dicts": (EmpiricalCRF(), DICTS),
    **EMPIRICAL,
    "SequenceVectorizer": (SequenceVectorizer(), X),
    "WordVectors": (WordVectors(VECTORS), X),
    "Gazetteer": (Gazetteer({"animal": ["reed walk", "reed"]}), X),
    "RandomAttributes": (RandomAttributes(random_state=0), ROWS),
}
METHODS = ("predict", "predict_proba", "sample", "confidence", "transform")
# Of these kinds of damage none gets past the check.
NEVER = {"nan", "inf", "single nan", "single inf"}


pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def stored_and_loaded(model, path, part, change):
    """A model of which a part was changed; the one that was given has it back."""
    try:
        stored = pickle.dumps(changed(model, path, change))
    finally:
        changed(model, path, lambda _: part)
    return pickle.loads(stored)


def assigned_answers(model, path, part, change, X) -> str:
    """What becomes of a model whose part is replaced by hand."""
    try:
        return answers(changed(model, path, change), X)
    finally:
        changed(model, path, lambda _: part)


def is_made(path) -> bool:
    """Whether a part is not stored, but made of another one."""
    return "_arrays" in path


def outcomes(stored: bytes, X) -> Iterator[tuple[tuple, str, str]]:
    """What becomes of each damage, but for those that end as they should."""
    model = pickle.loads(stored)
    parts = [(path, part) for path, part in parts_of(model) if not is_made(path)]
    # Models have many parts of a kind: each has every fifth kind of damage, or fewer.
    step = 5 if len(parts) < 60 else 15
    for number, (path, part) in enumerate(parts):
        for kind, change in islice(damages(part).items(), number % step, None, step):
            if path == ("bounds_",) and kind == "single inf":  # of labels that have the same code
                continue
            found = outcome(partial(stored_and_loaded, model, path, part), change)
            if not isinstance(found, str):
                found = "loaded" if kind in NEVER else answers(found, X)
            if found == "refused":
                found = assigned_answers(model, path, part, change, X)
            if found != "refused":
                yield path, kind, found


def outcome(function, argument):
    """What a function returns, or what it raises."""
    try:
        return function(argument)
    except ValueError:
        return "refused"
    except Exception as error:
        return repr(error)


def answers(model, X) -> str:
    """What a model that was loaded makes of X: nothing but an answer or a ValueError."""
    for name in METHODS:
        if hasattr(model, name):
            answer = outcome(getattr(model, name), X[:2])
            if isinstance(answer, str):
                if answer != "refused":
                    return f"{name}: {answer}"
            elif name == "predict_proba" and not all(np.isfinite(p).all() for p in answer):
                return "probabilities that are not finite"
    return "refused"


def all_outcomes(name: str) -> list:
    model, X = MODELS[name]
    return list(outcomes(pickle.dumps(model.fit(X, SEGMENTS if "segments" in name else y)), X))


@needs_fork
@pytest.mark.parametrize("names", [[*MODELS][k::5] for k in range(5)], ids=range(5))
def test_damaged_arrays_are_refused(names):
    # In a process of its own, as what is not refused used to end it.
    found, status = found_in_fork({name: partial(all_outcomes, name) for name in names})
    assert found == {name: [] for name in names}
    assert status == 0


@for_each(
    ("attribute", "value", "message"),
    [
        ("end_", np.zeros(1), r"HMM: end_ has the shape \(1,\), but must have \(4,\)"),
        ("transitions_", np.full((4, 4), np.nan), "HMM: transitions_ has values from nan to nan"),
        ("begin_", np.full(4, np.inf), "HMM: begin_ has values from inf to inf"),
        ("classes_", np.array(["A", "A", "B", "C"]), "HMM: classes_ must hold different labels"),
        ("classes_", None, "HMM: classes_ must be a 1-D array"),
        ("_counter", None, "HMM: _counter must be a Counter"),
    ],
)
def test_errors_say_which_array_of_which_model(attribute, value, message):
    hmm = HMM().fit(X, y)
    setattr(hmm, attribute, value)
    with pytest.raises(ValueError, match=message):
        pickle.loads(pickle.dumps(hmm))
    with pytest.raises(ValueError, match=message):
        copy.deepcopy(hmm)
    with pytest.raises(ValueError, match=message):
        check_sound(hmm)


@for_each(
    ("part", "message"),
    [
        ("plan", "HMM: _counter must have a Plan"),
        ("encoder", "HMM: encoder_ must be an Encoder"),
        ("label_ids", "HMM: label_ids must be LabelIds"),
    ],
)
def test_what_counts_is_checked(part, message):
    hmm = HMM().fit(X, y)
    hmm._counter = hmm._counter._replace(**{part: 3})
    with pytest.raises(ValueError, match=message):
        pickle.loads(pickle.dumps(hmm))


@for_each("field", ["tabulator", "names", "n_attributes", "links", "has_types"])
def test_a_plan_is_of_what_was_counted(field):
    hmm = HMM().fit(X, y)
    counter = hmm._counter
    hmm._counter = counter._replace(plan=counter.plan._replace(**{field: 3}))
    with pytest.raises(ValueError, match=r"tabulator_ must be a Tabulator|encoder_ must be of the"):
        pickle.loads(pickle.dumps(hmm))


@pytest.mark.parametrize("kind", [np.int8, np.uint16, np.uint64])
def test_pointers_are_of_a_type_that_kernels_read(kind):
    hmm = HMM().fit(X, y)
    weights = hmm._weights.coef
    weights.indptr = weights.indptr.astype(kind)
    with pytest.raises(ValueError, match="indptr must hold"):
        check_sound(hmm)


@pytest.mark.parametrize("begins", [[], [1, 2]])
def test_the_first_weights_vote_from_the_first_example_on(begins):
    crf = StructuredPerceptron(averaging="vote", max_iter=2).fit(X, y)
    crf._history = crf._history._replace(begins=np.array(begins, dtype=np.int64))
    with pytest.raises(ValueError, match="begins must begin with 0"):
        check_sound(crf)


def test_the_criterion_of_a_memm():
    memm = MEMM(max_iter=2, tol=1.0).fit(X, y)
    memm.criterion = "log_loss"
    with pytest.raises(ValueError, match="MEMM: criterion must be LocalLogLoss"):
        check_sound(memm)


def test_what_is_missing_is_named():
    hmm = HMM().fit(X, y)
    del hmm.transitions_
    with pytest.raises(ValueError, match=r"HMM: its state is damaged: .*transitions_"):
        pickle.loads(pickle.dumps(hmm))


def test_logarithms_of_zero_are_sound():
    hmm = HMM(transition_smoothing=0.0).fit([["a", "b"]], [["A", "B"]])
    assert np.isneginf(hmm.transitions_).any()
    assert pickle.loads(pickle.dumps(hmm)).predict([["a", "b"]]).tolist() == [["A", "B"]]


def test_infinity_in_single_precision_is_not_finite():
    ones = np.array([1.0, np.inf], dtype=np.float32)
    assert Array("coef_", ones[:1], (1,)).problem is None
    assert "must be finite" in Array("coef_", ones, (2,)).problem
    assert "is of type" in Array("coef_", np.ones(1, dtype=np.float16), (1,)).problem
    assert "is of type" in Array("coef_", np.ones(1, dtype=">f8"), (1,)).problem


def test_copies_are_not_checked():
    crf, hmm = CRF(max_iter=2, tol=1.0).fit(X, y), HMM().fit(X, y)
    for model in (crf, hmm):
        model.transitions_ = None
        assert copy.copy(model).classes_ is model.classes_


@for_each("name", ["left", "right", "feature", "threshold"])
def test_nodes_of_trees(name):
    boosted = BoostedCRF(max_iter=2).fit(ROWS, y)
    state = boosted.estimators_[1].tree_.__getstate__()
    nodes = state["nodes"]
    assert len(nodes) > 1
    field = {"left": "left_child", "right": "right_child"}.get(name, name)
    # The root is its own child: it is never left.
    nodes[field][0] = {"feature": 3, "threshold": np.nan}.get(name, 0)
    boosted.estimators_[1].tree_.__setstate__(state)
    with pytest.raises(ValueError, match=r"BoostedCRF: estimators_\[1\].tree_."):
        pickle.loads(pickle.dumps(boosted))


@for_each("code", [-2, 2, 2**31 - 1])
@for_each("joined", [False, True])
def test_codes_of_symbols(code, joined):
    symbols = JoinedStrings([["a", "b"]], [[0, 1]]) if joined else ["a", "b"]
    table = SymbolTable([[0], [1], [-1]], [symbols], ["w"])
    assert pickle.loads(pickle.dumps(table)) == table
    table.codes[0] = code
    with pytest.raises(ValueError, match="SymbolTable: codes of 'w'"):
        pickle.loads(pickle.dumps(table))


def test_codes_of_joined_strings():
    symbols = JoinedStrings([["a", "b"]], [[0, 1]])
    symbols.codes[0, 0] = 7
    with pytest.raises(ValueError, match="out of range"):
        pickle.loads(pickle.dumps(SymbolTable([[0]], [symbols], ["w"])))


@for_each("lengths", [[1], [1, 1, 1], [-1, 3], [0.5, 1.5], [[1, 1]], None])
def test_lengths_of_symbols(lengths):
    state = {"text": b"ab", "lengths": None if lengths is None else np.array(lengths)}
    with pytest.raises(ValueError, match="Vocabulary"):
        Vocabulary.__new__(Vocabulary).__setstate__(state)


def test_what_is_not_fitted_has_nothing_to_check():
    for model in (CRF(sigma=-1.0), HMM(), SequenceVectorizer(), BoostedCRF()):
        assert pickle.loads(pickle.dumps(model)).get_params() == model.get_params()


@for_each(
    ("model", "path", "value", "message"),
    [
        (HMM(), "tabulator_._kind", "nothing", "HMM: tabulator_._kind must be one of"),
        (HMM(), "tabulator_._numbers", str, "HMM: its state is damaged"),
        (HMM(), "tabulator_._binning", "none", "HMM: tabulator_._binning must be a transformer"),
        (SequenceVectorizer(), "dtype", "M8[s]", "SequenceVectorizer: dtype must be a type of"),
        (SequenceVectorizer(), "separator", 3, "SequenceVectorizer: separator must be a str"),
        (Window(), "templates", ["word["], "templates: 'word\\['"),
        (Window(), "templates", 3, "templates must be a list, but is 3"),
    ],
)
def test_what_is_no_array_is_checked_too(model, path, value, message):
    model.fit(X, y)
    *parts, name = path.split(".")
    setattr(reduce(getattr, parts, model), name, value)
    with pytest.raises(ValueError, match=message):
        pickle.loads(pickle.dumps(model))
