"""
Explain the labels of a sequence
================================

A linear chain is transparent: the score of a labelling is a sum of weights with names. This example
inspects a model that labels the parts of postal addresses, first as a whole, then for one address.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_crcrf import CRF, EmpiricalCRF, explain
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.display import (
    LabelComparison,
    Lattice,
    TaggedSequence,
    TopAttributesDisplay,
    TransitionDisplay,
)

X, y = make_addresses(1500, random_state=0)
X_train, y_train = X[:300], y[:300]
X_test, y_test = X[300:], y[300:]

# %%
# The weights
# -----------
# The transitions of a :class:`~sklearn_crcrf.CRF` with constraints (forbidden ones are hatched)
# and with weights of the first and the last label.
crf = CRF(constraints="IOB2", boundaries=True).fit(X_train, y_train)
TransitionDisplay.from_estimator(crf)
plt.show()

# %%
# The words with the largest weights for and against a label:
TopAttributesDisplay.from_estimator(crf, labels=["B-STREET", "I-STREET", "O"])
plt.show()

# %%
# An uncertain address
# --------------------
# :class:`~sklearn_crcrf.EmpiricalCRF` also uses spelling and neighbours, so it knows more about
# unknown words. Here is an address with two labellings of about equal probability. Point at a
# word for the probabilities of its labels.
empirical = EmpiricalCRF().fit(X_train, y_train)
confidence = empirical.confidence(X_test)
doubtful = X_test[int(np.argmin(np.abs(confidence - 0.5)))]
TaggedSequence.from_estimator(empirical, doubtful)

# %%
# The best labellings, with their probabilities:
Lattice.from_estimator(empirical, doubtful, k=3)

# %%
# A confident error
# -----------------
predicted = empirical.predict(X_test)
wrong = np.array([gold != found for gold, found in zip(y_test, predicted, strict=True)])
surest = int(np.argmax(np.where(wrong, confidence, 0.0)))
address, gold = X_test[surest], y_test[surest]
LabelComparison.from_estimator(empirical, address, gold)

# %%
# The evidence for the predicted labels: each contribution is the logarithm of a co-occurrence rate
# times its exponent, and all contributions sum to the score.
explain(empirical, address)

# %%
# Much of this evidence favours other labels as well. The differences from the correct labels were
# decisive. They sum to the log-odds of the predicted against the correct labels.
explain(empirical, address, against=gold)

# %%
# A data frame of all contributions shows which kinds of evidence misled the model.
difference = explain(empirical, address, against=gold)
print(f"{np.exp(difference.score):,.0f} times likelier, by the sum of these:\n")
frame = difference.to_frame()
kind = frame["name"].str.replace(r"=[^|]*", "", regex=True)
kind = kind.where(frame["kind"] == "attribute", "transition")
print(frame.groupby(kind)["value"].sum().sort_values(ascending=False).round(2).to_string())
