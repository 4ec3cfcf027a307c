"""The service that labels text."""

import pytest
from cases import for_each

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("httpx")

from sklearn.frozen import FrozenEstimator
from starlette.testclient import TestClient

from sklearn_crcrf import (
    CRF,
    HMM,
    ConformalSequenceClassifier,
    EmpiricalCRF,
    TextTagger,
    explain,
    make_sequence_pipeline,
    text_features,
)
from sklearn_crcrf.apps.web import tagging_app

X = [["the", "dog", "walks"], ["a", "cat", "sleeps"], ["Ann", "Lee", "sings"]]
PAIRS = [("dog", "NN"), ("walks", "VB")]
Y = [["O", "O", "O"], ["O", "O", "O"], ["B-PER", "I-PER", "O"]]


@pytest.fixture(scope="module")
def model():
    return EmpiricalCRF().fit(X, Y)


@pytest.fixture(scope="module")
def client(model):
    return TestClient(tagging_app(model))


@for_each(
    ("content", "sentences"),
    [
        ({"text": "Ann sings\n\nthe dog."}, [["Ann", "sings"], ["the", "dog", "."]]),
        ({"tokens": ["Ann", "Lee"]}, [["Ann", "Lee"]]),
        ({"sentences": [["a"], [], ["Ann"]]}, [["a"], [], ["Ann"]]),
        ({"text": ""}, []),
    ],
)
@for_each("details", [False, True])
def test_the_labels_are_those_of_predict(client, model, content, sentences, details):
    answer = client.post("/tag", json={**content, "details": details})
    assert answer.status_code == 200
    found = answer.json()["sentences"]
    assert [one["tokens"] for one in found] == sentences
    if sentences:
        assert [one["labels"] for one in found] == model.predict(sentences).tolist()
    assert all(("labellings" in one) == details for one in found)


@pytest.mark.parametrize("estimator", [CRF(), HMM()])
def test_other_estimators_serve(estimator):
    client = TestClient(tagging_app(estimator.fit(X, Y)))
    answer = client.post("/tag", json={"tokens": ["Ann", "Lee", "sings"], "details": True})
    (found,) = answer.json()["sentences"]
    assert found["labels"] == Y[2]
    assert found["labellings"][0]["marks"] == [[0, 2, "PER"]]
    assert found["likeliest"][0][0][0] == "B-PER"


@for_each(
    "content",
    [
        {},
        {"text": "a", "tokens": ["a"]},
        {"text": 3},
        {"tokens": "abc"},
        {"tokens": [1]},
        {"sentences": ["abc"]},
        {"sentences": [[["a"]]]},
        {"tokens": ["a"] * 20_001},
        {"sentences": [["a"]] * 1001},
        {"text": "a" * 200_001},
        {"tokens": ["a" * 100_000] * 3},
        {"sentences": [["a" * 100_000], ["a" * 100_001]]},
    ],
)
def test_content_that_is_not_valid_is_refused(client, content):
    answer = client.post("/tag", json=content)
    assert answer.status_code == 400 and answer.json()["error"]


@for_each(
    ("path", "content", "known"),
    [
        ("/tag", {"text": "Ann", "detail": True}, "text, tokens, sentences, details"),
        ("/redact", {"text": "Ann", "detail": "-"}, "text, replace"),
        ("/explain", {"tokens": ["Ann"], "detail": []}, "text, tokens, sentences, labels, against"),
    ],
)
def test_unknown_keys_are_named(client, path, content, known):
    answer = client.post(path, json=content)
    assert answer.status_code == 400
    assert answer.json()["error"] == f"the content has unknown keys: 'detail'; known are {known}"


@for_each("estimator", [EmpiricalCRF(), make_sequence_pipeline(text_features("tags"), CRF())])
def test_tokens_of_several_columns(estimator):
    X = [[{"word": w, "pos": p} for w, p in s] for s in (PAIRS, PAIRS[::-1])]
    estimator.fit(X, [["O", "V"], ["V", "O"]])
    client = TestClient(tagging_app(estimator, columns=["word", "pos"]))
    assert client.get("/health").json()["columns"] == ["word", "pos"]
    answer = client.post("/tag", json={"sentences": X, "details": True}).json()["sentences"]
    assert [one["labels"] for one in answer] == estimator.predict(X).tolist()
    assert [one["tokens"] for one in answer] == X and answer[0]["labellings"]
    (reasons,) = client.post("/explain", json={"tokens": X[0][:1]}).json()["contributions"]
    assert reasons
    more = {**X[0][0], "x": ""}
    for wrong in ({"word": "a"}, more, {"word": "a", "pos": 1}, "a", ["a", "b"], None):
        answer = client.post("/tag", json={"tokens": [X[0][0], wrong]})
        assert answer.status_code == 400
        assert "objects, each with the strings 'word', 'pos'" in answer.json()["error"]
    for path in ("/tag", "/redact", "/explain"):
        answer = client.post(path, json={"text": "dog"})
        assert answer.status_code == 400 and "and no 'text'" in answer.json()["error"]


def test_texts_are_redacted(client):
    answer = client.post("/redact", json={"text": "Ann Lee sings.\nthe dog, Ann Lee"}).json()
    assert answer["text"] == "[PER] sings.\nthe dog, [PER]"
    assert answer["spans"] == [[0, 7, "PER", None], [24, 31, "PER", None]]
    assert "promise" not in answer
    for content in {}, {"text": 1}, {"text": "a " * 25_000}:
        answer = client.post("/redact", json=content)
        assert answer.status_code in (400, 413) and answer.json()["error"]


@for_each("as_text", [False, True])
def test_what_is_promised_is_in_the_answers(model, as_text):
    recall = ConformalSequenceClassifier(model, 0.5, "recall").conformalize(X * 3, Y * 3)
    if as_text:
        recall = TextTagger(FrozenEstimator(recall)).fit([], [])
    client = TestClient(tagging_app(recall))
    promise = {"target": "recall", "confidence_level": 0.5, "unit": "token"}
    assert client.get("/health").json()["promise"] == promise
    for text in "Ann Lee sings", "":
        assert client.post("/tag", json={"text": text}).json()["promise"] == promise
    answer = client.post("/redact", json={"text": "Ann Lee sings"}).json()
    assert answer["promise"] == promise and answer["text"] == "[PER] sings"
    ((start, end, label, probability),) = answer["spans"]
    assert (start, end, label) == (0, 7, "PER") and 0 < probability < 1


def test_explanations(client, model):
    answer = client.post("/explain", json={"tokens": X[2]}).json()
    expected = explain(model, X[2])
    assert answer["labels"] == Y[2]
    assert answer["score"] == pytest.approx(expected.score)
    best = max(answer["contributions"][0], key=lambda one: abs(one["value"]))
    assert best["name"] in expected.contributions.name
    assert client.post("/explain", json={"tokens": []}).status_code == 400
    assert client.post("/explain", json={"tokens": ["a"], "labels": ["?"]}).status_code == 400
    against = client.post("/explain", json={"tokens": ["Ann"], "against": ["O"]}).json()
    assert against["score"] > 0


def test_health_and_description(client):
    health = client.get("/health").json()
    assert health["status"] == "ok" and health["labels"] == ["B-PER", "I-PER", "O"]
    described = client.get("/openapi.json").json()
    assert described["openapi"].startswith("3.1") and set(described["paths"]) == {
        "/tag",
        "/redact",
        "/explain",
        "/health",
    }
    assert described["components"]["schemas"]["Labels"]["items"]["enum"] == health["labels"]


def test_what_takes_too_long_is_refused(monkeypatch):
    import time

    from starlette.applications import Starlette

    from sklearn_crcrf.apps.web import json_api
    from sklearn_crcrf.apps.web.work import Work

    monkeypatch.setattr(json_api, "TIMEOUT", 0.01)
    route = json_api.post("/slow", lambda content: time.sleep(0.2), Work())
    answer = TestClient(Starlette(routes=[route])).post("/slow", json={})
    assert answer.status_code == 503


def test_text_is_cut_into_characters():
    characters = EmpiricalCRF().fit([[*"Ann"], [*"is"]], [["B-PER", "I-PER", "I-PER"], ["O", "O"]])
    client = TestClient(tagging_app(characters, tokenizer="characters"))
    (found,) = client.post("/tag", json={"text": "Ann"}).json()["sentences"]
    assert found["tokens"] == ["A", "n", "n"]
    own = TextTagger(FrozenEstimator(characters), tokenizer="characters").fit([], [])
    with pytest.raises(ValueError, match="tokenizer must be that of the model, 'characters'"):
        tagging_app(own, tokenizer="words")


def test_text_is_cut_as_in_training():
    text = "Ann Lee sings. Bob\r\nwalks"
    tagger = TextTagger(EmpiricalCRF(), sentences="rule")
    tagger.fit([text], [[(0, 7, "PER"), (15, 18, "PER")]])
    client = TestClient(tagging_app(tagger))
    found = client.post("/tag", json={"text": text}).json()["sentences"]
    assert [one["tokens"] for one in found] == [["Ann", "Lee", "sings", "."], ["Bob", "walks"]]
    answer = client.post("/redact", json={"text": text, "replace": "<{label}>"}).json()
    assert answer["text"] == tagger.redact(text, "<{label}>") == "<PER> sings. <PER>\r\nwalks"
    assert [span[:3] for span in answer["spans"]] == [[0, 7, "PER"], [15, 18, "PER"]]
    for replace in (3, "x" * 101):
        answer = client.post("/redact", json={"text": text, "replace": replace})
        assert answer.status_code == 400 and "'replace'" in answer.json()["error"]
