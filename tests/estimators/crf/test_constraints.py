"""What may not follow does not, in training and in prediction."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from toy import make_corpus

from sklearn_crcrf import CRF
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.labels import segment_constraints
from sklearn_crcrf.structures import Chain

X, y = make_corpus(n_sequences=30)
RNG = np.random.default_rng(0)
NOISE = [RNG.normal(size=(n, 2)) for n in RNG.integers(1, 9, size=60)]
SCHEME = ["B-P", "B-Q", "I-P", "I-Q", "O"]


def iob2(rng, n):
    """Random labels of segments."""
    labels = []
    for _ in range(n):
        open_ = labels[-1][2:] if labels and labels[-1] != "O" else None
        options = ["B-P", "B-Q", "O", *([f"I-{open_}"] * 3 if open_ else [])]
        labels.append(str(rng.choice(options)))
    return labels


SEGMENTS = [iob2(RNG, len(rows)) for rows in NOISE]


def follows(labels):
    return {pair for s in labels for pair in pairwise(s)}


def test_a_scheme_of_segments():
    free = CRF(sigma=10.0).fit(NOISE, SEGMENTS)
    crf = CRF(sigma=10.0, constraints="IOB2").fit(NOISE, SEGMENTS)
    allowed = segment_constraints(SCHEME, "IOB2")
    probability = crf.predict_proba(NOISE)
    for p in probability:
        assert_allclose(p.sum(axis=1), 1)
        assert_allclose(p[0, [2, 3]], 0)
    drawn = [s for sample in crf.sample(NOISE, 20, random_state=0) for s in sample]
    ids = [[SCHEME.index(label) for label in s] for s in drawn]
    offsets = np.append(0, np.cumsum([len(s) for s in ids]))
    assert not len(allowed.violations(np.concatenate(ids), *Chain(offsets).links()))
    wild = [s for sample in free.sample(NOISE, 20, random_state=0) for s in sample]
    assert follows(wild) > follows(drawn)
    assert crf.loss_curve_[-1] < free.loss_curve_[-1]


def test_equal_ways_to_say_the_same():
    follow = {label: [other for other in "ABCD" if other != "C"] for label in "AB"}
    allowed = np.ones((4, 4), dtype=bool)
    allowed[:2, 2] = False
    proper = [
        (x, s) for x, s in zip(X, y, strict=True) if not follows([s]) & {("A", "C"), ("B", "C")}
    ]
    words, labels = zip(*proper, strict=True)
    words, labels = [*words, ["und"]], [*labels, ["C"]]
    assert len(proper) > 5
    models = [CRF(constraints=c).fit(words, labels) for c in (follow, allowed, allowed.tolist())]
    for crf in models:
        assert np.array_equal(crf.coef_, models[0].coef_)
        assert crf.predict(X).tolist() == models[0].predict(X).tolist()
        assert not follows(crf.predict(X)) & {("A", "C"), ("B", "C")}


def test_constraints_that_allow_everything_change_nothing():
    crf = CRF(constraints=np.ones((4, 4), dtype=bool)).fit(X, y)
    assert_allclose(crf.coef_, CRF().fit(X, y).coef_, atol=1e-8)


@pytest.mark.parametrize(
    ("labels", "sequence", "position"),
    [
        ([["B-P", "I-P"], ["O", "I-P"]], 1, 1),
        ([["I-P", "I-P"], ["B-P", "O"]], 0, 0),
        ([["B-P", "I-P"], ["B-Q", "I-P"]], 1, 1),
    ],
)
def test_labels_that_break_them_are_named(labels, sequence, position):
    with pytest.raises(ValueError, match=f"y, sequence {sequence}, position {position}: the cons"):
        CRF(constraints="IOB2").fit([["a", "b"]] * 2, labels)


def test_partial_labels_that_break_them_are_named():
    words = [["a", "b"], ["a", "b", "c"]]
    with pytest.raises(ValueError, match="y, sequence 1: the constraints allow no labelling"):
        CRF(constraints="IOB2").fit(words, [["B-P", None], ["O", {"I-P"}, "I-P"]])
    crf = CRF(constraints="IOB2").fit(words, [["B-P", "O"], ["B-P", None, "I-P"]])
    assert crf.predict(words[1:], allowed=[[None, None, "I-P"]])[0][1] != "O"
    with pytest.raises(ValueError, match="no path of sequence 1 is possible"):
        crf.predict(words, allowed=[[None, None], ["O", "I-P", None]])


def test_labels_must_fit_the_scheme():
    with pytest.raises(ValueError, match="'A'"):
        CRF(constraints="IOB2").fit(X, y)
    with pytest.raises(ValueError, match=r"bool array of shape \(4, 4\)"):
        CRF(constraints=np.ones((3, 3), dtype=bool)).fit(X, y)
    with pytest.raises(ValueError, match="'Q' is not among the classes"):
        CRF(constraints={"Q": ["A"]}).fit(X, y)


def test_segments_of_addresses():
    words, labels = make_addresses(60, random_state=0)
    crf = CRF(constraints="IOB2", sigma=0.1).fit(words, labels)
    (spans,) = crf.predict_spans(words[:1])
    (best,) = crf.predict(words[:1])
    assert [kind for _, _, kind, _ in spans] == [b[2:] for b in best if b.startswith("B-")]
    assert all(0 < p <= 1 for *_, p in spans)
