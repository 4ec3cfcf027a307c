"""
Choose a solver
===============

All solvers of :class:`~sklearn_crcrf.CRF` minimise the same objective, in many cheap iterations or
in few expensive ones. And the weights nearest to the minimum need not label best.
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
# Each stops after a given number of iterations. The last but one begins with an epoch of stochastic
# gradient descent, by ``partial_fit``, and continues with L-BFGS. Training stops early on purpose
# here, so warnings are ignored.
warnings.simplefilter("ignore", ConvergenceWarning)


def train(max_iter, **options):
    crf = CRF(features="observed", max_iter=max_iter, random_state=0, **options)
    return crf.fit(X_train, y_train)


def train_in_turn(max_iter):
    crf = CRF(features="observed", max_iter=max_iter, random_state=0, warm_start=True)
    return crf.partial_fit(X_train, y_train).fit(X_train, y_train)


def f1_of(crf):
    return segment_f1(y_test, list(crf.predict(X_test)))


trainings = {
    "lbfgs": (train, 50),
    'lbfgs, init="empirical"': (partial(train, init="empirical"), 50),
    "cg": (partial(train, solver="cg"), 50),
    "newton-cg": (partial(train, solver="newton-cg"), 10),
    "gis": (partial(train, solver="gis"), 50),
    "sgd": (partial(train, solver="sgd"), 10),
    "sgd, then lbfgs": (train_in_turn, 50),
    "owlqn, c1=0.3": (partial(train, c1=0.3), 50),
}

best = train(1000, tol=1e-9)
minimum, f1_of_minimum = best.loss_curve_[-1], f1_of(best)
print(f"minimum {minimum:.2f}, F1 {f1_of_minimum:.4f}\n")

# %%
# ``loss_curve_`` has the objective after each iteration. F1 is computed after 1, 2, 5, ...
# iterations. The last column is CPU time of the training, which tells what an iteration costs.
STEPS = (1, 2, 5, 10, 20, 50)
losses, scores = {}, {}
print(f"{'':24} iterations  objective  F1      CPU s")
for name, (fit, max_iter) in trainings.items():
    start = time.process_time()
    crf = fit(max_iter)
    seconds = time.process_time() - start
    losses[name] = np.array(crf.loss_curve_)
    scores[name] = {step: f1_of(fit(step)) for step in STEPS if step < max_iter}
    scores[name][len(crf.loss_curve_)] = f1_of(crf)
    print(
        f"{name:24} {crf.n_iter_:10}  {crf.loss_curve_[-1]:9.2f}  {f1_of(crf):.4f}  {seconds:5.2f}"
    )

# %%
# L-BFGS is the best single choice: it reaches the minimum, and its iterations are cheap. An
# iteration of Newton's method costs dozens of them. An epoch of stochastic gradient descent costs
# several, but the first epoch goes further than all of these; on larger data that decides. The
# counted weights of ``init="empirical"`` label well from the start. Iterative scaling is of
# historical interest. OWL-QN, the default if ``c1`` is positive, minimises another objective, so it
# is in the right panel only. F1 is near its final value long before the objective is.
COLORS = ["#0072b2", "#56b4e9", "#009e73", "#d55e00", "#999999", "#e69f00", "#000000", "#cc79a7"]
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5), layout="constrained")
for (name, loss), color, marker in zip(losses.items(), COLORS, "os^vD<>P", strict=True):
    style = {"color": color, "marker": marker, "ms": 5}
    if "c1" not in name:
        above = np.maximum(loss - minimum, 1e-3)
        left.plot(np.arange(1, len(loss) + 1), above, markevery=0.1, **style)
    right.plot(list(scores[name]), list(scores[name].values()), label=name, **style)
right.axhline(f1_of_minimum, color="gray", ls=":", label="at the minimum")
left.set(xscale="log", yscale="log", xlabel="iterations", title="objective above its minimum")
right.set(xscale="log", ylim=(0.7, 1.0), xlabel="iterations", title="F1 of segments")
for ax in (left, right):
    ax.set_xticks(STEPS, STEPS)
    ax.xaxis.set_minor_formatter("")
figure.legend(loc="outside right center")
plt.show()

# %%
# Weights that are zero
# ---------------------
# Most weights of the solution of OWL-QN are exactly zero.
for name, crf in (("sigma=1", best), ("sigma=1, c1=0.3", train(200, c1=0.3))):
    print(f"{name:16} {np.count_nonzero(crf.coef_.data):6} weights, F1 {f1_of(crf):.4f}")
