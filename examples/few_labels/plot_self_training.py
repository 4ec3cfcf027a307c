"""
Learn from text without labels
==============================

Self-training: a model that knows a few labelled sentences labels others, and learns the labels
of which it is most sure. That can help, and it can harm: the surest sentences teach least, and
wrong labels are learned, too.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_crcrf import EmpiricalCRF, SemiSupervisedClassifier
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.metrics import token_accuracy

X, y = make_addresses(4000, random_state=1)
X_test, y_test = X[3000:], y[3000:]
unlabelled = X[200:3000]

# %%
# In each round, the model labels all addresses that it has not learned yet, and the surest tenth of
# them is learned with the labels that were predicted. Learning is counting, so a round is labelling
# the rest.


def self_trained(n_labelled: int, n_rounds: int = 6) -> list[float]:
    """Accuracy on the test part before and after each round."""
    crf = EmpiricalCRF().fit(X[:n_labelled], y[:n_labelled])
    rest, accuracy = list(unlabelled), [token_accuracy(y_test, crf.predict(X_test))]
    for _ in range(n_rounds):
        sure = np.argsort(-crf.confidence(rest), kind="stable")[: len(rest) // 10]
        chosen = [rest[i] for i in sure]
        crf.partial_fit(chosen, [list(labels) for labels in crf.predict(chosen)])
        rest = [rest[i] for i in np.setdiff1d(np.arange(len(rest)), sure)]
        accuracy.append(token_accuracy(y_test, crf.predict(X_test)))
    return accuracy


figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
for n_labelled, marker in ((10, "o"), (30, "s"), (200, "^")):
    accuracy = self_trained(n_labelled)
    ax.plot(accuracy, f"{marker}-", label=f"{n_labelled} labelled addresses")
    print(f"{n_labelled:3} labelled: {accuracy[0]:.4f} before, {accuracy[-1]:.4f} after")
ax.set(xlabel="rounds of self-training", ylabel="accuracy")
ax.legend()
plt.show()

# %%
# With ten labelled addresses the model gains, with more it loses a little.
# :class:`~sklearn_crcrf.SemiSupervisedClassifier` learns all addresses at once, also those of which
# the model is not sure, and gives predicted labels a tenth of the weight. That helps all three:
for n_labelled in (10, 30, 200):
    known = y[:n_labelled] + [[None] * len(words) for words in unlabelled]
    model = SemiSupervisedClassifier(EmpiricalCRF()).fit(X[:n_labelled] + unlabelled, known)
    print(f"{n_labelled:3} labelled: {token_accuracy(y_test, model.predict(X_test)):.4f}")

# %%
# To ask a person about the addresses of greatest doubt is worth far more: see
# :ref:`sphx_glr_auto_examples_few_labels_plot_annotation.py`.
