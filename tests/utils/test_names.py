"""A single string is not taken apart into names of one character."""

import numpy as np
import pytest
from cases import for_each

from sklearn_crcrf import CRF, HMM, MEMM, MaxMarginCRF, StructuredPerceptron
from sklearn_crcrf.datasets import read_conll, write_conll
from sklearn_crcrf.feature_extraction import Window, WordVectors
from sklearn_crcrf.metrics import token_confusion_matrix, token_f1, token_log_loss

X = [[{"p": "D", "o": "x", "s": "y", "pos": "z"}, {"p": "N", "o": "x", "s": "y", "pos": "z"}]]
Y = [["D", "N"]]


@for_each("estimator", [CRF(), MEMM(), MaxMarginCRF(), StructuredPerceptron()])
@for_each("name", ["pos", "p", ""])
def test_edge_columns(estimator, name):
    message = rf"edge_columns is the single string '{name}'; put it into a list: \['{name}'\]"
    with pytest.raises(ValueError, match=message):
        estimator.set_params(edge_columns=name).fit(X, Y)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("labels", lambda: token_f1(Y, Y, labels="DN")),
        ("labels", lambda: token_confusion_matrix(Y, Y, labels="DN")),
        ("classes", lambda: token_log_loss(Y, [np.eye(2)], classes="DN")),
        ("classes", lambda: HMM().partial_fit([["a", "b"]], Y, classes="DN")),
        ("classes", lambda: StructuredPerceptron().partial_fit([["a", "b"]], Y, classes="DN")),
        ("columns", lambda: read_conll("none", columns="ab")),
        ("columns", lambda: write_conll("none", [["a"]], columns="ab")),
        ("templates", lambda: Window("token[-1]").fit([["a"]])),
        ("the list of words in vectors", lambda: WordVectors(("ab", np.eye(2))).fit([["a"]])),
    ],
)
def test_other_collections(name, call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "none").write_text("a b\n")
    with pytest.raises(ValueError, match=f"^{name} is the single string .*put it into a list"):
        call()


def test_an_array_of_no_dimension():
    with pytest.raises(ValueError, match="edge_columns is the single string 'pos'"):
        CRF(edge_columns=np.array("pos")).fit(X, Y)
