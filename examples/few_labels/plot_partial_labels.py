"""
Learn from partly labelled text
===============================

Labels are expensive. What if only some words of each address are labelled, or two people disagree?
And how can prediction use known labels?
"""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline

from sklearn_crcrf import CRF, TokenFeatures, Window
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.metrics import segment_f1

X, y = make_addresses(1400, random_state=0)
X_train, y_train = X[:400], y[:400]
X_test, y_test = X[400:], y[400:]

# %%
# Words without labels
# --------------------
# None marks an unknown label. Training maximises the probability of all labellings that agree
# with the known labels, so words without labels still help, through their neighbours. The
# alternatives are to leave out all addresses with a missing label, or to label such words ``O``.
rng = np.random.default_rng(0)


def tagger(**parameters):
    crf = CRF(dtype="float32", tol=1e-3, **parameters)
    return make_pipeline(TokenFeatures(["shape"]), Window([-1, 0, 1]), crf)


def score(X, y, **parameters):
    return segment_f1(y_test, tagger(**parameters).fit(X, y).predict(X_test))


shares = [0.5, 0.7, 0.9, 1.0]
curves = {"None": [], "fewer addresses": [], "O": []}
for share in shares:
    known = [rng.random(len(labels)) < share for labels in y_train]
    pairs = [list(zip(*both, strict=True)) for both in zip(y_train, known, strict=True)]
    unknown = [[label if k else None for label, k in both] for both in pairs]
    outside = [[label if k else "O" for label, k in both] for both in pairs]
    n_whole = round(share * len(X_train))
    curves["None"].append(score(X_train, unknown))
    curves["fewer addresses"].append(score(X_train[:n_whole], y_train[:n_whole]))
    curves["O"].append(score(X_train, outside))
    print(f"{share:4.0%} labelled:", *(f"  {name} {of[-1]:.3f}" for name, of in curves.items()))

figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
names = {
    "None": "words without labels are not known",
    "fewer addresses": "as many labels, in whole addresses",
    "O": "words without labels are O",
}
for name, values in curves.items():
    ax.plot(shares, values, "o-", label=names[name])
ax.set(xlabel="share of words that are labelled", ylabel="F1 of segments")
ax.legend()
plt.show()

# %%
# Two people who disagree
# -----------------------
# A set lists the possible labels of a word. Here two people labelled the addresses. They agree on
# where parts begin and end, but on every third address one of them swapped streets and cities,
# and we do not know who.
swap = {"STREET": "CITY", "CITY": "STREET"}
swapped = [[label[:2] + swap.get(label[2:], label[2:]) for label in labels] for labels in y_train]
disputed = rng.random(len(y_train)) < 1 / 3
first_is_wrong = disputed & (rng.random(len(y_train)) < 0.5)

of_the_first, of_both = list(y_train), list(y_train)
for i in np.flatnonzero(disputed):
    of_the_first[i] = swapped[i] if first_is_wrong[i] else y_train[i]
    of_both[i] = [{a, b} for a, b in zip(y_train[i], swapped[i], strict=True)]
agreed = np.flatnonzero(~disputed)
X_agreed, y_agreed = [X_train[i] for i in agreed], [y_train[i] for i in agreed]
print(f"the first is always right {score(X_train, of_the_first):.3f}")
print(f"only where both agree     {score(X_agreed, y_agreed):.3f}")
print(f"either may be right       {score(X_train, of_both):.3f}")
print(f"we know who is right      {score(X_train, y_train):.3f}")

# %%
# Constraints
# -----------
# ``I-CITY`` continues a city, so it cannot follow ``B-STREET``. ``constraints="IOB2"`` enforces
# this, in training and in prediction. Accuracy stays the same, but labels are consistent.


def n_impossible(y):
    pairs = [pair for labels in y for pair in pairwise(["O", *labels])]
    return sum(b[0] == "I" and a[1:] != b[1:] for a, b in pairs)


free = tagger().fit(X_train[:100], y_train[:100])
bound = tagger(constraints="IOB2").fit(X_train[:100], y_train[:100])
for name, model in (("without", free), ("with", bound)):
    y_pred = model.predict(X_test)
    f1 = segment_f1(y_test, y_pred)
    print(f"{name:7} constraints: {n_impossible(y_pred):3} impossible labels, F1 {f1:.3f}")

# %%
# Known labels in prediction
# --------------------------
# A person corrects a word, or a form says which part is the city. ``allowed`` has for each word a
# label, a set of labels, or None; the best labelling that agrees may change other words too. Here
# are addresses with several wrong words; the label of the first of these words is given.


def wrong_words(gold, found):
    return [t for t, (a, b) in enumerate(zip(gold, found, strict=True)) if a != b]


corrected = []
for words, gold, found in zip(X_test, y_test, bound.predict(X_test), strict=True):
    wrong = wrong_words(gold, found)
    if len(wrong) > 1:
        known = [label if t == wrong[0] else None for t, label in enumerate(gold)]
        (again,) = bound.predict([words], allowed=[known])
        corrected.append((len(wrong), len(wrong_words(gold, again)), words, found, again, known))

before, after = np.array([it[:2] for it in corrected]).T
print(f"{len(before)} addresses: {before.mean():.2f} words are wrong, then {after.mean():.2f}\n")

*_, words, found, again, known = max(corrected, key=lambda it: it[0] - it[1])
for word, label, told, new in zip(words, found, known, again, strict=True):
    print(f"{word:14} {label:12} {'' if told is None else 'no: ' + told:16} {new}")
