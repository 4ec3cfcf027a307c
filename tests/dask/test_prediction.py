"""Labels, probabilities and scores of bags."""

import dask
import dask.bag as db
import numpy as np
import pytest

from sklearn_crcrf import CRF, EmpiricalCRF, SequenceArray
from sklearn_crcrf import metrics as in_memory
from sklearn_crcrf.dask import (
    DaskEmpiricalCRF,
    segment_precision_recall_f1,
    sequence_accuracy,
    token_accuracy,
)
from sklearn_crcrf.labels import AtMost


@pytest.fixture(scope="module")
def fitted(corpus):
    """A model that is not right everywhere, with and without Dask."""
    X, y = corpus
    return DaskEmpiricalCRF().partial_fit(X[:9], y[:9]), EmpiricalCRF().fit(X[:9], y[:9])


def test_bags_have_the_same_partitions(fitted, corpus, in_parts):
    (model, local), (X, _) = fitted, corpus
    labels, probabilities = model.predict(in_parts(X)), model.predict_proba(in_parts(X))
    assert isinstance(labels, db.Bag) and labels.npartitions == 8
    assert labels.compute() == local.predict(X).tolist()
    assert labels.map_partitions(lambda part: [len(part)]).compute() == [9, 0, 7, 8, 4, 8, 4, 0]
    pairs = zip(probabilities.compute(), local.predict_proba(X), strict=True)
    assert all(np.array_equal(a, b) for a, b in pairs)


def test_parts_of_any_kind(fitted, corpus, in_parts):
    (model, local), (X, y) = fitted, corpus
    parts = model.predict(in_parts(X, bag=False))
    assert [len(part) for part in dask.compute(*parts)] == [9, 0, 7, 8, 4, 8, 4, 0]
    array = SequenceArray.from_sequences(X)
    (labels,) = model.predict([dask.delayed(array)])
    assert labels.compute().tolist() == local.predict(array).tolist()
    assert model.predict(X).tolist() == local.predict(X).tolist()
    assert np.array_equal(model.predict_proba(X)[0], local.predict_proba(X)[0])
    assert model.score(X, y) == local.score(X, y)


def test_known_labels_and_constraints(fitted, corpus, in_parts):
    (model, local), X, cuts = fitted, corpus[0][:6], [0, 2, 6]
    known = [["O" if t == 0 else None for t in range(len(words))] for words in X]
    given = {"subject_to": [AtMost(["O"], 1)]}
    expected = local.predict(X, known, **given).tolist()
    assert model.predict(in_parts(X, cuts), in_parts(known, cuts), **given).compute() == expected
    with pytest.raises(ValueError, match="subject_to"):
        model.predict_proba(in_parts(X, cuts), **given)


def test_the_model_travels_once_to_each_worker(fitted, corpus, in_parts, client):
    labels = fitted[0].predict(in_parts(corpus[0]))
    loads = [key for key in labels.dask if str(key).startswith("loads-")]
    assert len(loads) == 1
    assert client.gather(client.compute(labels)) == fitted[1].predict(corpus[0]).tolist()


def test_scores_are_sums_of_counts(fitted, corpus, in_parts, client):
    (model, local), (X, y) = fitted, corpus
    weight = (np.arange(len(X)) % 4).tolist()
    given = [in_parts(y), model.predict(in_parts(X))]
    predicted = local.predict(X).tolist()
    for weights in (None, weight):
        options = {"sample_weight": None if weights is None else in_parts(weights)}
        score = model.score(in_parts(X), in_parts(y), **options)
        assert score == local.score(X, y, weights)
        for metric, name in (
            (token_accuracy, "token_accuracy"),
            (sequence_accuracy, "sequence_accuracy"),
            (segment_precision_recall_f1, "segment_precision_recall_f1"),
        ):
            expected = getattr(in_memory, name)(y, predicted, sample_weight=weights)
            assert metric(*given, client=client, **options) == expected


def test_nothing_to_score(fitted, in_parts):
    nothing = in_parts([[], []], [0, 1, 2])
    with pytest.raises(ValueError, match="there is nothing to score"):
        fitted[0].score(nothing, nothing)
    assert token_accuracy(nothing, nothing, zero_division=1.0) == 1.0
    with pytest.raises(ValueError, match="part 1: y_true has 1 sequences, but y_pred has 0"):
        sequence_accuracy(nothing, in_parts([[], []], [0, 1, 1]))


def test_not_fitted(in_parts):
    with pytest.raises(ValueError, match="not fitted"):
        DaskEmpiricalCRF().predict(in_parts([["a"]], [0, 1]))


def test_any_fitted_model_predicts_bags_by_itself(corpus, in_parts):
    """As the guide says: a local model in map_partitions."""
    X, y = corpus
    crf = CRF(tol=1.0).fit(X, y)
    labels = in_parts(X).map_partitions(lambda part: crf.predict(part).tolist())
    assert labels.compute() == crf.predict(X).tolist()
