"""
Recognise activities from measurements
======================================

Tokens need not be words. Here somebody who sits, walks, runs or climbs stairs wears a made-up
sensor; each second has four measurements and a label. What is gained by modelling sequences, and
when are trees better than a linear model?
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from sklearn_crcrf import CRF, BoostedCRF
from sklearn_crcrf.display import TransitionDisplay
from sklearn_crcrf.metrics import token_accuracy

# %%
# The data
# --------
# Each activity lasts some seconds. The strength of its movements differs from person to person. On
# stairs the body moves up and forward at the same time; the sensor may be worn either way round, so
# the two movements have the same or opposite signs. The measurements of a second are the standard
# deviations of 20 samples in three directions, and the covariance of two of them.
ACTIVITIES = np.array(["climb", "run", "sit", "walk"])
FOLLOW = np.array([[0, 0, 0.2, 0.8], [0, 0, 0, 1], [0.1, 0.1, 0, 0.8], [0.5, 0.2, 0.3, 0]])
STRENGTH = np.array([0.6, 1.0, 0.1, 0.6])
TOGETHER = np.array([0.8, 0.0, 0.0, 0.0])


def make_recording(rng, n_seconds=120):
    labels, current = [], rng.integers(4)
    while len(labels) < n_seconds:
        labels += [current] * (2 + rng.geometric(0.1))
        current = rng.choice(4, p=FOLLOW[current])
    labels = np.array(labels[:n_seconds])
    strength = STRENGTH[labels] * rng.lognormal(0, 0.5) * rng.lognormal(0, 0.2, n_seconds)
    samples = rng.normal(size=(n_seconds, 20, 3))
    samples[..., 2] += rng.choice([-1, 1]) * TOGETHER[labels][:, None] * samples[..., 0]
    samples *= strength[:, None, None]
    deviations = samples.std(axis=1)
    moved = samples - samples.mean(axis=1, keepdims=True)
    together = (moved[..., 0] * moved[..., 2]).mean(axis=1)
    return np.column_stack([deviations, together]), ACTIVITIES[labels].tolist()


rng = np.random.default_rng(0)
X, y = map(list, zip(*(make_recording(rng) for _ in range(120)), strict=True))
X_train, y_train, X_test, y_test = X[:60], y[:60], X[60:], y[60:]

# %%
# Models of single seconds
# ------------------------
# A sequence is an array with a row for each token. For a model of single seconds, all rows are
# stacked.
rows, labels = np.concatenate(X_train), np.concatenate(y_train)
scaler = StandardScaler().fit(rows)
single = {
    "single seconds, linear": LogisticRegression(max_iter=1000),
    "single seconds, trees": HistGradientBoostingClassifier(max_iter=60),
}
predicted = {}
for name, model in single.items():
    model.fit(scaler.transform(rows), labels)
    predicted[name] = [model.predict(scaler.transform(x)).tolist() for x in X_test]

# %%
# Models of sequences
# -------------------
# :class:`~sklearn_crcrf.CRF` is linear in the measurements, which are scaled, and gets a column
# of ones as intercept. :class:`~sklearn_crcrf.BoostedCRF` is a sum of regression trees, which
# find thresholds and conjunctions, and do not depend on scales.


def scaled(sequences):
    return [np.column_stack([scaler.transform(x), np.ones(len(x))]) for x in sequences]


crf = CRF(boundaries=True).fit(scaled(X_train), y_train)
predicted["sequences, linear"] = list(crf.predict(scaled(X_test)))
trees = BoostedCRF(max_iter=60, max_leaf_nodes=8, learning_rate=0.2).fit(X_train, y_train)
predicted["sequences, trees"] = list(trees.predict(X_test))

for name, found in predicted.items():
    n_changes = np.mean([np.count_nonzero(np.array(a[1:]) != a[:-1]) for a in found])
    print(f"{name:24} accuracy {token_accuracy(y_test, found):.3f}  {n_changes:4.0f} changes")
n_changes = np.mean([np.count_nonzero(np.array(a[1:]) != a[:-1]) for a in y_test])
print(f"{'true':24} accuracy 1.000  {n_changes:4.0f} changes")

# %%
# Neighbours help every model, as activities last. A linear model cannot express that covariance of
# either sign means stairs; trees can. One of the recordings, each row a model:
shown = np.argmax([len(set(labels)) for labels in y_test])
strips = {"true": y_test[shown], **{name: found[shown] for name, found in predicted.items()}}
codes = np.array([np.searchsorted(ACTIVITIES, labels) for labels in strips.values()])

figure, ax = plt.subplots(figsize=(9, 3), layout="constrained")
colors = ListedColormap(["#0072b2", "#d55e00", "lightgray", "#f0e442"])
image = ax.imshow(codes, aspect="auto", cmap=colors, vmin=-0.5, vmax=3.5, interpolation="nearest")
ax.set_yticks(range(len(strips)), strips)
ax.set_yticks(np.arange(0.5, len(strips) - 1), minor=True)
ax.grid(which="minor", axis="y", color="white", lw=4)
ax.tick_params(which="minor", length=0)
ax.set(xlabel="seconds")
bar = figure.colorbar(image, ticks=range(4))
bar.ax.set_yticklabels(ACTIVITIES)
plt.show()

# %%
# Transitions
# -----------
# The transitions show that activities last, and that nobody runs up the stairs.
TransitionDisplay.from_estimator(crf)
plt.show()
