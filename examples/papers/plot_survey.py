"""
Try the methods of the survey on one small corpus
=================================================

"Conditional Random Fields" (Gupta, 2006) surveys how CRFs are trained, and what can be modelled
beside chains of tokens. This example checks the equations of its section 1 on a chain that is small
enough to list all labellings, compares the training methods of section 2 and the models of sections
3 and 4 on one corpus, and boosts trees of pairs of labels, equation 53.
:doc:`/user_guide/papers` has all its equations.
"""

from itertools import product
from time import process_time
from warnings import simplefilter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline

from sklearn_crcrf import (
    CRF,
    BoostedCRF,
    FeatureInduction,
    MaxMarginCRF,
    OpinionPoolCRF,
    OutputCodeCRF,
    SemiMarkovCRF,
    SequenceVectorizer,
    StructuredPerceptron,
    TokenFeatures,
    Window,
)
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.estimators.opinion_pool import random_experts
from sklearn_crcrf.metrics import segment_f1
from sklearn_crcrf.structures import Chain, Scores

# %%
# Sums and maxima over labellings
# -------------------------------
# A labelling has a score, the sum of the scores of its labels and of its transitions (equations 9
# to 12). There are :math:`3^5` labellings of five tokens with three labels. Forward and backward
# vectors sum them in time proportional to the length (equations 14 to 20), and the Viterbi
# algorithm finds the best (equation 21).
rng = np.random.default_rng(0)
scores = Scores.of(rng.normal(size=(5, 3)), rng.normal(size=(3, 3)))
chain = Chain(np.array([0, 5]))

paths = np.array(list(product(range(3), repeat=5)))
score = scores.state[np.arange(5), paths].sum(axis=1)
score += scores.transition[paths[:, :-1], paths[:, 1:]].sum(axis=1)
Z = np.exp(score).sum()
p = np.exp(score) / Z

log_z, pullback = chain.log_partition(scores)
expected = pullback(np.ones(1))  # how often each label and each pair of labels is expected
by_hand = [[p[paths[:, t] == j].sum() for j in range(3)] for t in range(5)]
print(f"log Z: {log_z[0]:.6f} by forward vectors, {np.log(Z):.6f} by the sum of all")
print("marginals agree:", np.allclose(expected.state, by_hand))
print("the best labelling:", chain.maximum(scores)[1], "and", paths[score.argmax()])

# %%
# Given its neighbours, a label is independent of all others, as in every product of potentials of
# neighbours (theorems 1 and 2): the distribution of the third label, given the four others, is the
# same for all first and last labels.
of_third = p.reshape(5 * [3]) / p.reshape(5 * [3]).sum(axis=2, keepdims=True)
print("independent given its neighbours:", np.allclose(of_third, of_third[:1, :, :, :, :1]))

# %%
# The gradient of the log-likelihood is what is observed, minus what is expected (equation 23).
# Here it is compared with a quotient of differences, for the transition from label 0 to label 2.
gold = np.array([0, 2, 0, 2, 1])


def log_likelihood(transition):
    changed = scores._replace(transition=transition)
    return (chain.score(changed, gold)[0] - chain.log_partition(changed)[0])[0]


step = np.zeros((3, 3))
step[0, 2] = 1e-6
up, down = (log_likelihood(scores.transition + sign * step) for sign in (1, -1))
print(f"observed minus expected: {2 - expected.transition[0, 2]:.6f}")
print(f"quotient of differences: {(up - down) / 2e-6:.6f}")

# %%
# One corpus
# ----------
# Postal addresses, of whose tokens a model sees the words, shapes and neighbours. Labels say where
# names of people, streets, towns and so on begin and go on; the F-score is of whole ones.
X, y = make_addresses(500, random_state=0)
names = [f"{kind}[{i}]" for kind in ("token", "shape") for i in (-1, 0, 1)]
window = make_pipeline(TokenFeatures(["shape"]), Window(names))
X = window.fit_transform(X)
X, X_test, y, y_test = X[:150], X[150:], y[:150], y[150:]

# %%
# Training methods
# ----------------
# Section 2 of the survey has six ways to train; section 3 is about scores of whole segments, and
# section 4 about many labels and conjunctions of features. All are classifiers with ``fit`` and
# ``predict``. Trees, and experts that see some of the attributes each, need rows of numbers. Some
# of the methods are stopped early here.
simplefilter("ignore", ConvergenceWarning)
pool = OpinionPoolCRF(random_experts(CRF(), 3), random_state=0)
methods = {
    "2.1 log-likelihood": CRF(),
    "2.2 perceptron": StructuredPerceptron(random_state=0),
    "2.3 product of marginals": CRF("marginal_likelihood"),
    "2.4 margin, SMO": MaxMarginCRF(solver="smo", max_iter=20, random_state=0),
    "2.4 margin, exponentiated gradient": MaxMarginCRF(solver="eg", max_iter=20, random_state=0),
    "2.5 boosted trees": make_pipeline(SequenceVectorizer(), BoostedCRF(max_iter=30)),
    "2.6 pool of experts": make_pipeline(SequenceVectorizer(), pool),
    "3   segments": SemiMarkovCRF(),
    "4.1 output codes": OutputCodeCRF(random_state=0),
    "4.2 feature induction": FeatureInduction(CRF(tol=1e-3)),
}
found = {}
print(f"{'':34}   F1  seconds")
for name, model in methods.items():
    start = process_time()
    model.fit(X, y)
    found[name] = 100 * segment_f1(y_test, model.predict(X_test))
    print(f"{name:34} {found[name]:4.1f} {process_time() - start:8.2f}")

# %%
# Two claims of the survey
# ------------------------
# The margin has a minimum, which both solvers approach. The survey says that the exponentiated
# gradient ends up with a better objective than SMO; with the same number of passes it is worse
# here.
for solver in ("SMO", "exponentiated gradient"):
    crf = methods[f"2.4 margin, {solver}"]
    print(f"{solver:22}: objective {crf.loss_curve_[-1]:8.1f}, gap {crf.duality_gap_:8.1f}")

# %%
# Trees of pairs
# --------------
# Boosting adds trees to the scores, fitted to the gradient of the log-likelihood. By the score of a
# pair of labels at a token, it is whether these labels are gold, minus their probability (equation
# 53). With one set of transitions for all tokens, a model cannot learn that labels stay as they are
# where a number is positive, and change elsewhere.


def make_switches(n_sequences):
    X = [rng.normal(size=(12, 1)) for _ in range(n_sequences)]
    return X, [(rng.integers(2) + np.cumsum(x[:, 0] < 0)) % 2 for x in X]


(X, y), (X_test, y_test) = make_switches(100), make_switches(100)
curves = {}
for name, pairs in (("labels", False), ("labels and pairs", True)):
    crf = BoostedCRF(pairs=pairs, random_state=0).fit(X, y)
    changes = [np.diff(labels) != 0 for labels in crf.predict(X_test)]
    right = np.mean([change == (x[1:, 0] < 0) for change, x in zip(changes, X_test, strict=True)])
    print(f"trees of {name:16}: {100 * right:5.1f} % of the changes are right")
    curves[f"trees of {name}"] = crf.loss_curve_

# %%
# The trees of pairs have found the threshold, 0. The score of staying minus the score of changing,
# after each label, by the number:
x = np.linspace(-2, 2, 201, dtype=np.float32)[:, None]
of_pairs = crf.transitions_[tuple(crf.pairs_.T)] + sum(t.predict(x) for t in crf.pair_estimators_)
by_pair = {(i, j): of_pairs[:, k] for k, (i, j) in enumerate(crf.pairs_.tolist())}

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for name, curve in curves.items():
    left.plot(curve, label=name)
left.set(xlabel="round", ylabel="log loss of training", yscale="log")
left.legend()
for label in (0, 1):
    right.plot(x, by_pair[label, label] - by_pair[label, 1 - label], label=f"after label {label}")
right.set(xlabel="number", ylabel="staying minus changing")
right.legend()
plt.show()
