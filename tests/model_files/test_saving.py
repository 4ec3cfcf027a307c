"""Files of models are checked when they are read."""

import gzip
import json
import tracemalloc
from pathlib import Path
from tempfile import TemporaryDirectory

import joblib
import numpy as np
import pytest
from cases import for_each
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from toy import make_corpus
from written_models import write

from sklearn_crcrf import (
    CRF,
    HMM,
    BoostedCRF,
    EmpiricalCRF,
    FoundLabels,
    SequenceVectorizer,
    TemplateFeatures,
    TokenFeatures,
    make_sequence_pipeline,
    text_features,
)
from sklearn_crcrf.model_files import CompactClassifier, load_model, save_model
from sklearn_crcrf.serving.files import MODEL, read_content

X, y = make_corpus(n_sequences=20)
# Written before estimators had all parameters that they have now.


class Foreign(HMM):
    """Not of the package."""


@pytest.mark.parametrize(
    "estimator",
    [
        EmpiricalCRF(),
        EmpiricalCRF.maxent(),
        EmpiricalCRF.ecrn(spelling="mean", known_neighbour="word"),
        CRF(c1=0.1, criterion="mce", max_iter=5),
        make_pipeline(TemplateFeatures("U0:%x[0,0]\nB0:%x[0,0]"), CRF(edge_columns=["B0"])),
        make_pipeline(SequenceVectorizer(), BoostedCRF(max_iter=2, pairs=True)),
        make_sequence_pipeline(FoundLabels(EmpiricalCRF(), cv=2), text_features("tags"), CRF()),
    ],
    ids=range(7),
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_model_comes_back(estimator, tmp_path):
    estimator.fit(X, y)
    save_model(estimator, tmp_path / "m", ["word", None, "label"])
    stored = load_model(str(tmp_path / "m"))
    assert stored.columns == ["word", None, "label"]
    assert stored.estimator.predict(X).tolist() == estimator.predict(X).tolist()
    for p, q in zip(stored.estimator.predict_proba(X), estimator.predict_proba(X), strict=True):
        assert np.array_equal(p, q)


def test_a_search_is_not_a_model(tmp_path):
    search = GridSearchCV(CRF(), {"sigma": [1, 2]}, cv=2).fit(X, y)
    with pytest.raises(ValueError, match="not a search: pass its best_estimator_"):
        save_model(search, tmp_path / "model")
    save_model(search.best_estimator_, tmp_path / "model")


@for_each("compact", [False, True])
def test_what_is_not_fitted_is_refused(compact):
    with TemporaryDirectory() as folder:
        path = Path(folder, "model")
        pipeline = make_pipeline(TokenFeatures(), SequenceVectorizer(), CRF())
        for model, name in ((CRF(), "CRF"), (pipeline, "SequenceVectorizer")):
            with pytest.raises(NotFittedError, match=f"This {name} instance is not fitted"):
                save_model(model, path, compact=compact)
        nested = make_pipeline(make_pipeline(SequenceVectorizer()), CRF().fit(X, y))
        with pytest.raises(NotFittedError, match="This SequenceVectorizer instance is not fitted"):
            save_model(nested, path, compact=compact)
        assert not path.exists()


def test_a_transformer_that_learns_nothing_needs_no_fit(tmp_path):
    model = make_pipeline(TokenFeatures(), CRF().fit(X, y))
    save_model(model, tmp_path / "model")
    stored = load_model(tmp_path / "model").estimator
    assert stored.predict(X).tolist() == model.predict(X).tolist()


def test_taggers_and_compact_models_are_no_complete_models(tmp_path):
    tagger = CRF().fit(X, y).tagger()
    for compact in (False, True):
        with pytest.raises(ValueError, match="not a tagger: write that by its method save"):
            save_model(tagger, tmp_path / "model", compact=compact)
    with pytest.raises(ValueError, match="nothing to train on with: pass compact=True"):
        save_model(CompactClassifier(tagger), tmp_path / "model")
    save_model(CompactClassifier(tagger), tmp_path / "model", compact=True)


@for_each("columns", ["word", [1], [b"word"]])
def test_columns_must_be_names(columns):
    with pytest.raises(ValueError, match="columns must be a list of names of columns, got"):
        save_model(HMM().fit(X, y), "never-written", columns)


def test_damage_anywhere_is_a_value_error(tmp_path):
    path = tmp_path / "m"
    save_model(HMM().fit(X, y), path)
    data = path.read_bytes()
    rng = np.random.default_rng(0)
    for place in rng.integers(len(data), size=30).tolist():
        path.write_bytes(data[:place])
        with pytest.raises(ValueError, match="not a model file"):
            load_model(path)
        # A flipped byte may be one that nobody reads.
        path.write_bytes(data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :])
        try:
            assert isinstance(load_model(path).estimator, HMM)
        except ValueError as error:
            assert str(path) in str(error)


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "m"
    joblib.dump(HMM(), path)
    with pytest.raises(ValueError, match="is not a model file"):
        load_model(path)
    write(path, SGDClassifier())
    with pytest.raises(ValueError, match=r"is not trusted: it holds .*SGDClassifier"):
        load_model(path)
    write(path, LogisticRegression())
    with pytest.raises(
        ValueError, match=r"must be a sequence classifier .* is a LogisticRegression"
    ):
        load_model(path)
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes())[:100]))
    with pytest.raises(ValueError, match="is damaged, or not a model file"):
        load_model(path)


def test_a_later_version_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("sklearn_crcrf.model_files.saving.VERSION", 2)
    save_model(HMM().fit(X, y), tmp_path / "m")
    monkeypatch.undo()
    with pytest.raises(ValueError, match="has version 2 of the format"):
        load_model(tmp_path / "m")


def test_what_contains_itself_is_refused(tmp_path):
    model = HMM().fit([["a"]], [["N"]])
    model.names = [[]]
    model.names[0].append(model.names)
    with pytest.raises(ValueError, match=r"cannot hold .* contains itself"):
        save_model(model, tmp_path / "m")


def test_what_the_package_does_not_define_is_not_trusted(tmp_path):
    path = tmp_path / "m"
    path.write_bytes(b"older")
    with pytest.raises(ValueError, match="must be a sequence classifier of sklearn_crcrf"):
        save_model(LogisticRegression(), path)
    with pytest.raises(ValueError, match=r"cannot hold .*Foreign"):
        save_model(Foreign().fit(X, y), path)
    assert [p.name for p in tmp_path.iterdir()] == ["m"] and path.read_bytes() == b"older"
    write(path, Foreign())
    with pytest.raises(ValueError, match=r"is not trusted: it holds .*Foreign"):
        load_model(path)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_file_has_no_entry_for_each_attribute(tmp_path):
    def n_nodes(n_words):
        X = [[f"w{i}" for i in range(n_words)]]
        save_model(CRF(max_iter=2, tol=0.0).fit(X, [["A", "B"] * (n_words // 2)]), tmp_path / "m")
        content = read_content(tmp_path / "m", None, False, MODEL)
        return json.dumps(content.settings["estimator"]).count("[")

    assert n_nodes(2) == n_nodes(200)


def test_what_is_not_sound_is_neither_written_nor_read(tmp_path):
    hmm = HMM().fit(X, y)
    save_model(hmm, tmp_path / "m")
    hmm.transitions_ = hmm.transitions_[:1]
    with pytest.raises(ValueError, match="HMM: transitions_ has the shape"):
        save_model(hmm, tmp_path / "m")
    assert load_model(tmp_path / "m").estimator.predict(X).tolist()
    write(tmp_path / "m", hmm)
    with pytest.raises(ValueError, match=r"is damaged.*HMM: transitions_ has the shape"):
        load_model(tmp_path / "m")


@pytest.mark.parametrize(
    ("parameter", "value", "message"),
    [("smoothing", "much", "'smoothing' parameter of HMM"), ("n_jobs", 10**6, "n_jobs must be")],
)
def test_parameters_are_checked(parameter, value, message, tmp_path):
    hmm = HMM().fit(X, y)
    setattr(hmm, parameter, value)
    write(tmp_path / "m", hmm)
    with pytest.raises(ValueError, match=message):
        load_model(tmp_path / "m")


@pytest.mark.parametrize("columns", [[1], 3, ["word", ["label"]]])
def test_columns_are_checked(columns, tmp_path):
    write(tmp_path / "m", HMM().fit(X, y), columns=columns)
    with pytest.raises(ValueError, match=str(tmp_path)):
        load_model(tmp_path / "m")


def test_the_limit_on_what_a_file_unpacks_to(tmp_path):
    hmm = HMM().fit([["w" * 10_000_000]], [["A"]])
    save_model(hmm, tmp_path / "m")
    size = (tmp_path / "m").stat().st_size
    assert size < 100_000
    for limit in (0, size - 1, size, 10_000_000):
        with pytest.raises(ValueError, match=f"is too large: .*max_bytes={limit}"):
            load_model(tmp_path / "m", max_bytes=limit)
    for limit in (11_000_000, None):
        assert load_model(tmp_path / "m", max_bytes=limit).estimator.classes_.tolist() == ["A"]
    with pytest.raises(ValueError, match="max_bytes"):
        load_model(tmp_path / "m", max_bytes=-1)
    with pytest.raises(TypeError, match="max_bytes"):
        load_model(tmp_path / "m", max_bytes="1 GB")


def test_a_large_limit_takes_no_memory(tmp_path):
    save_model(HMM().fit(X, y), tmp_path / "m")
    tracemalloc.start()
    try:
        load_model(tmp_path / "m", max_bytes=2**50)
        assert tracemalloc.get_traced_memory()[1] < 2**25
    finally:
        tracemalloc.stop()
