"""The recognizer of Presidio."""

import pytest

from sklearn_crcrf import EmpiricalCRF, TextTagger
from sklearn_crcrf.model_files import save_model

presidio = pytest.importorskip("presidio_analyzer")
spacy = pytest.importorskip("spacy")

from presidio_analyzer.nlp_engine import NerModelConfiguration, SpacyNlpEngine  # noqa: E402

from sklearn_crcrf.integrations.presidio import SpanRecognizer  # noqa: E402

TEXTS = ["Ann lives in Rome.", "Bob left Paris on Monday.", "Ann met Bob on Friday."]
SPANS = [
    [(0, 3, "PER"), (13, 17, "LOC")],
    [(0, 3, "PER"), (9, 14, "LOC"), (18, 24, "DAY")],
    [(0, 3, "PER"), (8, 11, "PER"), (15, 21, "DAY")],
]


@pytest.fixture(scope="module")
def tagger():
    return TextTagger(EmpiricalCRF()).fit(TEXTS, SPANS)


def found(results):
    return [(one.entity_type, one.start, one.end) for one in results]


def test_labels_get_the_names_of_presidio(tagger):
    recognizer = SpanRecognizer(tagger)
    assert set(recognizer.supported_entities) == {"PERSON", "LOCATION", "DAY"}
    results = recognizer.analyze(TEXTS[0], None)
    assert found(results) == [("PERSON", 0, 3), ("LOCATION", 13, 17)]
    (expected,) = tagger.predict(TEXTS[:1])
    assert [one.score for one in results] == [span.probability for span in expected]
    assert "PER with probability" in results[0].analysis_explanation.textual_explanation
    assert found(recognizer.analyze(TEXTS[0], ["LOCATION"])) == [("LOCATION", 13, 17)]


def test_named_entities_only(tagger, tmp_path):
    path = tmp_path / "model.crcrf"
    save_model(tagger, path)
    recognizer = SpanRecognizer(path, {"DAY": "DATE_TIME"}, name="days")
    assert found(recognizer.analyze(TEXTS[1], [])) == [("DATE_TIME", 18, 24)]
    assert (recognizer.supported_entities, recognizer.name) == (["DATE_TIME"], "days")
    with pytest.raises(ValueError, match="entities: the model has no label 'ORG'"):
        SpanRecognizer(tagger, {"ORG": "ORGANIZATION"})


def test_beside_other_recognizers(tagger):
    class Blank(SpacyNlpEngine):
        def __init__(self):
            super().__init__(ner_model_configuration=NerModelConfiguration())
            self.nlp = {"en": spacy.blank("en")}

    registry = presidio.RecognizerRegistry(supported_languages=["en"])
    registry.add_recognizer(SpanRecognizer(tagger))
    numbers = presidio.Pattern("number", r"\d{5}", 0.5)
    registry.add_recognizer(presidio.PatternRecognizer("ZIP", patterns=[numbers]))
    engine = presidio.AnalyzerEngine(registry, Blank(), supported_languages=["en"])
    results = engine.analyze("Bob lives in 12345 Paris.", language="en")
    assert set(found(results)) == {("PERSON", 0, 3), ("ZIP", 13, 18), ("LOCATION", 19, 24)}
