"""Data files and a model for the tests of commands."""

import pytest
from commands import LABELS, SENTENCES

from sklearn_crcrf import EmpiricalCRF
from sklearn_crcrf.datasets import make_addresses, write_conll
from sklearn_crcrf.model_files import save_model


@pytest.fixture
def corpus(tmp_path):
    X, y = make_addresses(40, random_state=1)
    path = tmp_path / "addresses.tsv"
    write_conll(path, X, y)
    return path, X, y


@pytest.fixture
def model(corpus, tmp_path):
    _, X, y = corpus
    path = tmp_path / "model.crcrf"
    save_model(EmpiricalCRF().fit(X, y), path, ["word", "label"])
    return path


@pytest.fixture
def three_columns(tmp_path):
    X = [[{"word": w, "pos": "U" if w[:1].isupper() else "L"} for w in x] for x in (SENTENCES * 5)]
    path = tmp_path / "chunks.tsv"
    write_conll(path, X, [LABELS[len(x)] for x in X])
    return path
