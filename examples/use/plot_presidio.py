"""
Find personal data with Presidio
================================

Presidio joins recognizers: patterns for numbers, and models for names. A
:class:`~sklearn_crcrf.TextTagger` is one of them, whose scores are probabilities.
``pip install presidio-analyzer`` installs what this needs.
"""

import spacy
from presidio_analyzer import AnalyzerEngine, RecognizerRegistry
from presidio_analyzer.nlp_engine import NerModelConfiguration, SpacyNlpEngine
from presidio_analyzer.predefined_recognizers import PhoneRecognizer

from sklearn_crcrf import EmpiricalCRF, TextTagger
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.integrations.presidio import SpanRecognizer
from sklearn_crcrf.text import labels_to_spans

X, y = make_addresses(1000, random_state=0)
texts = [" ".join(words) for words in X]
spans = [labels_to_spans(text, *pair) for text, *pair in zip(texts, y, X, strict=True)]
tagger = TextTagger(EmpiricalCRF()).fit(texts[:900], spans[:900])

# %%
# The recognizer
# --------------
# Each label gets an entity of Presidio; labels without one are left out. Labels such as "PER" and
# "LOC" need no mapping: they get the names that Presidio gives them.
entities = {"RECIPIENT": "PERSON", "STREET": "LOCATION", "CITY": "LOCATION"}
recognizer = SpanRecognizer(tagger, entities, language="de")

# %%
# Presidio wants a model of spaCy for each language. A blank one is enough: it cuts words for the
# patterns.


class Blank(SpacyNlpEngine):
    def __init__(self):
        super().__init__(ner_model_configuration=NerModelConfiguration())
        self.nlp = {"de": spacy.blank("de")}


registry = RecognizerRegistry(supported_languages=["de"])
registry.add_recognizer(recognizer)
registry.add_recognizer(PhoneRecognizer(supported_language="de", supported_regions=["DE"]))
engine = AnalyzerEngine(registry, Blank(), supported_languages=["de"])

text = texts[900] + "\n0171 1234567"
print(text)
for result in engine.analyze(text, language="de"):
    print(f"{result.entity_type:13} {result.score:.3f} {text[result.start : result.end]}")
