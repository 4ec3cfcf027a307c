"""
Follow the paper on separate training
=====================================

"Separate Training for Conditional Random Fields Using Co-occurrence Rate Factorization" (Zhu,
Hiemstra, Apers and Wombacher, arXiv:1008.1566, 2012) factorises a CRF into probabilities of labels
and of pairs of labels, and trains both on their own, as two plain classifications. This example
checks the factorisation, trains both by hand, shows why a model from left to right fails where
this does not, and compares the methods as the tables of the paper do. :doc:`/user_guide/papers` has
all its equations.
"""

from functools import partial
from itertools import pairwise, product
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from sklearn_crcrf import (
    CRF,
    MEMM,
    EmpiricalCRF,
    SeparateCRF,
    SequenceVectorizer,
    TokenFeatures,
    Window,
    co_occurrence_rate,
)
from sklearn_crcrf.datasets import make_addresses, make_label_bias
from sklearn_crcrf.metrics import segment_f1

# %%
# The factorisation
# -----------------
# A rate is the probability of some events together, over what it would be if they were independent.
# The theorems of the paper (:ref:`worked out here <sphx_glr_auto_examples_papers_plot_ecrn.py>`)
# divide the rate of all labels into rates of linked labels. In this tree b is linked to a, c and d,
# and its distribution is the product of three rates and of the probabilities of all labels.
rng = np.random.default_rng(0)
to_a, to_c, to_d = rng.dirichlet(np.ones(2), size=(3, 2))
p = np.einsum("b,ba,bc,bd->abcd", rng.dirichlet(np.ones(2)), to_a, to_c, to_d)
rates = [co_occurrence_rate(p, [1, k]) for k in (0, 2, 3)]
labels = [p.sum(axis=tuple(j for j in range(4) if j != k)) for k in range(4)]
factors = np.einsum("ab,bc,bd,a,b,c,d->abcd", *rates, *labels)
print("rates and labels give the distribution:", np.allclose(p, factors))

# %%
# With rates written as quotients, these are the factors of a junction tree: the cliques a b, b c
# and b d, over the separator b, which is there twice. All of them are probabilities, so each can be
# trained by itself.
cliques = [p.sum(axis=axes) for axes in ((2, 3), (0, 3), (0, 2))]
factors = np.einsum("ab,bc,bd->abcd", *cliques) / labels[1][:, None, None] ** 2
print("the junction tree gives it, too:", np.allclose(p, factors))

# %%
# Two classifications instead of one CRF
# --------------------------------------
# The words "rib" and "rob" have the labels R1 I B and R2 O B, and one letter in eleven is wrong.
# One classifier learns :math:`u(y \mid x)`, the label of a letter, and another one
# :math:`v(y, y' \mid x, x')`, both labels of two letters in a row. Neither needs the other, so they
# could be trained at the same time.
X, y = make_label_bias(2000, random_state=0)


def classifier():
    return make_pipeline(DictVectorizer(), LogisticRegression(C=100.0))


def both(x, x_next):
    return {f"first={x}": 1, f"second={x_next}": 1}


letters = [{x: 1} for word in X for x in word]
pairs = [both(*letter_pair) for word in X for letter_pair in pairwise(word)]
u = classifier().fit(letters, [label for labels in y for label in labels])
v = classifier().fit(pairs, [" ".join(two) for labels in y for two in pairwise(labels)])

# %%
# In prediction the factor of a pair is its co-occurrence rate, :math:`v / (u\, u')`, so that the
# probability of a labelling is :math:`\prod_t u(y_t \mid x_t) \prod_t v / (u\, u')`. Pairs of
# labels that never occurred have none.


def separate(word):
    """The probabilities of all labellings of a word."""
    of_letter = [
        dict(zip(u.classes_, p, strict=True)) for p in u.predict_proba([{x: 1} for x in word])
    ]
    of_pair = [
        dict(zip(v.classes_, p, strict=True))
        for p in v.predict_proba([both(*two) for two in pairwise(word)])
    ]
    values = {}
    for labels in product(u.classes_, repeat=len(word)):
        value = np.prod([p[label] for p, label in zip(of_letter, labels, strict=True)])
        for t, (a, b) in enumerate(pairwise(labels)):
            value *= of_pair[t].get(f"{a} {b}", 0.0) / (of_letter[t][a] * of_letter[t + 1][b])
        values[labels] = value
    total = sum(values.values())
    return {labels: value / total for labels, value in values.items()}


by_hand = separate("rob")
best = max(by_hand, key=by_hand.get)
print(" ".join(best), round(by_hand[best], 4))

# %%
# ``SeparateCRF`` does the same with ``pairs="maxent"``, or with any classifier of pairs. It smooths
# pairs towards the counted rates, and chooses the power of the rates on held-out sequences; here it
# is 1, as in the paper.
separated = SeparateCRF(pairs="maxent", exponent=1.0).fit(X, y)
(found,) = separated.predict_k_best([list("rob")], k=1)
print(" ".join(found[0][0]), round(found[0][1], 4))

# %%
# Why a model from left to right fails
# ------------------------------------
# A conditional Markov model (CMM, or MEMM) has the factors :math:`p(y_t \mid y_{t-1}, x_t)`. It
# chooses R1 or R2 when it has seen only "r", which says nothing. After R1 it knows only I, so "o"
# cannot change its mind: both labellings keep about one half. In separate training a pair of labels
# sees "r" and "o" at once. The last line is the truth, from how the data are made.
methods = {"MEMM": MEMM(sigma=10.0), "SeparateCRF": separated, "CRF": CRF(sigma=10.0)}
print("p(R2 O B) of    rob    rib")
for name, crf in methods.items():
    values = []
    for word in ("rob", "rib"):
        (paths,) = crf.fit(X, y).predict_k_best([list(word)], k=8)
        values.append({tuple(labels): p for labels, p in paths}["R2", "O", "B"])
    print(f"{name:13} {values[0]:6.3f} {values[1]:6.3f}")
print(f"{'truth':13} {29 / 30:6.3f} {1 / 30:6.3f}")

# %%
# Label bias, as a table
# ----------------------
# In per cent of the labels of 500 other words, the mean of three rounds:
makes = {
    "separate, maxent": partial(SeparateCRF, pairs="maxent", exponent=1.0),
    "separate, counts": EmpiricalCRF.ecrn,
    "CRF": CRF,
    "piecewise": partial(CRF, "piecewise"),
    "MEMM": partial(MEMM, sigma=10.0),
}
print("method             accuracy")
for name, make in makes.items():
    scores = []
    for k in range(3):
        train = make_label_bias(2000, random_state=k)
        test = make_label_bias(500, random_state=100 + k)
        scores.append(100 * make().fit(*train).score(*test))
    print(f"{name:18} {np.mean(scores):8.1f}")

# %%
# What separate training is good for
# ----------------------------------
# Made-up addresses, with the word and the eleven spelling features of the paper. Counting knows
# only pairs of words that it has seen; pairs by maximum entropy see the spelling of both words. A
# CRF learns all at once, with sums over labellings in each iteration, and its transitions do not
# depend on words; to be fair, it can have the attributes of the word before as well. Separate
# training needs no sums over labellings, and its parts can be trained at the same time.
X, y = make_addresses(600, random_state=0)
spelling = TokenFeatures("simple")
of_one = make_pipeline(spelling, SequenceVectorizer()).fit_transform(X)
of_both = make_pipeline(spelling, Window([-1, 0]), SequenceVectorizer()).fit_transform(X)
table = {
    "ecrn(): counts, of words": (EmpiricalCRF.ecrn(), X),
    "separate, pairs counted": (SeparateCRF(CRF()), of_one),
    "separate, pairs by maxent": (SeparateCRF(CRF(), pairs="maxent"), of_one),
    "CRF": (CRF(), of_one),
    "CRF, attributes of both words": (CRF(), of_both),
}
f1s = []
print("                               F1 of segments  CPU s of training")
for name, (crf, data) in table.items():
    start = process_time()
    crf.fit(data[:400], y[:400])
    seconds = process_time() - start
    f1s.append(100 * segment_f1(y[400:], crf.predict(data[400:])))
    print(f"{name:30} {f1s[-1]:14.1f} {seconds:18.2f}")

# %%
figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
bars = ax.barh(list(table), f1s)
ax.bar_label(bars, fmt="%.1f", padding=3)
ax.invert_yaxis()
ax.set(xlabel="F1 of segments of 200 addresses, per cent", xlim=(0, 100))
plt.show()
