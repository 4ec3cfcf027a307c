"""
Write a criterion of your own
=============================

A criterion is a function of the scores of some sequences and their gold labels. It returns the loss
of each sequence, and how the losses change with the scores. Here it is a loss that wrong labels in
the training data harm less.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline

from sklearn_crcrf import CRF, TokenFeatures, Window
from sklearn_crcrf.criteria import log_loss
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.metrics import token_accuracy

# %%
# The loss
# --------
# With the probability :math:`p` of the gold labels of a sequence, the log loss is
# :math:`-\log p`. It grows without bound where the gold labels are improbable, so training bends to
# fit them, also if they are wrong. The generalised cross entropy :math:`(1 - p^q) / q` of Zhang and
# Sabuncu (2018) stays below :math:`1 / q`, and is the log loss for :math:`q` near 0. Its derivative
# is :math:`p^q` times the derivative of the log loss, so its gradient follows from the gradient of
# the log loss; a function that returns a gradient is called a pullback. A long sequence has a small
# probability, whatever its labels, so :math:`q` is divided by the length.
Q = 0.5


def bounded_loss(structure, scores, y):
    loss, pullback = log_loss(structure, scores, y)
    q = Q / np.diff(structure.offsets)
    power = np.exp(-q * loss)
    return (1 - power) / q, lambda weight, out=None: pullback(weight * power, out)


# %%
# Wrong labels
# ------------
# In a part of the addresses all labels are exchanged for others.
X, y = make_addresses(900, random_state=0)
X_train, y_train, X_test, y_test = X[:300], y[:300], X[300:], y[300:]
rng = np.random.default_rng(0)
names = sorted({label for labels in y for label in labels})


def damaged(share):
    wrong = rng.random(len(y_train)) < share
    return [
        list(rng.choice(names, len(labels))) if is_wrong else labels
        for labels, is_wrong in zip(y_train, wrong, strict=True)
    ]


def accuracy(criterion, labels):
    """The bounded loss is not convex: it starts from the weights of the log loss."""
    crf = CRF(criterion, dtype="float32", tol=1e-3, init="log_loss")
    model = make_pipeline(TokenFeatures(["shape", "suffix3"]), Window([-1, 0, 1]), crf)
    return token_accuracy(y_test, model.fit(X_train, labels).predict(X_test))


shares = [0.0, 0.2, 0.4]
curves = {"log_loss": [], "bounded": []}
for share in shares:
    labels = damaged(share)
    for name, criterion in (("log_loss", "log_loss"), ("bounded", bounded_loss)):
        curves[name].append(accuracy(criterion, labels))
    print(f"{share:4.0%} wrong:", *(f" {name} {of[-1]:.4f}" for name, of in curves.items()))

figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
ax.plot(shares, curves["bounded"], "o-", label="generalised cross entropy")
ax.plot(shares, curves["log_loss"], "s--", label="log loss")
ax.set(xlabel="share of training addresses with wrong labels", ylabel="accuracy")
ax.legend()
plt.show()
