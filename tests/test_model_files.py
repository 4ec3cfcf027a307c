"""Files of models are checked when they are read."""

import zipfile

import joblib
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from toy import make_corpus

from sklearn_crcrf import CRF, HMM, BoostedCRF, EmpiricalCRF, SequenceVectorizer, TemplateFeatures
from sklearn_crcrf.model_files import load_model, save_model

skops = pytest.importorskip("skops.io")

X, y = make_corpus(n_sequences=20)


class Foreign(HMM):
    """Not of the package."""


@pytest.mark.parametrize(
    "estimator",
    [
        EmpiricalCRF(),
        EmpiricalCRF.maxent(),
        CRF(c1=0.1, criterion="mce", max_iter=5),
        make_pipeline(TemplateFeatures("U0:%x[0,0]\nB0:%x[0,0]"), CRF(edge_columns=["B0"])),
        make_pipeline(SequenceVectorizer(), BoostedCRF(max_iter=2)),
    ],
    ids=range(5),
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
    skops.dump(LogisticRegression(), path)
    with pytest.raises(ValueError, match="it holds a LogisticRegression"):
        load_model(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("schema.json", "[]")
    with pytest.raises(ValueError, match="is damaged, or not a model file"):
        load_model(path)


def test_a_later_version_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("sklearn_crcrf.model_files.VERSION", 2)
    save_model(HMM().fit(X, y), tmp_path / "m")
    monkeypatch.undo()
    with pytest.raises(ValueError, match="has version 2 of the format"):
        load_model(tmp_path / "m")


def test_what_the_package_does_not_define_is_not_trusted(tmp_path):
    path = tmp_path / "m"
    path.write_bytes(b"older")
    with pytest.raises(ValueError, match=r"cannot hold .*Foreign"):
        save_model(Foreign().fit(X, y), path)
    assert [p.name for p in tmp_path.iterdir()] == ["m"] and path.read_bytes() == b"older"
    skops.dump({"format": "sklearn-crcrf model", "estimator": Foreign()}, path)
    with pytest.raises(ValueError, match=r"is not trusted: it holds .*Foreign"):
        load_model(path)


def test_what_the_package_imports_is_not_trusted_either(tmp_path):
    from sklearn_crcrf.model_files import _foreign

    names = ["sklearn_crcrf.model_files.importlib", "sklearn_crcrf.model_files.os.system"]
    names += ["sklearn_crcrf.model_files.none", "sklearn_crcrfx.y", "sklearn_crcrf.none.X"]
    names += ["sklearn_crcrf._single.unwrap.x", "sklearn_crcrf.cli._progress.redirect_stdout"]
    assert _foreign([*names, "sklearn_crcrf.hmm.HMM"]) == sorted(names)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_file_has_no_entry_for_each_attribute(tmp_path):
    def n_nodes(n_words):
        X = [[f"w{i}" for i in range(n_words)]]
        save_model(CRF(max_iter=2, tol=0.0).fit(X, [["A", "B"] * (n_words // 2)]), tmp_path / "m")
        with zipfile.ZipFile(tmp_path / "m") as file:
            return file.read("schema.json").count(b"__class__")

    assert n_nodes(2) == n_nodes(200)
