"""The component "crcrf" in pipelines of spaCy."""

import numpy as np
import pytest

from sklearn_crcrf import EmpiricalCRF, TextTagger
from sklearn_crcrf.model_files import save_model

spacy = pytest.importorskip("spacy")
pytest.importorskip("sklearn_crcrf.integrations.spacy")

TEXTS = ["Ann lives in Rome.", "Bob left Paris.", "Ann met Bob."]
SPANS = [
    [(0, 3, "PER"), (13, 17, "LOC")],
    [(0, 3, "PER"), (9, 14, "LOC")],
    [(0, 3, "PER"), (8, 11, "PER")],
]


@pytest.fixture(scope="module")
def tagger():
    return TextTagger(EmpiricalCRF()).fit(TEXTS, SPANS)


@pytest.fixture(scope="module")
def model(tagger, tmp_path_factory):
    path = tmp_path_factory.mktemp("spacy") / "model.crcrf"
    save_model(tagger, path)
    return str(path)


@pytest.fixture
def nlp(model):
    pipeline = spacy.blank("en")
    pipeline.add_pipe("crcrf", config={"model": model})
    return pipeline


def entities(doc):
    return [(ent.start_char, ent.end_char, ent.label_) for ent in doc.ents]


def test_spans_and_scores_are_those_of_the_tagger(nlp, tagger):
    text = "Bob lives in Paris."
    doc, (expected,) = nlp(text), tagger.predict([text])
    assert entities(doc) == [span[:3] for span in expected] == [(0, 3, "PER"), (13, 18, "LOC")]
    group = doc.spans["crcrf"]
    assert [span.text for span in group] == ["Bob", "Paris"]
    np.testing.assert_allclose(group.attrs["scores"], [span.probability for span in expected], 1e-6)


def test_many_documents_at_once(nlp):
    alone = [entities(nlp(text)) for text in [*TEXTS, ""]]
    assert [entities(doc) for doc in nlp.pipe([*TEXTS, ""], batch_size=3)] == alone
    assert alone[-1] == []


@pytest.mark.parametrize("overwrite", [False, True])
def test_entities_of_earlier_components(model, overwrite):
    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "TOWN", "pattern": "in Rome"}])
    nlp.add_pipe("crcrf", config={"model": model, "overwrite_ents": overwrite})
    town = (13, 17, "LOC") if overwrite else (10, 17, "TOWN")
    doc = nlp(TEXTS[0])
    assert entities(doc) == [(0, 3, "PER"), town]
    assert [span.text for span in doc.spans["crcrf"]] == ["Ann", "Rome"]


def test_a_token_of_spacy_is_taken_whole(model):
    nlp = spacy.blank("en")
    nlp.tokenizer = spacy.tokenizer.Tokenizer(nlp.vocab)  # cuts at blanks only
    nlp.add_pipe("crcrf", config={"model": model})
    assert entities(nlp("Bob left Paris.")) == [(0, 3, "PER"), (9, 15, "LOC")]


def test_a_pipeline_on_disk_has_its_model(tagger, tmp_path):
    save_model(tagger, tmp_path / "model")
    nlp = spacy.blank("en")
    nlp.add_pipe("crcrf", config={"model": str(tmp_path / "model")})
    nlp.to_disk(tmp_path / "pipeline")
    (tmp_path / "model").unlink()
    again = spacy.load(tmp_path / "pipeline")
    assert entities(again(TEXTS[0])) == entities(nlp(TEXTS[0]))
    assert again.get_pipe("crcrf").labels == ("LOC", "PER")


def test_evaluation_by_spacy(nlp):
    from spacy.training import Example

    examples = [
        Example.from_dict(nlp.make_doc(text), {"entities": list(spans)})
        for text, spans in zip(TEXTS, SPANS, strict=True)
    ]
    assert nlp.evaluate(examples)["ents_f"] == 1.0


def test_what_is_missing_is_named(tmp_path):
    nlp = spacy.blank("en")
    nlp.add_pipe("crcrf")
    with pytest.raises(ValueError, match=r"no model: config=.*names its file"):
        nlp("Ann")
    nlp = spacy.blank("en")
    nlp.add_pipe("crcrf", config={"model": str(tmp_path / "none")})
    with pytest.raises(FileNotFoundError, match="none"):
        nlp("Ann")
