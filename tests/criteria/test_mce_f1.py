"""Smoothed F-scores of segments against the enumeration of all labellings."""

import itertools

import numpy as np
import oracle
import pytest
from chains import chains, drawn_labels, random_direction, shifted
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from sklearn.base import clone

from sklearn_crcrf.criteria import CRITERIA, MCEF1
from sklearn_crcrf.labels import to_segments
from sklearn_crcrf.metrics import segment_f1
from sklearn_crcrf.structures import Chain, ScoreGradient, Scores

CLASSES = {
    "IOB2": ["B-X", "I-X", "O", "B-Y"],
    "IOB1": ["I-X", "O", "B-X", "I-Y"],
    "IOBES": ["E-X", "B-X", "S-X", "O"],
}


def spelled_segments(classes, scheme, path):
    """The segments of a path as (start, end, labels)."""
    if len(path) == 0:
        return []
    segments = to_segments([[classes[j] for j in path]], scheme)
    return [(a, b, path[a:b]) for a, b in zip(segments.start, segments.end, strict=True)]


def enumerated(criterion, classes, scores, y, offsets):
    """What the criterion counts, and the least difference of scores that it depends on."""
    scheme = criterion.scheme
    counts, gap = np.zeros((len(offsets) - 1, 3)), np.inf

    def best(path_scores):
        nonlocal gap
        top = np.sort(path_scores[path_scores > -np.inf])[-2:]
        if len(top) == 2:
            gap = min(gap, top[1] - top[0])
        return path_scores.max(initial=-np.inf)

    def has_labels(path, span):
        start, end, labels = span
        return path[start:end] == labels

    def has_segment(path, segment):
        return segment in spelled_segments(classes, scheme, path)

    has = has_labels if criterion.contains == "labels" else has_segment

    def error(sign, segment, has=has):
        contain = np.array([has(path, segment) for path in every])
        margin = best(path_scores[contain]) - best(path_scores[~contain])
        return expit(criterion.slope * sign * margin + criterion.offset)

    for s, (a, b) in enumerate(itertools.pairwise(offsets)):
        every, path_scores = oracle.paths(scores, a, b)
        gold = spelled_segments(classes, scheme, tuple(y[a:b]))
        others = np.where([path == tuple(y[a:b]) for path in every], -np.inf, path_scores)
        counts[s, 2] = len(gold)
        counts[s, 0] = sum(error(-1.0, segment) for segment in gold)
        if best(others) > -np.inf:
            found = spelled_segments(classes, scheme, every[others.argmax()])
            parsed = [(u, v, classes[k[0]][2:]) for u, v, k in gold]
            false = [g for g in found if (g[0], g[1], classes[g[2][0]][2:]) not in parsed]
            if criterion.false == "own":
                counts[s, 1] = sum(error(1.0, segment) for segment in false)
            else:
                spans = [(u, v, tuple(y[a + u : a + v])) for u, v, _ in false]
                counts[s, 1] = sum(error(-1.0, span, has_labels) for span in spans)
    return counts, gap


criteria = st.builds(
    MCEF1,
    scheme=st.sampled_from(["IOB2", "IOB1", "IOBES"]),
    gamma=st.sampled_from([1.0, 0.5, 2.0]),
    slope=st.sampled_from([0.5, 1.0, 3.0]),
    offset=st.sampled_from([0.0, 1.0]),
    contains=st.sampled_from(["segment", "labels"]),
    false=st.sampled_from(["own", "gold"]),
    objective=st.sampled_from(["complement", "odds"]),
)


@settings(max_examples=40)
@given(chains(scales=(1.0, 30.0)), criteria, st.randoms())
def test_counts_are_those_of_all_labellings(chain, criterion, random):
    offsets, scores = chain
    y, structure = drawn_labels(offsets, scores, random), Chain(offsets)
    assume(np.isfinite(structure.maximum(scores)[0]).all())
    classes = CLASSES[criterion.scheme][: len(scores.transition)]
    criterion = criterion.for_labels(classes)
    expected, gap = enumerated(criterion, classes, scores, y, offsets)
    assume(gap > 1e-4)
    level = 1e-4 if scores.state.dtype == np.float32 else 1e-9
    assert_allclose(criterion(structure, scores, y)[0], expected, atol=level)


@given(chains(scales=(1.0, 3.0), dtypes=(np.float64,)), criteria, st.randoms())
def test_gradients_are_quotients_of_differences(chain, criterion, random):
    offsets, scores = chain
    y, structure = drawn_labels(offsets, scores, random), Chain(offsets)
    assume(np.isfinite(structure.maximum(scores)[0]).all())
    classes = CLASSES[criterion.scheme][: len(scores.transition)]
    criterion = criterion.for_labels(classes)
    assume(enumerated(criterion, classes, scores, y, offsets)[1] > 1e-3)
    weight, direction, step = np.arange(1.0, len(offsets)), random_direction(scores, 1), 1e-5

    def loss(scores):
        return criterion.combine(weight @ criterion(structure, scores, y)[0])[0]

    counts, pullback = criterion(structure, scores, y)
    _, derivatives = criterion.combine(weight @ counts)
    gradient = pullback(np.multiply.outer(weight, derivatives))
    slope = sum(np.vdot(part, along) for part, along in zip(gradient, direction, strict=True))
    ahead, behind = (loss(shifted(scores, direction, h)) for h in (step, -step))
    assume(ahead < 1e4)  # where gold is hardly possible, the odds have no bound
    assert_allclose(slope, (ahead - behind) / (2 * step), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("objective", ["complement", "odds"])
@pytest.mark.parametrize("gamma", [0.3, 1.0, 2.0])
def test_the_loss_is_that_of_the_f_of_the_counts(gamma, objective):
    criterion = MCEF1(gamma=gamma, objective=objective, weight=2.0)
    missed, false, n = 3.0, 5.0, 10.0
    precision, recall = 7 / 12, 7 / 10
    f = (1 + gamma**2) * precision * recall / (gamma**2 * precision + recall)
    loss, derivatives = criterion.combine(np.array([missed, false, n]))
    assert loss == pytest.approx(2 * (n * (1 - f) if objective == "complement" else (1 - f) / f))
    for k, derivative in enumerate(derivatives):
        step = 1e-6 * (np.arange(3) == k)
        ahead, behind = (
            criterion.combine(np.array([missed, false, n]) + h)[0] for h in (step, -step)
        )
        assert derivative == pytest.approx((ahead - behind) / 2e-6)


@pytest.mark.parametrize("counts", [(0, 0, 0), (0, 2, 0), (4, 0, 4), (4, 3, 4)])
def test_the_loss_of_extreme_counts(counts):
    loss, derivatives = MCEF1().combine(np.array(counts, dtype=float))
    assert loss == pytest.approx(counts[2])
    assert np.isfinite(derivatives).all()


@pytest.mark.parametrize(("counts", "odds"), [((0, 2, 0), 0.0), ((4, 3, 4), np.inf)])
def test_the_odds_where_no_segment_is_found(counts, odds):
    loss, derivatives = MCEF1(objective="odds").combine(np.array(counts, dtype=float))
    assert loss == odds
    assert not derivatives.any()


def test_a_segment_that_goes_on_has_the_labels_of_a_shorter_one():
    # Gold is B-X O; the labelling B-X I-X has the label of the segment, but another segment.
    chain, y = Chain(np.array([0, 2])), np.array([0, 2])
    scores = Scores.of(np.array([[5.0, 0.0, 0.0], [0.0, 2.0, 1.0]]), np.zeros((3, 3)))
    margins = {"segment": -1.0, "labels": 5.0}
    for contains, margin in margins.items():
        criterion = MCEF1(contains=contains).for_labels(["B-X", "I-X", "O"])
        assert_allclose(criterion(chain, scores, y)[0][0, 0], expit(-margin))


def _corpus(n_sequences=60):
    """Scores of which the best labellings have some of the segments wrong."""
    rng, classes = np.random.default_rng(0), ["B-X", "B-Y", "I-X", "I-Y", "O"]
    offsets = np.append(0, np.cumsum(rng.integers(0, 9, size=n_sequences)))
    transition, begin = np.zeros((5, 5)), np.zeros(5)
    for j, kind in ((2, [0, 2]), (3, [1, 3])):
        transition[np.setdiff1d(np.arange(5), kind), j] = begin[j] = -np.inf
    scores = Scores.of(2 * rng.normal(size=(offsets[-1], 5)), transition, begin)
    chain = Chain(offsets)
    y = chain.maximum(scores._replace(state=scores.state + 2 * rng.normal(size=(offsets[-1], 5))))[
        1
    ]
    return chain, scores, y, classes


def test_a_steep_sigmoid_gives_the_f_score_of_sequences_with_errors():
    chain, scores, y, classes = _corpus()
    criterion = MCEF1(slope=1e6).for_labels(classes)
    counts, _ = criterion(chain, scores, y)
    missed, _, n = counts.sum(axis=0)
    path = chain.maximum(scores)[1]
    tokens = np.repeat(np.arange(len(chain.offsets) - 1), np.diff(chain.offsets))
    names = [
        [[classes[j] for j in labels[tokens == s]] for s in range(len(chain.offsets) - 1)]
        for labels in (y, path)
    ]
    # False segments are taken from the best other labelling, which is the best where that is wrong.
    assert_allclose(criterion.combine(counts.sum(axis=0))[0], n * (1 - segment_f1(*names)))
    assert 0 < missed < n


def test_a_segment_that_the_best_labelling_goes_on_with_is_missed():
    # Gold B I O, best B I I: the tokens of the segment have its labels in both.
    state = np.array([[9.0, 0.0, 0.0], [0.0, 9.0, 0.0], [0.0, 1.0, 0.0]])
    criterion = MCEF1().for_labels(["B-X", "I-X", "O"])
    scores, chain = Scores.of(state, np.zeros((3, 3))), Chain(np.array([0, 3]))
    counts, _ = criterion(chain, scores, np.array([0, 1, 2]))
    assert_allclose(counts, [[expit(1.0), expit(1.0), 1.0]])


def test_a_gold_segment_in_another_labelling_is_not_false():
    # The best other labelling has the gold segment, and one more.
    state = np.array([[9.0, 0.0, 0.0], [0.0, 0.0, 5.0], [3.0, 0.0, 4.0]])
    criterion = MCEF1().for_labels(["B-X", "I-X", "O"])
    scores, chain = Scores.of(state, np.zeros((3, 3))), Chain(np.array([0, 3]))
    counts, _ = criterion(chain, scores, np.array([0, 2, 2]))
    assert_allclose(counts, [[expit(-5.0), expit(-1.0), 1.0]])


def test_sequences_without_tokens_weight_or_segments():
    chain, scores = Chain(np.array([0, 0, 2, 4])), Scores.of(np.zeros((4, 3)), np.zeros((3, 3)))
    scores = scores._replace(state=scores.state.astype(np.float32))
    criterion = MCEF1().for_labels(["B-X", "I-X", "O"])
    counts, pullback = criterion(chain, scores, np.array([2, 2, 0, 2]))
    assert_array_equal(counts[0], 0.0)
    assert_array_equal(counts[:, 2], [0.0, 0.0, 1.0])
    total, weight = ScoreGradient.zeros(scores), np.array([[1.0, 1.0, 1.0]]) * [[1], [0], [1]]
    assert pullback(weight, total) is total
    assert total.state.dtype == np.float32
    assert not total.state[:2].any() and total.state[2:].any()


def test_one_label():
    chain, scores = Chain(np.array([0, 2])), Scores.of(np.zeros((2, 1)), np.zeros((1, 1)))
    for classes, n in ((["O"], 0), (["B-X"], 2)):
        counts, pullback = MCEF1().for_labels(classes)(chain, scores, np.zeros(2, dtype=int))
        assert_array_equal(counts, [[0.0, 0.0, n]])
        assert_array_equal(pullback(np.ones((1, 3))).state, 0.0)


def test_what_is_refused():
    chain, scores, y, classes = _corpus(3)
    with pytest.raises(ValueError, match="for_labels"):
        MCEF1()(chain, scores, y)
    with pytest.raises(ValueError, match="label 'NOUN' does not fit the scheme IOB2"):
        MCEF1().for_labels(["B-X", "NOUN"])
    with pytest.raises(ValueError, match="gamma must be positive"):
        MCEF1(gamma=0.0).for_labels(classes)
    with pytest.raises(ValueError, match="MCEF1 needs the label of every token"):
        MCEF1().for_labels(classes)(chain, scores, np.ones((len(y), 5), dtype=bool))


def test_traits_and_parameters():
    assert CRITERIA["mce_f1"].get_params() == MCEF1(weight=9.0).get_params()
    assert not CRITERIA["mce_f1"].convex
    bound = MCEF1(gamma=2.0).for_labels(["O"])
    assert clone(bound).get_params() == {
        "scheme": "IOB2",
        "gamma": 2.0,
        "slope": 1.0,
        "offset": 0.0,
        "contains": "segment",
        "false": "own",
        "objective": "complement",
        "weight": 1.0,
    }
    for parameter in ("contains", "false", "objective"):
        with pytest.raises(ValueError, match=f"{parameter} must be one of"):
            MCEF1(**{parameter: "all"}).for_labels(["O"])
