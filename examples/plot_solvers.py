"""
Which solver should I use?
==========================

All solvers of :class:`~sklearn_crcrf.CRF` find the same minimum, in many cheap iterations or in few
expensive ones. And the weights nearest to the minimum need not label best.
"""

import time
import warnings
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline

from sklearn_crcrf import CRF, SequenceVectorizer, TokenFeatures, Window
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.metrics import segment_f1

# %%
# The data
# --------
# Postal addresses. Attributes are the word, its shape and its last three characters, for each token
# and both neighbours. They are computed once, for all trainings.
X, y = make_addresses(1600, random_state=0)
y_train, y_test = y[:600], y[600:]

columns = TokenFeatures(["shape", "suffix3"]), Window([-1, 0, 1])
features = make_pipeline(*columns, SequenceVectorizer())
X_train = features.fit_transform(X[:600])
X_test = features.transform(X[600:])

# %%
# The trainings
# -------------
# Each is evaluated after several numbers of iterations. The last but one begins with an epoch of
# stochastic gradient descent, by ``partial_fit``, and continues with L-BFGS.


def train(max_iter, **options):
    crf = CRF(features="observed", max_iter=max_iter, random_state=0, **options)
    return crf.fit(X_train, y_train)


def train_in_turn(max_iter):
    crf = CRF(features="observed", max_iter=max_iter, random_state=0, warm_start=True)
    return crf.partial_fit(X_train, y_train).fit(X_train, y_train)


iterations = [1, 3, 8, 20, 50]
trainings = {
    "lbfgs": (train, iterations),
    'lbfgs, init="empirical"': (partial(train, init="empirical"), iterations),
    "cg": (partial(train, solver="cg"), iterations),
    "newton-cg": (partial(train, solver="newton-cg"), [2, 5, 8, 11]),
    "gis": (partial(train, solver="gis"), iterations[:-1]),
    "sgd": (partial(train, solver="sgd"), [1, 2, 4, 8]),
    "sgd, then lbfgs": (train_in_turn, iterations),
    "owlqn, c1=0.3": (partial(train, c1=0.3), iterations),
}

# %%
# Time, the objective and the F1 of segments in other addresses. Training stops early on purpose
# here, so warnings are ignored.
warnings.simplefilter("ignore", ConvergenceWarning)
curves = {}
for name, (fit, steps) in trainings.items():
    curve = []
    for max_iter in steps:
        start = time.perf_counter()
        crf = fit(max_iter)
        seconds = time.perf_counter() - start
        curve.append((seconds, crf.loss_curve_[-1], segment_f1(y_test, list(crf.predict(X_test)))))
    curves[name] = np.array(curve)

best = train(1000, tol=1e-9)
minimum = best.loss_curve_[-1]
f1_of_minimum = segment_f1(y_test, list(best.predict(X_test)))
print(f"minimum {minimum:.2f}, F1 {f1_of_minimum:.4f}\n")
print(f"{'':24} seconds  objective  F1")
for name, curve in curves.items():
    seconds, loss, f1 = curve[-1]
    print(f"{name:24} {seconds:7.2f}  {loss:9.2f}  {f1:.4f}")

# %%
# L-BFGS is the best single choice. Stochastic gradient descent is near the minimum after an epoch,
# which pays off with more data than here. Newton's method is fast only at the end, and iterative
# scaling is of historical interest. The counted weights of ``init="empirical"`` label well at once,
# and save a few iterations. OWL-QN, the default if ``c1`` is positive, minimises another objective,
# so it is in the right panel only.
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5), layout="constrained")
for i, (name, (seconds, loss, f1)) in enumerate((n, c.T) for n, c in curves.items()):
    if "c1" not in name:
        left.plot(seconds, np.maximum(loss - minimum, 1e-3), "o-", color=f"C{i}")
    right.plot(seconds, f1, "o-", color=f"C{i}", label=name)
right.axhline(f1_of_minimum, color="gray", ls=":", label="at the minimum")
left.set(xscale="log", yscale="log", xlabel="seconds", title="objective above its minimum")
right.set(xscale="log", ylim=(0.7, 1.0), xlabel="seconds", title="F1 of segments")
for ax in (left, right):
    ax.xaxis.set_minor_formatter("")
figure.legend(loc="outside right center")
plt.show()

# %%
# Weights that are zero
# ---------------------
# Most weights of the solution of OWL-QN are exactly zero.
for name, crf in (("sigma=1", best), ("sigma=1, c1=0.3", train(200, c1=0.3))):
    f1 = segment_f1(y_test, list(crf.predict(X_test)))
    print(f"{name:16} {np.count_nonzero(crf.coef_.data):6} weights, F1 {f1:.4f}")
