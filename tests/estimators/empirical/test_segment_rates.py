"""Counted segments against all labellings of tiny sequences, with counts of plain Python."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime
from scipy.special import logsumexp
from segmentations import labelling, segmentations

from sklearn_crcrf import EmpiricalCRF, GraphArray, explain
from sklearn_crcrf.estimators.empirical.fit_exponents import HeldOut, SegmentLoss
from sklearn_crcrf.estimators.empirical.segment_rates import MAX_LENGTH, segmented
from sklearn_crcrf.labels import convert_scheme, roles_of, to_segments
from sklearn_crcrf.model_files import load_model, save_model

X = [
    ["in", "New", "York"],
    ["the", "New", "York", "Times", "of", "York"],
    ["new", "man", "in", "York"],
    ["The", "times"],
    ["a", "b", "c", "d", "e", "f"],
    [],
]
Y = [
    ["O", "B-L", "I-L"],
    ["O", "B-O", "I-O", "I-O", "O", "B-L"],
    ["O", "O", "O", "B-L"],
    ["B-O", "I-O"],
    ["B-L", "I-L", "I-L", "I-L", "I-L", "O"],
    [],
]
NEW = [["in", "NEW", "York", "times"], ["York", "Zork"], [], ["b", "c", "d"]]
TYPES = ["L", "O"]
EXPONENTS = {"segment": 0.5, "segment shapes": 0.3, "segment end": 0.2}
SHAPES = {"New": "Xx", "York": "Xx", "Times": "Xx", "The": "Xx", "NEW": "X", "Zork": "Xx"}


def evidence(sequence, start, stop):
    """The symbols of a run of tokens, by kind."""
    lower = [word.lower() for word in sequence]
    before = lower[start - 1] if start else None
    shapes = tuple(SHAPES.get(word, "x") for word in sequence[start:stop])
    yield "segment", tuple(lower[start:stop])
    yield "segment shapes", (before, shapes)
    if stop - start > 1:
        yield "segment end", (stop - start, lower[stop - 1])


def runs(n):
    return [(a, b) for a in range(n) for b in range(a + 1, min(n, a + MAX_LENGTH) + 1)]


def counted(kind, symbols, of_type):
    """How many runs have the symbols, and how many of them are segments of the type."""
    gold = set(zip(*to_segments(Y), strict=True))
    m = c = 0
    for i, sequence in enumerate(X):
        for start, stop in runs(len(sequence)):
            if (kind, symbols) in evidence(sequence, start, stop):
                m += 1
                c += (i, start, stop, of_type) in gold
    return m, c


def spelled(plain, n, scheme):
    """All labellings that spell a segmentation, with their segments."""
    roles = roles_of(plain.classes_, scheme)
    for segments in segmentations(n, [*range(len(roles.types)), -1]):
        y = labelling(roles, segments)
        if y is not None:
            yield y, [(start, stop, roles.types[k]) for start, stop, k in segments if k >= 0]


def enumerated(plain, sequence, scheme, strength=0.3):
    """Labellings and log-probabilities: scores of a chain, and gains of counted segments."""
    found = [*spelled(plain, len(sequence), scheme)]
    paths = np.array([y for y, _ in found])
    results, _ = plain._map(
        [sequence] * len(paths),
        lambda structure, scores, first: structure.score(scores, paths.ravel())[0],
    )
    chain = np.concatenate(results)
    p = np.exp(chain - logsumexp(chain))
    score = chain.copy()
    for start, stop in runs(len(sequence)):
        for of_type in TYPES:
            has = np.array([(start, stop, of_type) in segments for _, segments in found])
            if not has.any():
                continue
            q = p[has].sum()
            for kind, symbols in evidence(sequence, start, stop):
                m, c = counted(kind, symbols, of_type)
                rate = (c + strength * q) / ((m + strength) * q)
                score[has] += EXPONENTS[kind] * np.log(rate)
    return paths, score - logsumexp(score)


@pytest.mark.parametrize(("scheme", "sigma"), [("IOB2", 1.0), ("IOBES", 1.0), ("IOB2", 2.0)])
def test_probabilities_against_all_labellings(scheme, sigma):
    y = convert_scheme(Y, "IOB2", scheme)
    crf = EmpiricalCRF(segments="counted", sigma=sigma, exponents=EXPONENTS).fit(X, y)
    plain = EmpiricalCRF(sigma=sigma).fit(X, y)
    marginals = crf.predict_proba(NEW)
    for sequence, found, best in zip(NEW, marginals, crf.predict(NEW), strict=True):
        if not sequence:
            continue
        paths, log_p = enumerated(plain, sequence, scheme, 0.3 / sigma**2)
        expected = np.zeros(found.shape)
        for path, p in zip(paths, np.exp(log_p), strict=True):
            expected[np.arange(len(path)), path] += p
        assert_allclose(found, expected, atol=1e-10)
        assert best == crf.classes_[paths[np.argmax(log_p)]].tolist()
        assert_allclose(crf.confidence([sequence]), np.exp(log_p.max()))
        ((labels, p), *_) = crf.predict_k_best([sequence], k=1)[0]
        assert labels == best
        assert_allclose(p, np.exp(log_p.max()))


def test_without_exponents_it_is_a_chain_that_is_constrained_to_the_scheme():
    y = convert_scheme(Y, "IOB2", "IOBES")
    crf = EmpiricalCRF(segments="counted", exponents=dict.fromkeys(EXPONENTS, 0.0)).fit(X, y)
    for labels in crf.sample(NEW, 5, random_state=0):
        assert convert_scheme(convert_scheme(labels, "IOBES", "IOB2"), "IOB2", "IOBES") == [*labels]


def test_data_that_comes_and_goes():
    whole = EmpiricalCRF(segments="counted").fit(X, Y)
    crf = EmpiricalCRF(segments="counted").partial_fit(X[:2], Y[:2]).partial_fit(X[2:], Y[2:])
    assert crf.counts_ == whole.counts_
    for p, q in zip(crf.predict_proba(NEW), whole.predict_proba(NEW), strict=True):
        assert_array_equal(p, q)
    crf.forget(X[2:], Y[2:])
    rest = EmpiricalCRF(segments="counted").fit(X[:2], Y[:2])
    assert crf.counts_ == rest.counts_
    for p, q in zip(crf.predict_proba(NEW), rest.predict_proba(NEW), strict=True):
        assert_array_equal(p, q)
    out_of_fold = EmpiricalCRF(segments="counted").predict_out_of_fold(X[:4], Y[:4], cv=2)
    assert out_of_fold[2:].tolist() == rest.predict(X[2:4]).tolist()


def test_labels_without_any_segment():
    crf = EmpiricalCRF(segments="counted").fit([["a", "b"]], [["O", "O"]])
    assert crf.predict([["a", "c"]]).tolist() == [["O", "O"]]
    assert crf.partial_fit(X, Y).classes_.tolist() == ["B-L", "B-O", "I-L", "I-O", "O"]


def test_gradient_of_exponents():
    crf = EmpiricalCRF(segments="counted", exponents=EXPONENTS).fit(X, Y)
    sequences, _ = crf._check_training(X[:4], Y[:4], None, reset=False)
    chain, prepared = crf._linked(sequences.X), crf._prepare(sequences.X)
    y = np.searchsorted(crf.classes_, sequences.y.data.astype(str))
    part = HeldOut(crf.model_, prepared, y, chain, np.array([1.0, 2.0, 0.5, 1.0]))
    loss = SegmentLoss(part, segmented(chain.offsets, crf.classes_), crf.exponents_)
    values = np.array([0.5, -0.1, 0.3])
    expected = approx_fprime(values, lambda v: loss(v)[0], 1e-6)
    assert_allclose(loss(values)[1], expected, rtol=1e-4)


def test_fitted_exponents():
    many, labels = X[:4] * 5, Y[:4] * 5
    fitted = {"exponents": "fit", "validation_fraction": 0.25}
    crf = EmpiricalCRF(segments="counted", **fitted).fit(many, labels)
    plain = EmpiricalCRF(**fitted).fit(many, labels)
    given = {name: crf.exponents_[name] for name in plain.exponents_}
    assert given == plain.exponents_
    default = EmpiricalCRF(segments="counted").fit(many, labels).exponents_
    assert all(crf.exponents_[name] != default[name] for name in EXPONENTS)
    again = EmpiricalCRF(segments="counted").fit(many, labels).fit_exponents(many, labels)
    assert again.exponents_["segment"] != default["segment"]


def test_explanations_add_up():
    crf = EmpiricalCRF(segments="counted", exponents=EXPONENTS).fit(X, Y)
    labels = ["O", "B-L", "I-L", "O"]
    found = explain(crf, NEW[0], labels)
    of_segments = found.contributions.take(np.flatnonzero(found.contributions.kind == "segment"))
    assert of_segments.name.tolist() == [
        "L | token:lower[-1]=new|token:lower[0]=york",
        "L | token:lower[0]=york",
    ]
    assert of_segments.position.tolist() == [1, 1]
    other = explain(crf, NEW[0], ["O"] * 4)
    assert_allclose(found.score - other.score, found.log_probability - other.log_probability)


def test_stored_models(tmp_path):
    crf = EmpiricalCRF(segments="counted").fit(X, Y)
    save_model(crf, tmp_path / "model")
    stored = load_model(tmp_path / "model").estimator
    for p, q in zip(crf.predict_proba(NEW), stored.predict_proba(NEW), strict=True):
        assert_array_equal(p, q)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([["O", "B-L"], ["O", "I-L"]], "sequence 1, position 1: the label does not fit"),
        ([["O", "B-L"], ["O", "S-L"]], 'sequence 0, position 1: .* scheme "IOBES"'),
        ([["O", "N"], ["O", "B-L"]], "y: label 'N' does not fit the scheme IOB2"),
        ([[0, 1], [0, 1]], "y: label 0 does not fit the scheme IOB2"),
    ],
)
def test_labels_that_spell_no_segments(y, message):
    with pytest.raises(ValueError, match=message):
        EmpiricalCRF(segments="counted").fit([["a", "b"], ["c", "d"]], y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"order": 2}, "needs order=1, got 2"),
        ({"zeros": "exact"}, "needs zeros='smoothed', got 'exact'"),
        ({"spelling": "joint"}, "needs spelling='product', got 'joint'"),
    ],
)
def test_parameters_that_exclude_counted_segments(parameters, message):
    with pytest.raises(ValueError, match=message):
        EmpiricalCRF(segments="counted", **parameters).fit(X, Y)


def test_only_sequences_have_counted_segments():
    tree = GraphArray.from_edges([["a", "b", "c"]], [[(0, 1), (0, 2)]])
    with pytest.raises(ValueError, match='segments="counted" needs sequences'):
        EmpiricalCRF(segments="counted").fit(tree, [["O", "B-L", "O"]])
    with pytest.raises(ValueError, match=r"tagger\(\) needs segments=None"):
        EmpiricalCRF(segments="counted").fit(X, Y).tagger()
