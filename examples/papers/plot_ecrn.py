"""
Follow the paper on empirical co-occurrence rate networks
=========================================================

"Empirical Co-occurrence Rate Networks for Sequence Labeling" (Zhu, Hiemstra, Apers and Wombacher,
2013) factorises a chain of labels into co-occurrence rates, and estimates them by counting. This
example works out its two theorems, its words "rib" and "rob", and its table II, and makes a table
like III and IV. :doc:`/user_guide/papers` has all its equations.
"""

from functools import partial
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline

from sklearn_crcrf import (
    CRF,
    MEMM,
    EmpiricalCRF,
    SequenceVectorizer,
    TokenFeatures,
    co_occurrence_rate,
    explain,
)
from sklearn_crcrf.datasets import make_addresses, make_label_bias
from sklearn_crcrf.metrics import known_accuracy, token_accuracy, unknown_accuracy

# %%
# Rates, and the two theorems
# ---------------------------
# The co-occurrence rate of some events is the probability of all together, divided by what it
# would be if they were independent (definition 1). Here are three labels in a row, each of which
# depends on the one before it.
rng = np.random.default_rng(0)
first, second, third = rng.dirichlet([1, 1]), *rng.dirichlet([1, 1], size=(2, 2))
p = first[:, None, None] * second[:, :, None] * third  # p[x, y, z]
together, apart = co_occurrence_rate(p, [0, 1])[0]
print(f"x = 0 and y = 0: {together:.2f}, above 1, so they attract each other")
print(f"x = 0 and y = 1: {apart:.2f}, below 1, so they avoid each other")

# %%
# Theorem 1: events can be merged, :math:`\mathrm{CR}(x; y; z) = \mathrm{CR}(x; yz)\,
# \mathrm{CR}(y; z)`.
of_all, of_yz = co_occurrence_rate(p, [0, 1, 2]), co_occurrence_rate(p, [1, 2])
of_x_with_yz = co_occurrence_rate(p, [0, [1, 2]])
print("theorem 1 holds:", np.allclose(of_all, of_x_with_yz * of_yz))

# %%
# Theorem 2: as x is independent of z given y, z has no part in
# :math:`\mathrm{CR}(x; yz) = \mathrm{CR}(x; y)`.
of_xy = co_occurrence_rate(p, [0, 1])[:, :, None]
print("theorem 2 holds:", np.allclose(of_x_with_yz, of_xy))

# %%
# Both together factorise the chain into rates of neighbours and single labels (equation 3).
single = p.sum((1, 2))[:, None, None] * p.sum((0, 2))[:, None] * p.sum((0, 1))
print("equation 3 holds:", np.allclose(p, of_xy * of_yz * single))

# %%
# "rib" and "rob"
# ---------------
# "rib" was labelled X I B in 11 sequences, "rob" Y O B in 9, and once X I B. How should "rob" be
# labelled? A model from left to right says X I B, since X is more frequent for r, and after X
# it has only seen I, whatever the letter (section II-B3).
X = [list("rib")] * 11 + [list("rob")] * 10
y = [list("XIB")] * 11 + [list("YOB")] * 9 + [list("XIB")]
rob = [list("rob")]
for crf in (MEMM(sigma=np.inf, max_iter=1000, tol=1e-9), EmpiricalCRF.ecrn()):
    best = crf.fit(X, y).predict_k_best(rob, k=2)[0]
    print(f"{type(crf).__name__:12}", *(f"{''.join(labels)} {p:.4f}" for labels, p in best))
print(f"in the paper 12/21 = {12 / 21:.4f} and 9/21 = {9 / 21:.4f}, 9/10 and 1/10")

# %%
# Each factor sees its letters. For "r" Y is rarer than X, by 9/21 to 12/21, but "o" has the label O
# in 9 of 10 cases, and no label before it can hide that (section III-C). The factors of Y O B, as
# logarithms:
print(explain(crf, list("rob")))

# %%
# Table II: label bias
# --------------------
# The same words with two labels R1 and R2 for "r", and noise: a letter is wrong with probability
# 3/32. In per cent of the labels, the mean of ten rounds:
published = {"ECRN": 95.8, "CRF": 95.9, "piecewise": 96.0, "MEMM": 66.6}
methods = {
    "ECRN": EmpiricalCRF.ecrn,
    "CRF": CRF,
    "piecewise": partial(CRF, "piecewise"),
    "MEMM": partial(MEMM, sigma=10.0),
}


def mean_score(make, noise, n_rounds):
    scores = []
    for k in range(n_rounds):
        train = make_label_bias(2000, noise=noise, random_state=k)
        test = make_label_bias(500, noise=noise, random_state=100 + k)
        scores.append(100 * make().fit(*train).score(*test))
    return np.mean(scores)


print("method     paper  here")
for name, make in methods.items():
    print(f"{name:10} {published[name]:5.1f} {mean_score(make, 3 / 32, 10):5.1f}")

# %%
# With more noise all methods get worse, but only the one from left to right loses from the start.
noises = np.arange(0, 17, 4) / 32
figure, ax = plt.subplots(layout="constrained")
for name in ("ECRN", "CRF", "MEMM"):
    values = [mean_score(methods[name], noise, 1) for noise in noises]
    ax.plot(noises, values, {"CRF": "--"}.get(name, "-"), marker="o", label=name)
ax.plot(3 / 32, published["ECRN"], "k*", markersize=12, label="ECRN in the paper")
ax.set(xlabel="probability that a letter is wrong", ylabel="labels right, per cent")
ax.legend()
plt.show()

# %%
# A table like III and IV
# -----------------------
# The paper has the accuracy of all, known and unknown words, and the seconds of training, on the
# Brown corpus and on Dutch names; :doc:`/benchmarks/papers` compares our figures with theirs. Here
# are the same columns for made-up addresses. The CRF has the word and the spelling features of the
# paper, as ECRN has.
X, y = make_addresses(1500, random_state=0)
train, test = (X[:1000], y[:1000]), (X[1000:], y[1000:])
features = make_pipeline(TokenFeatures("simple"), SequenceVectorizer())
vocabulary = {word for words in train[0] for word in words}
known = [[word in vocabulary for word in words] for words in test[0]]

print("method  overall  known  unknown  CPU s")
for name, crf in (("ECRN", EmpiricalCRF.ecrn()), ("CRF", make_pipeline(features, CRF()))):
    start = process_time()
    labels = crf.fit(*train).predict(test[0])
    seconds = process_time() - start
    overall = 100 * token_accuracy(test[1], labels)
    parts = [100 * metric(test[1], labels, known) for metric in (known_accuracy, unknown_accuracy)]
    print(f"{name:6} {overall:8.2f} {parts[0]:6.2f} {parts[1]:8.2f} {seconds:6.2f}")
