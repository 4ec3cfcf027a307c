"""
Follow the paper on closed form maximum likelihood
==================================================

"Closed Form Maximum Likelihood Estimator of Conditional Random Fields" (Zhu, Hiemstra, Apers and
Wombacher, 2013) trains a CRF by counting. This example works out its test-time problem (sections
3.4.3 and 4.1 to 4.3), its theorem 1 with the condition that it needs, and its table 1.
:doc:`/user_guide/papers` has all its equations.
"""

from functools import partial
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np

from sklearn_crcrf import CRF, MEMM, EmpiricalCRF, SequenceVectorizer, mle_conditions
from sklearn_crcrf.datasets import make_label_bias
from sklearn_crcrf.linear import Weights

# %%
# The test-time problem
# ---------------------
# Without a penalty, the likelihood of a CRF can have many maxima: weights that agree on every
# sentence of the training data, and disagree on others.
#
# The sentence "a b c d" is seen five times: four times with the labels 0 0 0 0, and once with
# 0 1 1 0. The model has a factor for each label and its word, and, by ``edge_columns``, one for
# two labels and the pair of their words.


def tokens(words):
    pairs = [{"word": b, "pair": a + b} for a, b in pairwise(words)]
    return [{"word": words[0]}, *pairs]


X = [tokens("abcd")] * 5
y = [[0, 0, 0, 0]] * 4 + [[0, 1, 1, 0]]

# %%
# Two estimates
# -------------
# The frequencies of labels, and of pairs of labels, are known. The probability of a labelling is
# :math:`p(ab)\, p(bc)\, p(cd) / (p(b)\, p(c))`, and there are several ways to factorise it. In the
# *empirical* estimate (equations 12 and 13) every word has its own frequencies, and every pair its
# co-occurrence rate, :math:`p(bc) / (p(b)\, p(c))`. In the other estimate (equations 18 to 20), the
# words b and c have no factors, because the factors of the pairs ab and cd contain them; the factor
# of bc does not.
p_word = {"a": [1, 0], "b": [0.8, 0.2], "c": [0.8, 0.2], "d": [1, 0]}
p_pair = {"ab": [[0.8, 0.2], [0, 0]], "bc": [[0.8, 0], [0, 0.2]], "cd": [[0.8, 0], [0.2, 0]]}


def rate(pair):
    independent = np.outer(p_word[pair[0]], p_word[pair[1]])
    return p_pair[pair] / np.where(independent > 0, independent, 1)


def weights(words, pairs):
    """The logarithms of factors, in the order of the attributes; -100 is as good as log 0."""

    def log(factor):
        return np.log(np.maximum(factor, np.exp(-100)))

    names = SequenceVectorizer().fit(X).get_feature_names_out()
    kinds, symbols = zip(*(name.split("=") for name in names), strict=True)
    state = [log(words.get(symbol, [1, 1])) for symbol in symbols]
    edges = [log(pairs[s]) for kind, s in zip(kinds, symbols, strict=True) if kind == "pair"]
    none = np.zeros(2)
    return Weights(np.array(state), np.zeros((2, 2)), none, none, np.array(edges))


starts = {
    "empirical estimate": weights(p_word, {pair: rate(pair) for pair in p_pair}),
    "test-time problem": weights({}, {**p_pair, "bc": rate("bc")}),
    "from zero": "zeros",
}

# %%
# Both are maxima
# ---------------
# Training that starts at either of them stops there at once, because the gradient is zero. Training
# that starts from zero ends at a third maximum. All three have the same likelihood, but for "b c"
# only the empirical estimate finds the labels that were right four times in five.


def log_likelihood(crf):
    paths = {tuple(path): p for path, p in crf.predict_k_best(X[:1], k=16)[0]}
    return sum(np.log(paths[tuple(labels)]) for labels in y)


bc = [tokens("bc")]
models = {}
print("                     iterations  log-likelihood  labels of b c")
for name, init in starts.items():
    crf = CRF(sigma=np.inf, edge_columns=["pair"], init=init, tol=1e-9).fit(X, y)
    print(f"{name:20} {crf.n_iter_:10}  {log_likelihood(crf):14.5f}  {crf.predict(bc)[0]}")
    models[name] = crf

# %%
# In all three models, the labellings of "a b c d" have the probabilities of the data. The
# likelihood does not determine the probabilities of the labellings of "b c".
sentences = {"a b c d": X[0], "b c": bc[0]}
labellings = {"a b c d": ["0000", "0110", "others"], "b c": ["00", "01", "10", "11"]}

figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
for ax, (title, sentence) in zip(axes, sentences.items(), strict=True):
    place = np.arange(len(labellings[title]))
    for i, (name, crf) in enumerate(models.items()):
        (paths,) = crf.predict_k_best([sentence], k=16)
        probability = {"".join(map(str, path)): p for path, p in paths}
        heights = [probability.pop(labels, 0.0) for labels in labellings[title]]
        if "others" in labellings[title]:
            heights[-1] = sum(probability.values())
        ax.bar(place + 0.27 * (i - 1), heights, width=0.25, label=name)
    ax.set_xticks(place, labellings[title])
    ax.set(xlabel="labels", title=f'"{title}"')
axes[0].set(ylabel="probability")
axes[0].legend()
plt.show()

# %%
# What helps
# ----------
# A penalty makes the optimum unique, but with a weak penalty it is close to one of the above. More
# data help more: once each pair of words also occurs alone, its factor cannot be absorbed by the
# factors of other pairs.
for sigma in (1.0, 10.0):
    labels = CRF(sigma=sigma, edge_columns=["pair"]).fit(X, y).predict(bc)[0]
    print(f"labels of b c with sigma={sigma:<4}: {labels}")

X_more = X + [tokens(pair) for pair in ("ab", "bc", "cd")]
y_more = y + [[0, 0]] * 3
labels = CRF(sigma=np.inf, edge_columns=["pair"], tol=1e-9).fit(X_more, y_more).predict(bc)[0]
print(f"labels of b c with more data : {labels}")

# %%
# Empirical training has no such problem: it counts, and there is only one estimate.
for name, crf in (("EP1", EmpiricalCRF.ecrn(spelling="mean")), ("EP2", EmpiricalCRF.maxent())):
    print(f"labels of b c by {name}:", crf.fit([list("abcd")] * 5, y).predict([list("bc")])[0])

# %%
# Theorem 1, and its condition
# ----------------------------
# The closed form is a maximum of the standard likelihood, as theorem 1 says, if a word has the same
# frequencies of labels next to each of its neighbours as on its own. In "a b c d" each word has
# only one neighbour on each side. Here b stands between a and c, and between d and e, with other
# labels.
words = [list("abc")] * 2 + [list("dbe")] * 2
labels = [[0, 0, 0], [0, 1, 1], [0, 1, 0], [0, 1, 0]]
counted = EmpiricalCRF.ecrn(zeros="exact").fit(words, labels)
rows = [tokens(sentence) for sentence in words]
standard = CRF(sigma=np.inf, edge_columns=["pair"], tol=1e-9).fit(rows, labels)
print("             log-likelihood  p(0) of b in a b c  from the conditions")
for name, crf, X_of_crf, word in (
    ("closed form", counted, words, "token"),
    ("standard", standard, rows, "word"),
):
    conditions = mle_conditions(crf, X_of_crf, labels, observation=word)
    of_b = crf.predict_proba(X_of_crf[:1])[0][1][0]
    print(f"{name:12} {conditions.log_likelihood:14.3f} {of_b:19.3f} {conditions.gap:20.3f}")

# %%
# In "a b c", b has each label in half of the sentences, but on its own it is 0 in a quarter. The
# closed form mixes both, :math:`p(ab)\, p(bc) / p(b)`, so its marginals are not those of the data,
# as the conditions of a maximum demand (equations 16 and 17), and its likelihood is lower. Real
# text is like this, too: there the closed form is an estimate of its own.

# %%
# Table 1: label bias
# -------------------
# "rib" has the labels R1 I B and "rob" has R2 O B, and one letter in eleven or so is wrong. A model
# from left to right (MEMM) has chosen R1 or R2 when it comes to the letter that tells them apart.
# Empirical training has no such bias, although its factors are normalised locally too. In per cent
# of the labels, the mean of ten rounds:
published = {"EP1": 95.8, "EP2": 95.9, "CRF": 95.9, "piecewise": 96.0, "MEMM": 66.6}
methods = {
    "EP1": partial(EmpiricalCRF.ecrn, spelling="mean"),
    "EP2": EmpiricalCRF.maxent,
    "CRF": CRF,
    "piecewise": partial(CRF, "piecewise"),
    "MEMM": partial(MEMM, sigma=10.0),
}
scores = {name: [] for name in methods}
for k in range(10):
    train, test = make_label_bias(2000, random_state=k), make_label_bias(500, random_state=100 + k)
    for name, make in methods.items():
        scores[name].append(100 * make().fit(*train).score(*test))
print("method     paper  here")
for name, found in scores.items():
    print(f"{name:10} {published[name]:5.1f} {np.mean(found):5.1f}")
