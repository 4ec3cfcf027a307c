"""
Tag words with parts of speech
==============================

Parts of speech differ from names: every word has a tag, there are more than a hundred of them, and
unknown words decide the accuracy. Three models are counted, and a perceptron is trained.

The sentences are from the Brown corpus, see :func:`~sklearn_crcrf.datasets.load_brown_splits`,
which finds or downloads them.
"""

import sys
import time
from collections import Counter

import matplotlib.pyplot as plt

from sklearn_crcrf import (
    EmpiricalCRF,
    StructuredPerceptron,
    make_sequence_pipeline,
    text_features,
)
from sklearn_crcrf.datasets import load_brown_splits
from sklearn_crcrf.display import LabelConfusionDisplay
from sklearn_crcrf.metrics import known_accuracy, token_accuracy, unknown_accuracy

try:
    (X_train, y_train), _, (X_test, y_test) = load_brown_splits("1000-4000")
except OSError as error:
    sys.exit(f"The corpus could not be found or fetched: {error}")

print(*(f"{w}/{x}" for w, x in zip(X_train[0], y_train[0], strict=True)))
n_tags = len({tag for tags in y_train for tag in tags})
print(f"\n{len(X_train):,} sentences to train on, {n_tags} tags")

# %%
# Four models
# -----------
# ``order=2`` lets a tag depend on the two tags before it; ``exponents="fit"`` learns how much each
# kind of evidence counts. The perceptron needs attributes of spelling and neighbours.
# :doc:`LatticeCRF </user_guide/lattices>` is more accurate than all of them, and takes longer.
models = {
    "EmpiricalCRF()": EmpiricalCRF(),
    "EmpiricalCRF(order=2)": EmpiricalCRF(order=2),
    'EmpiricalCRF(exponents="fit")': EmpiricalCRF(exponents="fit"),
    "StructuredPerceptron()": make_sequence_pipeline(
        text_features("tags"), StructuredPerceptron(max_iter=5, random_state=0)
    ),
}
tagged = {}
print(f"{'':29} all    known  unknown  seconds")
for name, model in models.items():
    start = time.process_time()
    model.fit(X_train, y_train)
    seconds = time.process_time() - start
    tagged[name] = found = model.predict(X_test)
    known = models["EmpiricalCRF()"].known_tokens(X_test)
    print(
        f"{name:29} {100 * token_accuracy(y_test, found):.2f}  "
        f"{100 * known_accuracy(y_test, found, known):.2f}  "
        f"{100 * unknown_accuracy(y_test, found, known):.2f}    {seconds:6.1f}"
    )

# %%
# Which tags are confused?
# ------------------------
# The tags that are wrong most often. Nouns (nn), adjectives (jj) and verbs (vb, vbd, vbn) share
# many words and endings.
found = tagged['EmpiricalCRF(exponents="fit")']
wrong = Counter(
    (true, guess)
    for gold, predicted in zip(y_test, found, strict=True)
    for true, guess in zip(gold, predicted, strict=True)
    if true != guess
)
often = Counter()
for (true, guess), n in wrong.items():
    often.update({true: n, guess: n})
shown = {tag for tag, _ in often.most_common(10)}
kept = [
    [(true, guess) for true, guess in zip(gold, predicted, strict=True) if {true, guess} <= shown]
    for gold, predicted in zip(y_test, found, strict=True)
]
gold_kept = [[true for true, _ in pairs] for pairs in kept]
found_kept = [[guess for _, guess in pairs] for pairs in kept]
LabelConfusionDisplay.from_predictions(gold_kept, found_kept, normalize="true")
plt.show()

# %%
# Unknown words
# -------------
# Their tags follow from spelling and neighbours. A few that were never seen in training:
rare = [
    (word, true, guess)
    for words, gold, predicted, is_known in zip(X_test, y_test, found, known, strict=True)
    for word, true, guess, seen in zip(words, gold, predicted, is_known, strict=True)
    if not seen
]
for word, true, guess in rare[:12]:
    print(f"{word:18} {true:8} {'' if true == guess else 'found: ' + guess}")
