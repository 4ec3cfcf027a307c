"""Weights in eli5, beside the weights that it shows of sklearn-crfsuite."""

import numpy as np
import pytest

from sklearn_crcrf import CRF, HMM, CRFsuiteCRF
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.display import enable_eli5

eli5 = pytest.importorskip("eli5")

WORDS, y = make_addresses(20, random_state=0)
X = [[{"word": word, "upper": word.isupper()} for word in sentence] for sentence in WORDS]


@pytest.fixture(scope="module", autouse=True)
def enabled():
    enable_eli5()


def test_the_same_as_for_sklearn_crfsuite(tmp_path):
    sklearn_crfsuite = pytest.importorskip("sklearn_crfsuite")
    path = tmp_path / "model.crfsuite"
    theirs = sklearn_crfsuite.CRF(c2=0.1, model_filename=str(path), max_iterations=20).fit(X, y)
    ours = CRFsuiteCRF(model_filename=path)
    options = {"top": 5, "feature_re": "word", "target_names": {"O": "outside"}}
    ours, theirs = (eli5.explain_weights(crf, **options) for crf in (ours, theirs))
    assert ours.method == theirs.method == "CRF"
    ours_table, theirs_table = (e.transition_features for e in (ours, theirs))
    assert ours_table.class_names == theirs_table.class_names
    np.testing.assert_allclose(ours_table.coef, theirs_table.coef, atol=1e-6)
    assert [t.target for t in ours.targets] == [t.target for t in theirs.targets]
    for one, other in zip(ours.targets, theirs.targets, strict=True):
        for sign in ("pos", "neg"):
            found, wanted = (getattr(t.feature_weights, sign) for t in (one, other))
            assert [f.weight for f in found] == pytest.approx([f.weight for f in wanted], abs=1e-6)


def test_labels_and_weights_are_named():
    crf = CRF(max_iter=500).fit(X, y)
    found = eli5.explain_weights(crf, top=(1, 0), targets=["B-CITY", "O"])
    assert [t.target for t in found.targets] == ["B-CITY", "O"]
    (best,) = found.targets[0].feature_weights.pos
    assert best.weight == max(crf.coef_[:, crf.classes_.tolist().index("B-CITY")])
    assert crf.state_features_[best.feature, "B-CITY"] == best.weight
    assert "Transition features" in eli5.format_as_text(found)
    assert eli5.explain_weights(HMM().fit(X, y)).error == "HMM has no weights to show"
