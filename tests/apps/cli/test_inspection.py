"""The command ``inspect``."""

import json

from commands import TEMPLATE, run

from sklearn_crcrf import CRF, EmpiricalCRF
from sklearn_crcrf.model_files import load_model, save_model


def test_inspect(corpus, model, capsys):
    _, X, y = corpus
    crf = EmpiricalCRF().fit(X, y)
    status, out, err = run(capsys, "inspect", "--model", model, "--json", "--top", 3)
    assert (status, err) == (0, "")
    found = json.loads(out)
    i, j = (crf.classes_.tolist().index(label) for label in ("B-STREET", "I-STREET"))
    assert found["transitions"]["B-STREET"]["I-STREET"] == crf.transitions_[i, j]
    top = found["attributes"]["B-CITY"]
    column = crf.coef_[:, [crf.classes_.tolist().index("B-CITY")]].toarray().ravel()
    assert list(top.values()) == sorted(column, reverse=True)[:3]
    names = crf.attribute_names_.tolist()
    assert all(column[names.index(name)] == weight for name, weight in top.items())
    _, out, _ = run(capsys, "inspect", "--model", model, "--label", "B-CITY", "--top", 2)
    assert "B-STREET" not in out.split("not zero")[1]
    for name, weight in list(top.items())[:2]:
        assert f"{weight:+10.4f}  {name}" in out


def test_inspect_shows_transitions_that_depend_on_attributes(three_columns, tmp_path, capsys):
    template, model = tmp_path / "template", tmp_path / "model"
    template.write_text(TEMPLATE)
    run(capsys, "train", three_columns, "--model", model, "--template", template)
    crf = load_model(model).estimator[-1]
    status, out, err = run(capsys, "inspect", "--model", model, "--json", "--top", 2)
    edges = json.loads(out)["edges"]
    assert (status, err) == (0, "") and len(edges) == 4
    assert [weight for *_, weight in edges[:2]] == sorted(crf.edge_coef_.ravel())[:-3:-1]
    names = crf.attribute_names_[crf._encoder.edge_attributes].tolist()
    for previous, label, name, weight in edges:
        i, j = (crf.classes_.tolist().index(it) for it in (previous, label))
        assert name.startswith("B01=") and crf.edge_coef_[names.index(name), i, j] == weight
    _, out, _ = run(capsys, "inspect", "--model", model, "--label", "O", "--label", "B-NP")
    assert f"{edges[0][-1]:+10.4f}  " in run(capsys, "inspect", "--model", model)[1]
    assert "B-NP → O | B01=L" in out and "I-NP" not in out.split("transitions that depend")[1]


def test_inspect_shows_negative_weights_and_what_is_impossible(corpus, tmp_path, capsys):
    _, X, y = corpus
    model = tmp_path / "model"
    crf = CRF(constraints="IOB2", max_iter=30, tol=1e-2).fit(X, y)
    save_model(crf, model)
    found = json.loads(run(capsys, "inspect", "--model", model, "--json")[1])
    assert found["transitions"]["O"]["I-CITY"] is None
    weights = list(found["attributes"]["B-CITY"].values())
    assert weights == sorted(weights, reverse=True) and weights[0] > 0 > weights[-1]
    assert len(weights) == 20
    argv = ["--label", "O", "--label", "I-CITY"]
    assert "-inf" in run(capsys, "inspect", "--model", model, *argv)[1]
