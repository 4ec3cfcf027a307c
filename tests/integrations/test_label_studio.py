"""The machine learning backend of Label Studio."""

import json

import pytest

from sklearn_crcrf import EmpiricalCRF, TextTagger
from sklearn_crcrf.model_files import load_model, save_model

pytest.importorskip("label_studio_ml.model")

from sklearn_crcrf.integrations.label_studio import SpanBackend

CONFIG = """
<View>
  <Labels name="kind" toName="document"><Label value="PER"/><Label value="LOC"/></Labels>
  <Text name="document" value="$body"/>
</View>
"""
TEXTS = ["Ann lives in Rome.", "Bob left Paris.", "Ann met Bob."]
SPANS = [
    [(0, 3, "PER"), (13, 17, "LOC")],
    [(0, 3, "PER"), (9, 14, "LOC")],
    [(0, 3, "PER"), (8, 11, "PER")],
]


@pytest.fixture
def backend(tmp_path):
    class Backend(SpanBackend):
        model_file = tmp_path / "model.crcrf"

    save_model(TextTagger(EmpiricalCRF()).fit(TEXTS, SPANS), Backend.model_file)
    return Backend(label_config=CONFIG)


def task(text, number=1):
    return {"id": number, "data": {"body": text}}


def event(text, spans, number=1):
    regions = [
        {"type": "labels", "value": {"start": start, "end": end, "labels": [label]}}
        for start, end, label in spans
    ]
    return {"task": task(text, number), "annotation": {"result": regions}}


def stored(backend):
    return load_model(backend.model_file).estimator


def test_regions_of_tasks(backend):
    found, empty = backend.predict([task("Bob lives in Paris."), task("")])
    first, second = found["result"]
    assert first["value"] == {"start": 0, "end": 3, "text": "Bob", "labels": ["PER"]}
    assert (first["from_name"], first["to_name"], first["type"]) == ("kind", "document", "labels")
    assert second["value"]["text"] == "Paris"
    assert found["score"] == min(first["score"], second["score"])
    assert empty == {"result": [], "score": 1.0}


def test_submitted_annotations_are_learned_changed_ones_replaced_deleted_ones_forgotten(backend):
    text, new = "Zoe saw Oslo.", [(0, 3, "PER"), (8, 12, "LOC")]
    wrong = [(0, 3, "LOC")]

    def equals(texts, spans):
        model = TextTagger(EmpiricalCRF()).fit(texts, spans)
        every = [*TEXTS, text, "Zoe left Oslo."]
        return [list(one) for one in stored(backend).predict(every)] == [
            list(one) for one in model.predict(every)
        ]

    backend.fit("ANNOTATION_CREATED", event(text, wrong))
    assert equals([*TEXTS, text], [*SPANS, wrong])
    backend.fit("ANNOTATION_UPDATED", event(text, new))
    assert equals([*TEXTS, text], [*SPANS, new])
    assert backend.predict([task(text)])[0]["result"][0]["value"]["labels"] == ["PER"]
    backend.fit((), event="ANNOTATION_DELETED", data=event(text, new), job_id="1")
    assert equals(TEXTS, SPANS)


def test_a_changed_file_is_read_again(backend):
    backend.predict([task("Bob")])
    save_model(
        TextTagger(EmpiricalCRF()).fit(["Bob met Ann"], [[(0, 3, "LOC")]]), backend.model_file
    )
    (found,) = backend.predict([task("Bob met Ann")])
    assert [region["value"]["labels"] for region in found["result"]] == [["LOC"]]


def test_what_cannot_be_learned_changes_nothing(backend):
    before = backend.model_file.read_bytes()
    with pytest.raises(ValueError, match="task 7"):
        backend.fit("ANNOTATION_CREATED", event("Zoe", [(0, 9, "PER")], 7))
    backend.fit("PROJECT_UPDATED", {})
    assert backend.model_file.read_bytes() == before
    assert [*backend.model_file.parent.glob("*.json")] == []


def test_what_tasks_have_taught_is_kept(backend):
    backend.fit("ANNOTATION_CREATED", event("Zoe", [(0, 3, "PER")], 7))
    (file,) = backend.model_file.parent.glob("*.learned.json")
    assert json.loads(file.read_text()) == {"7": [[0, 3, "PER"]]}


def test_a_configuration_without_labels_is_refused(backend):
    choices = '<Choices name="c" toName="t"><Choice value="a"/></Choices>'
    config = f'<View>{choices}<Text name="t" value="$b"/></View>'
    with pytest.raises(ValueError, match="no <Labels> for a <Text>"):
        type(backend)(label_config=config).predict([task("Ann")])
