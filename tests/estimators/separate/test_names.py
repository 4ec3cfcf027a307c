"""What pairs that see both words gain on names."""

import os

import pytest
from sklearn.pipeline import make_pipeline

from sklearn_crcrf import CRF, SeparateCRF, SequenceVectorizer, TokenFeatures
from sklearn_crcrf.datasets import fetch_conll2002
from sklearn_crcrf.metrics import segment_f1

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(
        not os.environ.get("SKLEARN_CRCRF_DATA"), reason="SKLEARN_CRCRF_DATA is not set"
    ),
]


def test_pairs_that_see_both_words_are_better_than_counts_and_than_a_crf_of_single_words():
    X, y = fetch_conll2002("train", return_X_y=True)
    X_new, y_new = fetch_conll2002("testb", return_X_y=True)
    steps = make_pipeline(TokenFeatures("simple"), SequenceVectorizer(dtype="float32"))
    attributes = steps.fit_transform(X[:2000]), y[:2000]
    rows = CRF(sigma=3.0, features="observed", dtype="float32", tol=1e-3)
    f1 = {}
    models = {
        "counts": SeparateCRF(rows),
        "maxent": SeparateCRF(pairs="maxent"),
        "crf": CRF(sigma=3.0, dtype="float32", tol=1e-3),
    }
    for name, model in models.items():
        predicted = model.fit(*attributes).predict(steps.transform(X_new))
        f1[name] = 100 * segment_f1(y_new, predicted)
    assert f1["maxent"] > max(f1["counts"], f1["crf"]) + 2.0
