"""Separate training from a corpus folder, against the same fit in memory."""

import numpy as np
import pytest
from cases import for_each
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression

from sklearn_crcrf import CRF, SeparateCRF, Window
from sklearn_crcrf.datasets import write_conll
from sklearn_crcrf.estimators.separate import in_parts, rates
from sklearn_crcrf.estimators.separate.parts import TrainingData
from sklearn_crcrf.out_of_core import write_corpus

EXACT = CRF(features="observed", tol=1e-8)
WINDOW = Window((-1, 0, 1))


@pytest.fixture(scope="module")
def text():
    """Sequences of words, and labels that depend on the word and the label before."""
    rng = np.random.default_rng(0)
    X = [[f"w{w}" for w in rng.integers(4, size=rng.integers(3, 9))] for _ in range(90)]
    steps = [np.cumsum([int(w[1:]) % 2 for w in words]) for words in X]
    y = [["ABC"[k % 3] for k in of_words] for of_words in steps]
    y[50][0] = "late"
    return X, y


@pytest.fixture(scope="module")
def folder(text, tmp_path_factory):
    path = tmp_path_factory.mktemp("text")
    write_conll(path / "text.tsv", *text)
    return write_corpus(
        [path / "text.tsv"], path / "corpus", transformer=WINDOW, lines_per_part=150
    )


def probabilities(model, X):
    return np.concatenate(model.predict_proba(X))


@for_each(
    "params",
    [
        {"estimator": EXACT, "pairs": EXACT},
        {"estimator": EXACT, "pairs": "counts"},
        {"estimator": CRF(c1=0.1, tol=1e-8), "pairs": EXACT, "edge_columns": ["token[0]"]},
        {"estimator": EXACT, "pairs": CRF(tol=1e-8), "exponent": 0.8, "n_jobs": 2},
    ],
)
def test_the_model_is_that_of_one_fit(params, folder, text):
    X, y = text
    X = WINDOW.fit_transform(X)
    model, one = SeparateCRF(**params).fit(folder), SeparateCRF(**params).fit(X, y)
    assert len(folder) > 3
    assert model.exponent_ == one.exponent_
    assert set(model.attribute_names_) == set(one.attribute_names_)
    assert_array_equal(model.label_pairs_, one.label_pairs_)
    assert_array_equal(model.rates_, one.rates_)
    assert_allclose(probabilities(model, X), probabilities(one, X), rtol=0, atol=1e-6)
    assert model.predict(X).tolist() == one.predict(X).tolist()
    assert vars(model).keys() == vars(one).keys()


@for_each("few", [10, 1000])
def test_losses_of_held_out_labels(few, folder, text, monkeypatch):
    """Also where few links are counted, so that rates are estimated again."""
    losses = {"in parts": [], "in memory": []}
    of_part, in_memory = in_parts._losses, TrainingData._losses

    def spied(*args):
        losses["in parts"].append(of_part(*args))
        return losses["in parts"][-1]

    def spied_in_memory(*args):
        losses["in memory"].append(in_memory(*args))
        return losses["in memory"][-1]

    monkeypatch.setattr(in_parts, "_losses", spied)
    monkeypatch.setattr(TrainingData, "_losses", spied_in_memory)
    monkeypatch.setattr(rates, "FEW_PAIRS", few)
    X, y = text
    params = {"estimator": EXACT, "pairs": EXACT}
    model = SeparateCRF(**params).fit(folder)
    one = SeparateCRF(**params).fit(WINDOW.fit_transform(X), y)
    assert model.exponent_ == one.exponent_ > 0
    (expected,) = losses["in memory"]
    assert_allclose(sum(losses["in parts"]), expected.sum(axis=1), rtol=1e-6)


def test_threads_change_no_bit(folder, text):
    X, before = WINDOW.fit_transform(text[0]), sorted(folder.folder.iterdir())
    one, two = (SeparateCRF(pairs="maxent", n_jobs=n).fit(folder) for n in (1, 3))
    assert_array_equal(probabilities(one, X), probabilities(two, X))
    assert sorted(folder.folder.iterdir()) == before


def test_what_needs_all_data_is_refused(folder, text):
    with pytest.raises(ValueError, match="estimator=None"):
        SeparateCRF().fit(folder)
    with pytest.raises(ValueError, match="pairs=LogisticRegression"):
        SeparateCRF(pairs=LogisticRegression()).fit(folder)
    with pytest.raises(ValueError, match="pass neither"):
        SeparateCRF(pairs="maxent").fit(folder, text[1])
    with pytest.raises(ValueError, match=r'pairs=CRF.solver="newton-cg"'):
        SeparateCRF(pairs=CRF(solver="newton-cg")).fit(folder)
