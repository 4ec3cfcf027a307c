"""Taggers of binary models of CRFsuite, without scikit-learn."""

import subprocess
import sys

import pycrfsuite
import pytest

from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.model_files.conversion import read_crfsuite_model
from sklearn_crcrf.serving import load_tagger

WORDS, y = make_addresses(30, random_state=0)
X = [[{"w": w, "n": i, "next": {"w": w[:2]}, "l": [w[-1]]} for i, w in enumerate(s)] for s in WORDS]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("model") / "model.crfsuite")
    trainer = pycrfsuite.Trainer(verbose=False, params={"max_iterations": 20})
    for tokens, labels in zip(X, y, strict=True):
        trainer.append(tokens, labels)
    trainer.train(path)
    return path


def test_labels_and_probabilities_are_those_of_crfsuite(path, tmp_path):
    theirs, ours = pycrfsuite.Tagger(), load_tagger(path)
    theirs.open(path)
    assert list(ours.labels) == theirs.labels()
    for tokens in X:
        assert ours(tokens) == theirs.tag(tokens)
        marginals = ours.probabilities(tokens)
        for t, row in enumerate(marginals):
            expected = [theirs.marginal(label, t) for label in ours.labels]
            assert row == pytest.approx(expected, abs=1e-9)
    ours.save(tmp_path / "tagger")
    assert load_tagger(tmp_path / "tagger").many(X) == ours.many(X)
    assert read_crfsuite_model(path).predict(X) == ours.many(X)


def test_neither_scikit_learn_nor_scipy_is_imported(path):
    program = f"""
import sys
from sklearn_crcrf.serving import load_tagger
print(load_tagger({path!r})([{{"w": "x"}}]), {{"scipy", "sklearn", "joblib"}} & {{*sys.modules}})
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.endswith(b"'] set()\n")


def test_separators(path):
    assert load_tagger(path, separator="=").many(X) != load_tagger(path).many(X)
    with pytest.raises(ValueError, match="separator must be ':', '=' or None, got ';'"):
        load_tagger(path, separator=";")


def test_limits(path):
    with pytest.raises(ValueError, match="more than max_bytes=20000 bytes"):
        load_tagger(path, max_bytes=20000)
    with pytest.raises(FileNotFoundError):
        load_tagger(path + "x")
