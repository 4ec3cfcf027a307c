"""
Find names by counting
======================

From the text of the CoNLL-2002 shared task to entities, with and without fitted exponents, and
next to the plain frequencies of the papers.

The corpus is not part of the package. It is looked for in the folder named by the environment
variable ``SKLEARN_CRCRF_DATA`` and in scikit-learn's data folder, and downloaded into
scikit-learn's folder if it is in neither.
"""

import sys
import time

import matplotlib.pyplot as plt

from sklearn_crcrf import EmpiricalCRF
from sklearn_crcrf.datasets import load_dutch_ner
from sklearn_crcrf.metrics import (
    known_accuracy,
    segment_f1,
    segment_report,
    token_accuracy,
    unknown_accuracy,
)

# %%
# The data
# --------
# 13,221 sentences to train on and 4,211 to test on, in plain lists; sentences of a single token
# are left out, as in the papers.
try:
    (X_train, y_train), _, (X_test, y_test) = load_dutch_ner()
except OSError as error:
    sys.exit(
        f"The corpus could not be found or fetched: {error}\n"
        "Run this where there is a network, or put conll2002-ned-train.tsv.gz, "
        "conll2002-ned-testa.tsv.gz and conll2002-ned-testb.tsv.gz (tab separated: word, "
        "part of speech, label) into a folder and name it in SKLEARN_CRCRF_DATA."
    )

sentence = next(i for i, labels in enumerate(y_train) if len(set(labels)) > 3)
print(" ".join(X_train[sentence]))
print(" ".join(y_train[sentence]))

# %%
# Three ways to train
# -------------------
# Nothing is tuned to this corpus. The last model fits its exponents to 80,000
# tokens of the training sentences, each given the counts of the others.
models = {
    "plain frequencies": EmpiricalCRF.ecrn(),
    "default": EmpiricalCRF(),
    "fitted exponents": EmpiricalCRF(exponents="fit"),
}
print(f"{'':18} all    known  unknown  entity F1  seconds")
for name, crf in models.items():
    start = time.perf_counter()
    crf.fit(X_train, y_train)
    seconds = time.perf_counter() - start
    y_pred = crf.predict(X_test)
    known = crf.known_tokens(X_test)
    print(
        f"{name:18} {100 * token_accuracy(y_test, y_pred):.2f}  "
        f"{100 * known_accuracy(y_test, y_pred, known):.2f}  "
        f"{100 * unknown_accuracy(y_test, y_pred, known):.2f}    "
        f"{100 * segment_f1(y_test, y_pred):.2f}      {seconds:5.1f}"
    )

# %%
# Which entities are found
# ------------------------
# The report of the last model, and some entities that it found:
print(segment_report(y_test, y_pred))

tagged = [i for i, labels in enumerate(y_pred) if sum(x.startswith("B-") for x in labels) > 2]
for i in tagged[:3]:
    print(
        " ".join(w if x == "O" else f"{w}/{x}" for w, x in zip(X_test[i], y_pred[i], strict=True))
    )

# %%
# The fitted exponents
# --------------------
# An exponent above its default means that the evidence counts for more in this language and task
# than in general. Known and unknown words have separate exponents.
default, fitted = models["default"].exponents_, models["fitted exponents"].exponents_
change = {name: value - default.get(name, 0.0) for name, value in fitted.items()}
names = sorted(sorted(change, key=lambda name: -abs(change[name]))[:15], key=fitted.get)

figure, ax = plt.subplots(figsize=(8, 6), layout="constrained")
ax.barh(names, [fitted[name] for name in names], color="#0072b2", label="fitted")
ax.plot([default.get(name, 0.0) for name in names], names, "k|", ms=14, label="default")
ax.set(xlabel="exponent", title="The fifteen exponents that change most")
ax.legend()
plt.show()
