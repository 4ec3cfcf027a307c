"""
Why these labels?
=================

A linear chain is an open book: the score of a labelling is a sum of weights that have names. This
reads a model that marks the parts of postal addresses, first as a whole, then for a single address.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_crcrf import CRF, EmpiricalCRF, explain
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.notebook import LabelComparison, Lattice, TaggedSequence
from sklearn_crcrf.plotting import TopAttributesDisplay, TransitionDisplay

X, y = make_addresses(1500, random_state=0)
X_train, y_train = X[:300], y[:300]
X_test, y_test = X[300:], y[300:]

# %%
# The weights
# -----------
# What follows what, in a :class:`~sklearn_crcrf.CRF` with constraints, which are hatched, and with
# weights of the first and the last label.
crf = CRF(constraints="IOB2", boundaries=True).fit(X_train, y_train)
TransitionDisplay.from_estimator(crf)
plt.show()

# %%
# The words that say most for and against a label:
TopAttributesDisplay.from_estimator(crf, labels=["B-STREET", "I-STREET", "O"])
plt.show()

# %%
# An address that it doubts
# -------------------------
# :class:`~sklearn_crcrf.EmpiricalCRF` judges words by their spelling and their neighbours, too, so
# it knows more of words that it never saw. Here is an address with two labellings that are about as
# likely. Point at a word for the probabilities of its labels.
empirical = EmpiricalCRF().fit(X_train, y_train)
confidence = empirical.confidence(X_test)
doubtful = X_test[int(np.argmin(np.abs(confidence - 0.5)))]
TaggedSequence.from_estimator(empirical, doubtful)

# %%
# The best labellings, with their probabilities:
Lattice.from_estimator(empirical, doubtful, k=3)

# %%
# An address of which it is sure, and wrong
# -----------------------------------------
predicted = empirical.predict(X_test)
wrong = np.array([gold != found for gold, found in zip(y_test, predicted, strict=True)])
surest = int(np.argmax(np.where(wrong, confidence, 0.0)))
address, gold = X_test[surest], y_test[surest]
LabelComparison.from_estimator(empirical, address, gold)

# %%
# What speaks for the labels it chose: each term is the logarithm of a co-occurrence rate times its
# exponent, and all terms add up to the score.
explain(empirical, address)

# %%
# Much of this would speak for other labels as well. What decided are the differences from the
# labels that would have been right. They add up to the logarithm of how many times likelier the
# model finds its own labels.
explain(empirical, address, against=gold)

# %%
# All terms are in a data frame, so that one can ask which kinds of evidence misled the model.
difference = explain(empirical, address, against=gold)
print(f"{np.exp(difference.score):,.0f} times likelier, by the sum of these:\n")
frame = difference.to_frame()
kind = frame["name"].str.replace(r"=[^|]*", "", regex=True)
kind = kind.where(frame["kind"] == "attribute", "transition")
print(frame.groupby(kind)["value"].sum().sort_values(ascending=False).round(2).to_string())
