"""
Check how sure a model is
=========================

A model is more useful if its uncertainty is known. This example checks whether the probabilities of
segments can be trusted, leaves out segments that are too uncertain, and passes uncertain addresses
to a person.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_crcrf import CRF, TokenFeatures, Window, make_sequence_pipeline
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.display import ReliabilityDisplay
from sklearn_crcrf.labels import to_segments
from sklearn_crcrf.metrics import segment_f1

# %%
# The data, and three models that differ in their prior: 150 addresses to train on, 1,000 on which
# decisions are based, and 2,000 to test them.
X, y = make_addresses(3150, random_state=0)
X_train, y_train = X[:150], y[:150]
X_known, y_known = X[150:1150], y[150:1150]
X_test, y_test = X[1150:], y[1150:]

models = {}
for sigma in (0.5, 2.0, 10.0):
    crf = CRF(sigma=sigma, constraints="IOB2")
    model = make_sequence_pipeline(TokenFeatures(["shape"]), Window([-1, 0, 1]), crf)
    models[sigma] = model.fit(X_train, y_train)
    print(f"sigma={sigma:<4}  F1 of segments {segment_f1(y_test, model.predict(X_test)):.4f}")

# %%
# Are the probabilities right?
# ----------------------------
# Of all labels with probability 0.8, four in five should be right. A strong prior makes the model
# underconfident, and a weak one overconfident.
_, ax = plt.subplots(figsize=(5.5, 5.5), layout="constrained")
for sigma, model in models.items():
    ReliabilityDisplay.from_estimator(model, X_known, y_known, ax=ax, name=f"sigma={sigma}")
plt.show()

# %%
# Segments that are too uncertain
# -------------------------------
# ``predict_spans`` returns the probability of each segment: that it begins and ends exactly
# there, and has this type. A pipeline of ``make_sequence_pipeline`` has this method, and all others
# of a CRF.
pipeline = models[2.0]


def segments_of(X, y):
    """The probability of each segment that is found, and whether it is right."""
    found = pipeline.predict_spans(X)
    true = set(zip(*to_segments(y), strict=True))
    spans = [(i, *span) for i, of_sequence in enumerate(found) for span in of_sequence]
    right = np.array([span[:-1] in true for span in spans])
    return np.array([span[-1] for span in spans]), right, len(true)


probability, right, _ = segments_of(X_known, y_known)
order = np.argsort(-probability)
precision = np.cumsum(right[order]) / np.arange(1, len(order) + 1)
last = np.flatnonzero(precision >= 0.98).max()
threshold = probability[order[last]]
print(f"98 % of the segments with a probability of at least {threshold:.3f} are right")

# %%
# Does that hold for other addresses?
probability, right, n_true = segments_of(X_test, y_test)
for name, kept in (("all", probability >= 0), ("sure", probability >= threshold)):
    print(
        f"{name:4} segments: {right[kept].mean():.1%} right, {right[kept].sum() / n_true:.1%} found"
    )

order = np.argsort(-probability)
n_right = np.cumsum(right[order])
figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
ax.plot((n_right / n_true)[50:], (n_right / np.arange(1, len(order) + 1))[50:])
kept = probability >= threshold
ax.plot(right[kept].sum() / n_true, right[kept].mean(), "o", label=f"at least {threshold:.3f}")
ax.set(xlabel="share of the segments that are found", ylabel="share of those found that is right")
ax.legend(title="probability")
plt.show()

# %%
# Addresses that a person should look at
# --------------------------------------
# ``confidence`` is the probability that all labels of a sequence are right. If a person labels
# the least certain addresses, and makes no errors, how many remain wrong? With addresses drawn at
# random it would be the straight line.
confidence = pipeline.confidence(X_test)
predicted = pipeline.predict(X_test)
wrong = ~np.array([np.array_equal(*both) for both in zip(y_test, predicted, strict=True)])
remaining = (wrong.sum() - np.cumsum(wrong[np.argsort(confidence)])) / len(wrong)
looked_at = np.arange(1, len(wrong) + 1) / len(wrong)
for share in (0.1, 0.25, 0.5):
    rest = remaining[int(share * len(wrong)) - 1]
    print(
        f"{share:4.0%} looked at: {rest:5.1%} wrong, instead of {wrong.mean() * (1 - share):5.1%}"
    )

figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
ax.plot(looked_at, remaining, label="least sure first")
ax.plot([0, 1], [wrong.mean(), 0], "--", color="gray", label="at random")
ax.set(xlabel="share that a person looks at", ylabel="share of addresses with a wrong label")
ax.legend()
plt.show()
