"""Shards against the objective of one corpus."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from cases import for_each
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_crcrf import CRF
from sklearn_crcrf.criteria import CRITERIA, log_loss
from sklearn_crcrf.linear.objective import Objective, elsewhere, here
from sklearn_crcrf.linear.parts import Survey, read_part

CUTS = [(0, 4), (4, 5), (5, 13), (13, 16)]


def tokens():
    """Sequences of feature dicts; words and labels that come late, and repeated words."""
    rng = np.random.default_rng(0)
    X, y = [], []
    for i in range(16):
        words = rng.integers(4 + i, size=rng.integers(1, 6))
        X.append([{"word": f"w{w}", "even": bool(w % 2 == 0), "size": w / 4} for w in words])
        y.append([f"{'BA'[w % 2]}{rng.integers(1 + (i > 9))}" for w in words])
    return X, y


def numbers(make):
    X, y = tokens()
    return [make(np.eye(3)[[len(y[i]) % 3] * len(s)] * (i + 1)) for i, s in enumerate(X)], y


INPUTS = {
    "dicts": (tokens, {}),
    "observed": (tokens, {"features": "observed"}),
    "edges": (tokens, {"edge_columns": ["even"]}),
    "observed-edges": (tokens, {"edge_columns": ["word"], "features": "observed"}),
    "dense": (lambda: numbers(np.asarray), {}),
    "sparse": (lambda: numbers(sp.csr_matrix), {"features": "observed"}),
}


def sharded(crf, X, y, sigma=1.0, reverse=False):
    parts = [read_part(crf, X[a:b], y[a:b]) for a, b in CUTS]
    shape = Survey.unite(map(Survey.of, parts)).shape(
        min_freq=crf.min_freq,
        features=crf.features,
        boundaries=crf.boundaries,
        constraints=crf.constraints,
    )
    made = [shape.shard(part, CRITERIA[crf.criterion]) for part in parts]
    shards = pickle.loads(pickle.dumps(made))

    def evaluate(own_weights):
        tasks = list(zip(shards, own_weights, strict=True))
        results = [shard.evaluate(w) for shard, w in (tasks[::-1] if reverse else tasks)]
        return results[::-1] if reverse else results

    columns = [shard.columns for shard in shards]
    return shape, shards, Objective(elsewhere(columns, evaluate), sigma=sigma)


def in_memory(crf, X, y):
    crf._n_seen = len(X)
    return crf._problem(crf._read(X, y, None).longest_first(), None)


@for_each("name", INPUTS)
@for_each("min_freq", [1, 3])
def test_the_sum_over_shards_is_the_objective(name, min_freq):
    (X, y), options = INPUTS[name][0](), INPUTS[name][1]
    crf = CRF(min_freq=min_freq, boundaries=True, sigma=0.7, **options)
    problem = in_memory(crf, X, y)
    shape, shards, fun = sharded(crf, X, y, sigma=0.7)
    assert_array_equal(shape.encoder.names, crf.attribute_names_)
    assert_array_equal(shape.encoder.edge_attributes, crf._encoder.edge_attributes)
    assert_array_equal(shape.classes, crf.classes_)
    assert shape.terms().n_weights == problem.terms().n_weights
    w = np.random.default_rng(1).normal(size=problem.terms().n_weights)
    loss, gradient = fun(w)
    expected, expected_gradient = problem.objective()(w)
    assert loss == pytest.approx(expected, rel=1e-12)
    assert_allclose(gradient, expected_gradient, rtol=1e-12, atol=1e-12 * expected)
    for shard in shards:
        assert_array_equal(w[shard.columns.numbers], shard.columns.take(w))


def test_the_bits_do_not_depend_on_what_runs_the_shards():
    X, y = tokens()
    crf = CRF(features="observed")
    (shape, shards, fun), (*_, other) = (sharded(crf, X, y, reverse=r) for r in (False, True))
    w = np.random.default_rng(2).normal(size=shape.terms().n_weights)
    one = Objective(here(shards, 2), sigma=1.0)
    for (loss, gradient), (same, same_gradient) in [(fun(w), other(w)), (fun(w), one(w))]:
        assert loss == same
        assert_array_equal(gradient, same_gradient)
    own = shards[2].columns.take(w)
    for one, two in zip(shards[2].evaluate(own), shards[2].evaluate(own, 2), strict=True):
        assert_array_equal(one, two)


@pytest.mark.parametrize("criterion", ["max_margin", "pseudo_likelihood", "expected_cost"])
def test_any_sum_under_constraints(criterion):
    X, y = tokens()
    crf = CRF(criterion, constraints={"A0": ["A0", "B0", "B1", "A1"]}, dtype="float32")
    problem = in_memory(crf, X, y)
    _, _, fun = sharded(crf, X, y)
    w = np.random.default_rng(3).normal(size=problem.terms().n_weights).astype(np.float32)
    (loss, gradient), (expected, expected_gradient) = fun(w), problem.objective()(w)
    assert loss == pytest.approx(expected, rel=1e-6)
    assert_allclose(gradient, expected_gradient, rtol=1e-4, atol=1e-5)


def test_surveys_unite_in_any_grouping():
    X, y = tokens()
    a, b, c = (Survey.of(read_part(CRF(), X[i:j], y[i:j])) for i, j in CUTS[:3])
    left = Survey.unite([Survey.unite([a, b]), c])
    right = Survey.unite([a, Survey.unite([b, c])])
    for survey in (left, right):
        assert survey.encoder.select(np.arange(3)).names.tolist() == ["word=w2", "even", "size"]
        assert survey.weight == 13
    for one, two in zip(left[1:], right[1:], strict=True):
        assert_array_equal(one, two)


def test_a_shard_knows_its_size():
    X, y = tokens()
    _, shards, _ = sharded(CRF(), X, y)
    X = shards[2].design._tokens._arrays
    assert shards[2].__sizeof__() > sum(array.nbytes for array in X)


@pytest.mark.parametrize(
    "X, y, message",
    [
        ([["a"]], [[None]], "y"),
        ([["a", "b"]], [["x", {"x", "y"}]], "sequence 0, position 1"),
    ],
)
def test_labels_must_be_known(X, y, message):
    with pytest.raises(ValueError, match=message):
        read_part(CRF(), X, y)


def test_what_cannot_be_summed_is_refused():
    X, y = tokens()
    part = read_part(CRF(), X, y)
    shape = Survey.of(part).shape()
    with pytest.raises(ValueError, match="is not a sum"):
        shape.shard(part, CRITERIA["mce_f1"])
    forbidden = Survey.of(part).shape(constraints=np.zeros((4, 4), dtype=bool))
    with pytest.raises(ValueError, match="constraints do not allow"):
        forbidden.shard(part, log_loss)
    words = Survey.of(read_part(CRF(), [["a"]], [["x"]]))
    with pytest.raises(ValueError, match="different kinds"):
        Survey.unite([Survey.of(part), words])
    with pytest.raises(ValueError, match="no parts"):
        Survey.unite([])
