"""Pipelines with all predictions of their classifier."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from sklearn_crcrf import (
    CRF,
    EmpiricalCRF,
    SequencePipeline,
    SequenceVectorizer,
    Window,
    explain,
    make_sequence_pipeline,
)
from sklearn_crcrf.metrics import get_sequence_scorer

X = [["Ann", "sings"], ["Bob", "sleeps", "late"], ["Ann", "Lee"]] * 3
Y = [["B-PER", "O"], ["B-PER", "O", "O"], ["B-PER", "I-PER"]] * 3


@pytest.fixture
def pipeline():
    return make_sequence_pipeline(Window(), SequenceVectorizer(), CRF()).fit(X, Y)


def test_predictions_are_the_classifiers(pipeline):
    rows, crf = pipeline[:-1].transform(X), pipeline[-1]
    assert np.array_equal(pipeline.confidence(X), crf.confidence(rows))
    assert np.array_equal(pipeline.entropy(X), crf.entropy(rows))
    assert pipeline.predict_k_best(X, k=2) == crf.predict_k_best(rows, k=2)
    assert pipeline.predict_spans(X) == crf.predict_spans(rows)
    drawn = pipeline.sample(X, 3, random_state=0)
    assert drawn == crf.sample(rows, 3, random_state=0)
    assert explain(pipeline, X[0]).labels == Y[0]


def test_it_is_a_pipeline(pipeline):
    assert isinstance(clone(pipeline), SequencePipeline)
    assert pipeline.predict(X).tolist() == Y
    twin = pickle.loads(pickle.dumps(pipeline))
    assert np.array_equal(twin.confidence(X), pipeline.confidence(X))
    scorer = get_sequence_scorer("token_accuracy")
    search = GridSearchCV(clone(pipeline), {"crf__sigma": [0.5, 2]}, scoring=scorer, cv=2)
    assert search.fit(X, Y).best_estimator_.entropy(X).shape == (len(X),)


def test_it_offers_only_what_its_last_step_has():
    assert not hasattr(make_sequence_pipeline(Window(), SequenceVectorizer()), "confidence")
    assert make_sequence_pipeline(EmpiricalCRF()).fit(X, Y).confidence(X).shape == (len(X),)
