"""Taggers of binary models of CRFsuite, without scikit-learn."""

import io
import subprocess
import sys

import numpy as np
import pycrfsuite
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.model_files.conversion import read_crfsuite_model
from sklearn_crcrf.serving import load_tagger
from sklearn_crcrf.serving.crfsuite.binary_model import (
    CRFsuiteModel,
    ModelParts,
    crfsuite_bytes,
    parse_crfsuite_model,
)
from sklearn_crcrf.serving.crfsuite.content import crfsuite_content, model_of
from sklearn_crcrf.utils.unpacking import Budget

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
unwanted = {{"scipy", "sklearn", "joblib", "hashlib"}}
print(load_tagger({path!r})([{{"w": "x"}}]), unwanted & {{*sys.modules}})
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


SMALL = CRFsuiteModel(
    ["N", "D"],
    ["the", "日", "e=é", "日本"],
    (np.array([0.5, 1.0, -2.0, 3.0]), (np.arange(4), np.array([0, 1, 1, 0]))),
    (np.array([1.0, 1.5]), (np.array([0, 1]), np.array([1, 0]))),
)


def content_of(data):
    return crfsuite_content(ModelParts(io.BytesIO(data)), ":", Budget(None))


def test_the_model_comes_back():
    data = crfsuite_bytes(SMALL)
    assert crfsuite_bytes(model_of(content_of(data))) == data


@settings(max_examples=300)
@given(st.data())
def test_what_is_damaged_is_damaged_for_taggers_too(data):
    content = bytearray(crfsuite_bytes(SMALL))
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        model = parse_crfsuite_model(bytes(content))
    except ValueError:
        with pytest.raises(ValueError, match=r"."):
            content_of(bytes(content))
    else:
        found = model_of(content_of(bytes(content)))
        assert (found.labels, found.attributes) == (model.labels, model.attributes)
