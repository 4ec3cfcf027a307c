"""
Propose spans in Label Studio
=============================

Label Studio asks a service, its machine learning backend, for spans that people then correct. This
one learns each annotation when it is submitted, and forgets what a correction replaces. It needs
`Label Studio's package <https://github.com/HumanSignal/label-studio-ml-backend>`__, which is not on
PyPI: ``pip install git+https://github.com/HumanSignal/label-studio-ml-backend.git``.
"""

import tempfile
from pathlib import Path

import label_studio_ml  # noqa: F401 - Label Studio's package

from sklearn_crcrf import EmpiricalCRF, TextTagger
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.integrations.label_studio import SpanBackend
from sklearn_crcrf.model_files import save_model
from sklearn_crcrf.text import labels_to_spans

X, y = make_addresses(170, random_state=0)
texts = [" ".join(words) for words in X]
spans = [labels_to_spans(text, *pair) for text, *pair in zip(texts, y, X, strict=True)]
tagger = TextTagger(EmpiricalCRF()).fit(texts[:20], spans[:20])

folder = tempfile.TemporaryDirectory()
model = Path(folder.name) / "addresses.crcrf"
save_model(tagger, model)

# %%
# The backend
# -----------
# ``label-studio-ml create`` makes a folder with a file ``model.py``. These lines replace it, and
# ``label-studio-ml start`` serves them; enter the address under "Model" in the project's settings.


class Addresses(SpanBackend):
    model_file = model


# %%
# What Label Studio does
# ----------------------
# It gives the backend the labeling configuration of the project, and asks for the regions of tasks.
config = """
<View>
  <Labels name="label" toName="text">
    <Label value="RECIPIENT"/><Label value="STREET"/><Label value="NUMBER"/><Label value="CITY"/>
  </Labels>
  <Text name="text" value="$text"/>
</View>
"""
labels = {"RECIPIENT", "STREET", "NUMBER", "CITY"}
backend = Addresses(label_config=config)
tasks = [{"id": k, "data": {"text": text}} for k, text in enumerate(texts)]


def n_right():
    """How many of 100 tasks need no correction."""
    count = 0
    for k, prediction in enumerate(backend.predict(tasks[20:120]), 20):
        values = [region["value"] for region in prediction["result"]]
        found = {(value["start"], value["end"], *value["labels"]) for value in values}
        count += found == {span[:3] for span in spans[k] if span.label in labels}
    return count


print(n_right(), "of 100 tasks need no correction")

# %%
# Each annotation comes as an event when it is submitted. After fifty of them:
for k in range(120, 170):
    regions = [
        {"type": "labels", "value": {"start": start, "end": end, "labels": [label]}}
        for start, end, label, _ in spans[k]
    ]
    event = {"task": tasks[k], "annotation": {"id": k, "result": regions}}
    backend.fit("ANNOTATION_CREATED", event)

print(n_right(), "of 100 tasks need no correction")
folder.cleanup()
