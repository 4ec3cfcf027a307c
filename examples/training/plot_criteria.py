"""
Choose a training criterion
===========================

A CRF can be trained to minimise any of ten losses. What do they cost, and what do they gain: for
the labels of words, for segments, for whole sequences, and for probabilities?
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline

from sklearn_crcrf import CRF, SequenceVectorizer, TokenFeatures, Window
from sklearn_crcrf.criteria import CRITERIA
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.metrics import segment_f1, sequence_accuracy, token_accuracy, token_log_loss

# %%
# The data
# --------
# Postal addresses. A single training set would show little about small differences, so there are
# three of 100 addresses each, and 1,000 other addresses to test on. Attributes are the words and
# shapes of a token and of both neighbours.
X, y = make_addresses(1300, random_state=0)
features = make_pipeline(TokenFeatures(["shape"]), Window([-1, 0, 1]), SequenceVectorizer())
rows = features.fit(X[:300]).transform(X)
parts = [slice(start, start + 100) for start in (0, 100, 200)]
X_test, y_test = rows[300:], y[300:]

# %%
# The trainings
# -------------
# All have the same attributes and the same prior. If the loss is not convex, training starts
# automatically from the maximum of the likelihood, which takes part of the time.
columns = ["words", "segments", "sequences", "log loss", "seconds"]
results = {}
for name in CRITERIA:
    table = []
    for part in parts:
        start = time.perf_counter()
        crf = CRF(name, sigma=3.0, features="observed", tol=1e-3).fit(rows[part], y[part])
        seconds = time.perf_counter() - start
        found, proba = crf.predict(X_test), crf.predict_proba(X_test)
        scores = [score(y_test, found) for score in (token_accuracy, segment_f1, sequence_accuracy)]
        table.append([*scores, token_log_loss(y_test, proba, crf.classes_), seconds])
    results[name] = np.array(table)

# %%
# Accuracy of words, F1 of segments, accuracy of whole sequences, log loss of words (lower is
# better), and the time of training, as means of the three:
print(f"{'':20}", "".join(f"{column:>11}" for column in columns))
for name, table in results.items():
    print(f"{name:20}", "".join(f"{mean:11.3f}" for mean in table.mean(axis=0)))

# %%
# A dot is a training set.
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), sharey=True, layout="constrained")
names = sorted(results, key=lambda name: results[name][:, 1].mean())
for place, name in enumerate(names):
    _, of_segments, *_, seconds = results[name].T
    left.plot(of_segments, np.full(len(parts), place), "o", color="C0", alpha=0.5)
    left.plot(of_segments.mean(), place, "|", color="C0", ms=16, mew=3)
    right.plot(seconds, np.full(len(parts), place), "o", color="C1", alpha=0.5)
left.set_yticks(range(len(names)), names)
left.set(xlabel="F1 of segments")
right.set(xlabel="seconds of training", xscale="log")
right.set_xticks([0.3, 1, 3, 10], [0.3, 1, 3, 10])
right.minorticks_off()
for ax in (left, right):
    ax.grid(axis="y", alpha=0.3)
plt.show()

# %%
# Most criteria differ less than two training sets do. The log loss is a good start: it is cheap,
# and its probabilities can be used. Margins label a little better with few data; the softmax
# margin still gives probabilities, the maximum margin does not. Pseudo-likelihood learns each
# label from its true neighbours, which are unknown in prediction. The last four criteria of the
# table optimise one metric each. They pay off with suitable attributes and ``sigma``; the
# criterion is a parameter, so a grid search can choose it together with ``sigma``.
