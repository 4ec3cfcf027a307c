"""
In a pipeline of spaCy
======================

A :class:`~sklearn_crcrf.TextTagger` as the component "crcrf" of spaCy: the file of the model is all
that the pipeline needs to know. ``pip install spacy`` installs what this needs.
"""

import tempfile
from pathlib import Path

import spacy

from sklearn_crcrf import EmpiricalCRF, TextTagger
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.model_files import save_model
from sklearn_crcrf.text import labels_to_spans

X, y = make_addresses(1000, random_state=0)
texts = [" ".join(words) for words in X]
spans = [labels_to_spans(text, *pair) for text, *pair in zip(texts, y, X, strict=True)]
tagger = TextTagger(EmpiricalCRF()).fit(texts[:900], spans[:900])

folder = tempfile.TemporaryDirectory()
model = Path(folder.name) / "addresses.crcrf"
save_model(tagger, model)

# %%
# The component
# -------------
# spaCy finds it by its name; nothing else has to be imported.
nlp = spacy.blank("de")
nlp.add_pipe("crcrf", config={"model": str(model)})

doc = nlp(texts[900])
print(doc.text)
for ent in doc.ents:
    print(f"{ent.label_:10} {ent.text}")

# %%
# Probabilities stand where spaCy's own span categorizer has its scores, in the order of the spans:
group = doc.spans["crcrf"]
for span, score in zip(group, group.attrs["scores"], strict=True):
    print(f"{score:.3f} {span.label_:10} {span.text}")

# %%
# Many texts at once
# ------------------
# ``nlp.pipe`` labels many documents in one prediction.
found = [[(e.start_char, e.end_char, e.label_) for e in doc.ents] for doc in nlp.pipe(texts[900:])]
same = [span[:3] for spans in tagger.predict(texts[900:]) for span in spans]
print(sum(span in same for spans in found for span in spans), "of", len(same), "spans are the same")

# %%
# spaCy has tokens of its own: where it keeps together what the model takes apart, a span gets the
# whole token.
#
# One folder
# ----------
# ``to_disk`` stores the model with the pipeline, so the folder can move to another machine.
nlp.to_disk(Path(folder.name) / "pipeline")
model.unlink()
again = spacy.load(Path(folder.name) / "pipeline")
assert [e.text for e in again(texts[900]).ents] == [e.text for e in doc.ents]
folder.cleanup()
