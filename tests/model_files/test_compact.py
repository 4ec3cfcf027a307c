"""Compact models: the same predictions, no training, files that are mapped or compressed."""

import gzip
import pickle

import numpy as np
import pytest
from sklearn.base import clone

from sklearn_crcrf import CRF, HMM, EmpiricalCRF, make_sequence_pipeline, text_features
from sklearn_crcrf.model_files import CompactClassifier, load_model, save_model
from sklearn_crcrf.serving import load_tagger
from sklearn_crcrf.serving.content import Content
from sklearn_crcrf.serving.files import write_content

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

rng = np.random.default_rng(0)
WORDS = ["walk", "Walks", "dog", "É", "the", "co-op", "3"]
X = [[WORDS[rng.integers(7)] for _ in range(rng.integers(9))] for _ in range(50)]
Y = [[f"B-{len(word) % 3}" for word in sequence] for sequence in X]


def stored(estimator, path):
    save_model(estimator, path, ["word", "label"], compact=True)
    found = load_model(path)
    assert found.columns == ["word", "label"]
    return found.estimator


@pytest.mark.parametrize(
    "estimator",
    [
        EmpiricalCRF(),
        EmpiricalCRF(order=2),
        EmpiricalCRF(order=3),
        CRF(max_iter=5, features="observed"),
        CRF(max_iter=5, decoding="marginal"),
        make_sequence_pipeline(text_features("names"), CRF(max_iter=5)),
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["model", "model.gz"])
def test_the_same_predictions(estimator, name, tmp_path):
    estimator = clone(estimator).fit(X, Y)
    compact = stored(estimator, tmp_path / name)
    np.testing.assert_array_equal(compact.classes_, estimator.classes_)
    assert compact.predict(X).tolist() == estimator.predict(X).tolist()
    assert compact.score(X, Y) == estimator.score(X, Y)
    for found, wanted in zip(compact.predict_proba(X), estimator.predict_proba(X), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-5)
    np.testing.assert_allclose(compact.confidence(X), estimator.confidence(X), atol=1e-4)
    paths = zip(compact.predict_k_best(X, 2), estimator.predict_k_best(X, 2), strict=True)
    for found, wanted in paths:
        assert [path for path, _ in found] == [path for path, _ in wanted]
    allowed = [[set(Y[0][:1]) or None for _ in sequence] for sequence in X]
    if hasattr(estimator, "sample_unit"):
        assert compact.predict(X, allowed).tolist() == estimator.predict(X, allowed).tolist()
    again = pickle.loads(pickle.dumps(compact))
    assert again.predict(X[:3]).tolist() == compact.predict(X[:3]).tolist()
    assert load_tagger(tmp_path / name).many(X) == compact.predict(X).tolist()
    assert compact.predict([]).tolist() == [] == list(compact.predict_proba([]))


def test_it_only_predicts(tmp_path):
    compact = stored(EmpiricalCRF().fit(X, Y), tmp_path / "model")
    for method in (compact.fit, compact.partial_fit, compact.forget):
        with pytest.raises(ValueError, match="a compact model only predicts: it has no counts"):
            method(X, Y)
    assert isinstance(stored(compact, tmp_path / "again"), CompactClassifier)


def test_what_cannot_be_compact(tmp_path):
    with pytest.raises(ValueError, match="there is no tagger of HMM"):
        save_model(HMM().fit(X, Y), tmp_path / "model", compact=True)
    assert not (tmp_path / "model").exists()


def test_damaged_files(tmp_path):
    path = tmp_path / "model.gz"
    stored(EmpiricalCRF().fit(X[:5], Y[:5]), path)
    data = path.read_bytes()
    with pytest.raises(ValueError, match=r"model\.gz: .*larger than|model\.gz: .*max_bytes"):
        load_model(path, max_bytes=100)
    for end in range(20, len(data), 511):
        path.write_bytes(data[:end])
        with pytest.raises(ValueError, match="model"):
            load_model(path)
    path.write_bytes(gzip.compress(b"other"))
    with pytest.raises(ValueError, match="is not a model file"):
        load_model(path)


def test_one_long_label(tmp_path):
    labels = ["long" * 25000, *map(str, range(200))]
    crf = CRF(max_iter=0).fit([["a"] * 201], [["D"] * 201])
    settings, arrays, *_ = crf.tagger().content()
    n = len(labels)
    arrays = {**arrays, "transition": np.zeros((n, n)), "begin": np.zeros(n), "end": np.zeros(n)}
    arrays["coef"] = np.zeros((len(arrays["coef"]), n))
    write_content(tmp_path / "model", Content({**settings, "labels": labels}, arrays))
    with pytest.raises(ValueError, match="more than max_bytes"):
        load_model(tmp_path / "model", max_bytes=2**24)
