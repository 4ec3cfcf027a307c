"""SeparateCRF on workers: the model of one machine, and the same bits whatever the workers."""

from itertools import pairwise

import dask
import numpy as np
import pytest
from cases import for_each
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression

from sklearn_crcrf import CRF, GraphArray, SeparateCRF, SequenceArray
from sklearn_crcrf.dask import DaskSeparateCRF, read_conll
from sklearn_crcrf.datasets import write_conll
from sklearn_crcrf.out_of_core import write_corpus

EXACT = CRF(features="observed", tol=1e-7)
ROUGH = CRF(features="observed", dtype="float32", tol=0.1)
OTHER = CRF(c1=0.3, tol=1e-7)


@pytest.fixture(scope="module")
def columns(corpus):
    """Tokens with two attributes, and labels."""
    X, y = corpus
    return [[{"word": word, "last": word[-1:]} for word in words] for words in X], y


@pytest.fixture(scope="module")
def weights():
    """A weight of each sequence; some are zero."""
    return np.random.default_rng(0).integers(3, size=40).astype(float).tolist()


def probabilities(model, X):
    return np.concatenate(model.predict_proba(X))


@for_each(
    "params, are_weighted",
    [
        ({"estimator": EXACT, "pairs": EXACT}, True),
        ({"estimator": EXACT, "n_folds": 2}, False),
        ({"estimator": OTHER, "pairs": EXACT, "edge_columns": ["last"], "exponent": 0.8}, False),
    ],
)
def test_the_model_is_that_of_one_fit(params, are_weighted, columns, weights, in_parts):
    X, y = columns
    parts, given = [in_parts(X), in_parts(y)], [X, y]
    if are_weighted:
        parts, given = [*parts, in_parts(weights)], [*given, weights]
    model, one = DaskSeparateCRF(**params).fit(*parts), SeparateCRF(**params).fit(*given)
    assert model.exponent_ == one.exponent_
    assert_array_equal(model.classes_, one.classes_)
    assert_array_equal(model.attribute_names_, one.attribute_names_)
    assert_array_equal(model.label_pairs_, one.label_pairs_)
    assert_array_equal(model.rates_, one.rates_)
    assert_allclose(probabilities(model, X), probabilities(one, X), rtol=0, atol=1e-6)
    assert vars(model.to_local()).keys() == vars(one).keys()
    assert model.predict(in_parts(X)).compute() == one.predict(X).tolist()


def test_maxent_is_near_one_fit(corpus, in_parts):
    X, y = corpus
    model = DaskSeparateCRF(pairs="maxent").fit(in_parts(X), in_parts(y))
    one = SeparateCRF(pairs="maxent").fit(X, y)
    assert model.exponent_ == one.exponent_
    assert_allclose(probabilities(model, X), probabilities(one, X), rtol=0, atol=0.01)


@for_each("params", [{"pairs": ROUGH}, {"pairs": "counts", "n_folds": 2}])
def test_the_same_bits_whatever_the_workers(params, columns, in_parts, client, own_client):
    X, y = columns
    models = [
        DaskSeparateCRF(ROUGH, **params, client=it).fit(in_parts(X), in_parts(y))
        for it in (None, client, own_client(1))
    ]
    for model in models[1:]:
        assert_array_equal(probabilities(model, X), probabilities(models[0], X))
        assert model.estimator_.loss_curve_ == models[0].estimator_.loss_curve_


def test_rows_of_numbers_and_one_label(in_parts):
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(4, 3)) * [1, 1, 0] for _ in range(40)]
    y = [[f"{a}{b}" for a, b in (rows[:, :2] > 0).astype(int)] for rows in X]
    params = {"estimator": OTHER, "pairs": EXACT}
    model, one = DaskSeparateCRF(**params).fit(in_parts(X), in_parts(y)), SeparateCRF(**params)
    one.fit(X, y)
    assert_allclose(probabilities(model, X), probabilities(one, X), rtol=0, atol=1e-6)
    y = [["A"] * 4] * 40
    model = DaskSeparateCRF(pairs="maxent").fit(in_parts(X), in_parts(y))
    assert model.pair_estimator_ is None and model.predict(X[:1]).tolist() == [["A"] * 4]


def test_parts_without_tokens_or_weight(in_parts):
    X, y = [["a", "b"], ["b"], [], ["b", "a"]] * 3, [["A", "B"], ["B"], [], ["B", "A"]] * 3
    weights, cuts = [0.0] * 2 + [1.0] * 10, [0, 2, 3, 12]
    pieces = [
        dask.delayed(SequenceArray.from_sequences(X[a:b]), pure=False) for a, b in pairwise(cuts)
    ]
    pieces[1] = dask.delayed(SequenceArray(np.empty(0, dtype=object), np.zeros(2, dtype=np.int64)))
    others = (in_parts(data, cuts, bag=False) for data in (y, weights))
    model = DaskSeparateCRF(EXACT, pairs=EXACT).fit(pieces, *others)
    one = SeparateCRF(EXACT, pairs=EXACT).fit(X, y, weights)
    assert_allclose(probabilities(model, X), probabilities(one, X), rtol=0, atol=1e-6)
    with pytest.raises(ValueError, match="sample_weight is zero for all"):
        nothing = in_parts([0.0] * 12, cuts, bag=False)
        DaskSeparateCRF(pairs="maxent").fit(
            *(in_parts(d, cuts, bag=False) for d in (X, y)), nothing
        )


def test_forests(in_parts):
    words = [["the", "old", "dog"], ["a", "cat"]] * 20
    labels = [["D", "A", "N"], ["D", "N"]] * 20
    heads = [[2, 2, -1], [1, -1]] * 20
    cuts = [0, 15, 40]
    forest = [GraphArray.from_parents(words[a:b], heads[a:b]) for a, b in ((0, 15), (15, 40))]
    parts = [dask.delayed(part, pure=False) for part in forest]
    params = {"estimator": EXACT, "pairs": EXACT}
    model = DaskSeparateCRF(**params).fit(parts, in_parts(labels, cuts, bag=False))
    every = GraphArray.from_parents(words, heads)
    one = SeparateCRF(**params).fit(every, labels)
    assert_allclose(probabilities(model, every), probabilities(one, every), rtol=0, atol=1e-6)


def test_corpus_folders(corpus, client, tmp_path):
    X, y = ([sequence for sequence in data if sequence] for data in corpus)
    texts = [tmp_path / f"{k}.txt" for k in range(3)]
    for path, a, b in zip(texts, (0, 9, 24), (9, 24, 40), strict=True):
        write_conll(path, X[a:b], y[a:b])
    first = write_corpus(texts[:2], tmp_path / "first")
    second = write_corpus(texts[2:], tmp_path / "second")
    model = DaskSeparateCRF(ROUGH, pairs=ROUGH, client=client).fit([first, second])
    expected = DaskSeparateCRF(ROUGH, pairs=ROUGH).fit(*read_conll(texts))
    assert_array_equal(probabilities(model, X), probabilities(expected, X))


@for_each(
    "params, message",
    [
        ({}, "estimator=None"),
        ({"pairs": LogisticRegression()}, "pairs=LogisticRegression"),
        ({"estimator": LogisticRegression()}, "estimator=LogisticRegression"),
        ({"pairs": "maxent", "estimator": CRF(solver="sgd")}, 'estimator=CRF.solver="sgd"'),
        ({"pairs": CRF(boundaries=True)}, "pairs=CRF.boundaries=True"),
        ({"estimator": EXACT, "edge_columns": ["a"]}, "edge_columns"),
    ],
)
def test_what_needs_all_data_is_refused(params, message, in_parts):
    nothing = in_parts([])
    with pytest.raises(ValueError, match=message):
        DaskSeparateCRF(**params).fit(nothing, nothing)


def test_errors_say_where(corpus, in_parts):
    X, y = corpus
    partial = [*y[:30], [None] * len(y[30]), *y[31:]]
    with pytest.raises(ValueError, match="part 5: y, sequence 2, position 0"):
        DaskSeparateCRF(pairs="maxent").fit(in_parts(X), in_parts(partial))
    with pytest.raises(ValueError, match="n_folds=50"):
        DaskSeparateCRF(pairs="maxent", n_folds=50).fit(in_parts(X), in_parts(y))
    weights = [list(range(len(words))) for words in X]
    with pytest.raises(ValueError, match=r"part .: sample_weight"):
        DaskSeparateCRF(pairs="maxent").fit(in_parts(X), in_parts(y), in_parts(weights))
    square = [GraphArray.from_edges([["a"] * 3], [[(0, 1), (1, 2), (0, 2)]])]
    labels = in_parts([["A", "B", "A"]], [0, 1], bag=False)
    with pytest.raises(ValueError, match="forest"):
        DaskSeparateCRF(pairs="maxent").fit([dask.delayed(square[0], pure=False)], labels)
    path = GraphArray.from_parents([["a", "b"]], [[1, -1]], edge_type="direction")
    with pytest.raises(ValueError, match="edges cannot have types"):
        parts = [dask.delayed(path, pure=False)], in_parts([["A", "B"]], [0, 1], bag=False)
        DaskSeparateCRF(pairs="maxent").fit(*parts)
