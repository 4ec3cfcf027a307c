"""
Find names with rich features
=============================

A CRF sees what it is given. Here it is given more and more: the word, its spelling, its neighbours,
and the names that a first model has found elsewhere in the same newspaper. After each step the
errors that remain say what to try next.

The sentences are from the CoNLL-2002 shared task, see
:func:`~sklearn_crcrf.datasets.load_dutch_ner`, which finds or downloads them.
"""

import sys
from collections import Counter

import matplotlib.pyplot as plt

from sklearn_crcrf import (
    CRF,
    EmpiricalCRF,
    FoundLabels,
    TokenFeatures,
    make_sequence_pipeline,
    text_features,
)
from sklearn_crcrf.datasets import load_dutch_ner
from sklearn_crcrf.display import LabelConfusionDisplay, SegmentErrorsDisplay
from sklearn_crcrf.metrics import segment_f1, segment_report

try:
    (X_train, y_train), (X_dev, y_dev), (X_test, y_test) = load_dutch_ner()
except OSError as error:
    sys.exit(f"The corpus could not be found or fetched: {error}")

# %%
# The first 3,000 sentences suffice to see the effect of features. Errors are looked at in the
# tuning part; the test part is for the end.
X_train, y_train = X_train[:3000], y_train[:3000]
words, labels = X_train[1], y_train[1]
print(*(w if x == "O" else f"{w}/{x}" for w, x in zip(words, labels, strict=True)))

# %%
# More and more features
# ----------------------
# ``TokenFeatures`` adds prefixes, suffixes and the shape of the word. ``text_features`` adds the
# same of the neighbours too. ``FoundLabels`` adds what a first model, trained by counting, finds
# for the token itself and for the same words elsewhere in the document.
options = {"features": "observed", "sigma": 2.0, "dtype": "float32", "tol": 1e-3}
models = {
    "words": make_sequence_pipeline(CRF(**options)),
    "and spelling": make_sequence_pipeline(TokenFeatures("names"), CRF(**options)),
    "and neighbours": make_sequence_pipeline(text_features("names"), CRF(**options)),
    "and found names": make_sequence_pipeline(
        FoundLabels(EmpiricalCRF(), cv=3), text_features("names"), CRF(**options)
    ),
}
f1 = {}
for name, model in models.items():
    model.fit(X_train, y_train)
    f1[name] = 100 * segment_f1(y_dev, model.predict(X_dev))

figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
bars = ax.barh(list(f1), list(f1.values()), color="#0072b2")
ax.bar_label(bars, fmt="%.1f", padding=3)
ax.set(xlabel="F1 of names, in per cent", xlim=(0, 100))
ax.invert_yaxis()
plt.show()

# %%
# Which names are wrong?
# ----------------------
# In the tuning part, for the model with all features: wrong boundaries are rare, most errors are
# names that are missed or have the wrong type.
model = models["and found names"]
found = model.predict(X_dev)
SegmentErrorsDisplay.from_predictions(y_dev, found)
plt.show()

# %%
# Which types are confused? Tokens outside of all names are left out.
LabelConfusionDisplay.from_predictions(y_dev, found, exclude=["O"], normalize="true")
plt.show()

# %%
# Which words are missed most often, and were they seen in training?
seen = Counter(word for words in X_train for word in words)
missed = Counter(
    word
    for words, gold, predicted in zip(X_dev, y_dev, found, strict=True)
    for word, true, guess in zip(words, gold, predicted, strict=True)
    if true != "O" and guess == "O"
)
print("word            missed  in training")
for word, n in missed.most_common(10):
    print(f"{word:15} {n:6}  {seen[word]:11}")

# %%
# How often is a name found, by whether its first word was seen in training?
for known in (True, False):
    pairs = [
        (true, guess)
        for words, gold, predicted in zip(X_dev, y_dev, found, strict=True)
        for word, true, guess in zip(words, gold, predicted, strict=True)
        if true.startswith("B-") and (word in seen) == known
    ]
    share = sum(true == guess for true, guess in pairs) / len(pairs)
    print(f"{'seen' if known else 'unseen'} first words: {len(pairs):4}, {share:.0%} right")

# %%
# Unseen names are the problem, so a list of names, clusters of words, or more labelled text would
# help most: see :ref:`sphx_glr_auto_examples_few_labels_plot_templates.py`.
#
# The score to report
# -------------------
# On the test part, which no decision was based on:
print(segment_report(y_test, model.predict(X_test)))
