"""
See where a model is wrong
==========================

A single F1 says how good a model is, but not how to improve it. These displays show which kinds of
errors it makes, which labels it confuses, whether its probabilities can be trusted, and the effect
of regularisation.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV

from sklearn_crcrf import CRF, EmpiricalCRF
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.display import (
    LabelComparison,
    LabelConfusionDisplay,
    RegularisationDisplay,
    ReliabilityDisplay,
    SegmentErrorsDisplay,
)
from sklearn_crcrf.metrics import get_sequence_scorer, segment_report

X, y = make_addresses(1200, random_state=0)
X_train, y_train = X[:200], y[:200]
X_test, y_test = X[200:], y[200:]

model = EmpiricalCRF().fit(X_train, y_train)
predicted = model.predict(X_test)
print(segment_report(y_test, predicted))

# %%
# Wrong segments
# --------------
# Some are predicted with wrong boundaries or a wrong type; others are missed, or spurious.
SegmentErrorsDisplay.from_predictions(y_test, predicted)
plt.show()

# %%
# The confusion matrix of labels, without tokens outside of all segments:
LabelConfusionDisplay.from_predictions(y_test, predicted, exclude=["O"], normalize="true")
plt.show()

# %%
# The address with the most wrong labels:
n_wrong = [
    np.count_nonzero(np.asarray(gold) != np.asarray(found))
    for gold, found in zip(y_test, predicted, strict=True)
]
worst = int(np.argmax(n_wrong))
LabelComparison.from_estimator(model, X_test[worst], y_test[worst])

# %%
# Can its probabilities be trusted?
# ---------------------------------
# A product of dependent experts is overconfident: its line is below the diagonal. The CRF has
# words as its only attributes, and a strong prior makes it underconfident.
crf = CRF().fit(X_train, y_train)
_, ax = plt.subplots(figsize=(5.5, 5.5), layout="constrained")
for name, estimator in (("EmpiricalCRF", model), ("CRF", crf)):
    ReliabilityDisplay.from_estimator(estimator, X_test, y_test, ax=ax, name=name)
plt.show()

# %%
# Regularisation
# --------------
# ``sigma`` is the width of all priors, ``mu_oov`` the weight of the spelling of unknown words.
scorer = get_sequence_scorer("segment_f1")
grid = {"sigma": [0.12, 0.25, 0.5, 1.0, 2.0, 4.0], "mu_oov": [0.5, 1.0, 2.0]}
search = GridSearchCV(EmpiricalCRF(), grid, scoring=scorer, cv=5).fit(X_train, y_train)
display = RegularisationDisplay.from_search(search, "sigma", by="mu_oov")
display.ax_.set_ylabel("F1 of segments")
plt.show()
