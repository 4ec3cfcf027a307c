"""
Label the parts of postal addresses
===================================

Plain Python lists in, plain Python lists out: train on postal addresses in which every word has
a label, and label new addresses.
"""

import numpy as np

from sklearn_crcrf import EmpiricalCRF
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.metrics import segment_report, token_accuracy, unknown_accuracy

# %%
# The data
# --------
# A sample is a sequence: a list of words, and a list of labels of the same length. The labels are
# in the scheme IOB2: ``B-STREET`` begins the name of a street, ``I-STREET`` continues it, and
# ``O`` is outside of all segments.
X, y = make_addresses(3000, random_state=0)
X_train, y_train = X[:2000], y[:2000]
X_test, y_test = X[2000:], y[2000:]

for word, label in zip(X[1], y[1], strict=True):
    print(f"{word:12} {label}")

# %%
# Training and prediction
# -----------------------
# Training counts how often words, their spelling and their neighbours occur with each label;
# there is nothing to iterate. ``predict`` gives the best labelling of each sequence.
crf = EmpiricalCRF().fit(X_train, y_train)
y_pred = crf.predict(X_test)

known = crf.known_tokens(X_test)
print(f"accuracy of all words      {token_accuracy(y_test, y_pred):.4f}")
print(f"accuracy of unknown words  {unknown_accuracy(y_test, y_pred, known):.4f}")

# %%
# Precision, recall and F1 of segments, by type:
print(segment_report(y_test, y_pred))

# %%
# How sure is it?
# ---------------
# ``predict_proba`` returns the probabilities of all labels of each word, ``confidence`` the
# probability of the best labelling of each sequence. Sequences with a high confidence are right
# more often, so the others are worth a second look.
right = np.array([true == found for true, found in zip(y_test, y_pred, strict=True)])
confidence = crf.confidence(X_test)
for low, high in ((0.0, 0.5), (0.5, 0.9), (0.9, 1.0)):
    chosen = (low < confidence) & (confidence <= high)
    share = right[chosen].mean()
    print(f"confidence in ({low}, {high}]: {chosen.sum():4} sequences, {share:.0%} right")

# %%
# The least certain address, with its best two labellings:
doubtful = X_test[int(np.argmin(confidence))]
(best, p_best), (second, p_second) = crf.predict_k_best([doubtful], k=2)[0]
print(f"{'':12} p = {p_best:.2f}     p = {p_second:.2f}")
for word, first_label, second_label in zip(doubtful, best, second, strict=True):
    differs = "" if first_label == second_label else second_label
    print(f"{word:12} {first_label:12} {differs}")

# %%
# Exponents fitted to the data
# ----------------------------
# The weight of each kind of evidence is fixed by default. It can also be learned, on held-out
# training data.
crf = EmpiricalCRF(exponents="fit").fit(X_train, y_train)
print(f"accuracy of all words      {crf.score(X_test, y_test):.4f}")
