"""
Find phrases with a template
============================

A template of features, training, the weights that were learned, and segments with their
probabilities.

The data are from the CoNLL-2000 shared task if available, in the folder named by the environment
variable ``SKLEARN_CRCRF_DATA`` or in scikit-learn's data folder. Otherwise the segments are the
parts of postal addresses.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import Pipeline

from sklearn_crcrf import CRF, SequenceVectorizer, Window
from sklearn_crcrf.datasets import fetch_conll2000, make_addresses
from sklearn_crcrf.labels import to_segments
from sklearn_crcrf.metrics import segment_f1, segment_report, token_accuracy

# %%
# The data
# --------
# A sentence is a list of tokens, each with the keys "word" and "pos", its part of speech. Addresses
# have no parts of speech, so "pos" is a coarse kind of token there.


def kind(word):
    kinds = {"number": word[0].isdigit(), "name": word[0].isupper(), "word": word.isalnum()}
    return next((kind for kind, holds in kinds.items() if holds), "other")


try:
    X_train, y_train = fetch_conll2000("train", download_if_missing=False, return_X_y=True)
    X_test, y_test = fetch_conll2000("test", download_if_missing=False, return_X_y=True)
except OSError:
    addresses, y = make_addresses(3000, random_state=0)
    X = [[{"word": word, "pos": kind(word)} for word in words] for words in addresses]
    X_train, y_train, X_test, y_test = X[:2000], y[:2000], X[2000:], y[2000:]

print(f"{len(X_train)} sentences to train on, {len(X_test)} to test on. The first one:")
for token, label in list(zip(X_train[0], y_train[0], strict=True))[:8]:
    print(f"{token['word']:14} {token['pos']:8} {label}")

# %%
# A template
# ----------
# The usual one for this task: the words and parts of speech of two tokens on either side,
# pairs of words that touch the token, and pairs and triples of parts of speech.
template = [f"word[{i}]" for i in range(-2, 3)] + ["word[-1]|word[0]", "word[0]|word[1]"]
template += [f"pos[{i}]" for i in range(-2, 3)]
template += [f"pos[{i}]|pos[{i + 1}]" for i in range(-2, 2)]
template += [f"pos[{i}]|pos[{i + 1}]|pos[{i + 2}]" for i in range(-2, 1)]

# %%
# Training
# --------
# :class:`~sklearn_crcrf.Window` makes a column of symbols of each item of the template, and
# :class:`~sklearn_crcrf.SequenceVectorizer` a sparse matrix of them, with a column for each symbol.
# Observed features suffice here, and constraints rule out labellings such as ``O`` followed by
# ``I-NP``. Single precision is faster, and precise enough.
pipeline = Pipeline(
    [
        ("template", Window(template)),
        ("attributes", SequenceVectorizer(dtype=np.float32)),
        ("crf", CRF(features="observed", constraints="IOB2", sigma=1.0, tol=1e-3)),
    ]
).fit(X_train, y_train)
crf = pipeline["crf"]
print(f"{crf.n_iter_} iterations, {crf.coef_.nnz} weights, objective {crf.loss_curve_[-1]:.2f}")

# %%
# Results
# -------
y_pred = pipeline.predict(X_test)
print(f"accuracy {token_accuracy(y_test, y_pred):.4f}, F1 {segment_f1(y_test, y_pred):.4f}\n")
print(segment_report(y_test, y_pred, zero_division=0.0))

# %%
# What was learned
# ----------------
# The largest and the smallest weights of attributes:
names = pipeline["attributes"].get_feature_names_out()
coef = sp.coo_array(crf.coef_)
order = np.argsort(coef.data)
for k in [*order[: -8 - 1 : -1], *order[:4]]:
    print(f"{coef.data[k]:6.2f}  {names[coef.row[k]]:32} {crf.classes_[coef.col[k]]}")

# %%
# The weights of transitions between the most frequent labels. Grey cells are forbidden or never
# occur.
labels, counts = np.unique(np.concatenate(y_train), return_counts=True)
frequent = np.sort(np.argsort(-counts)[:9])
weights = crf.transitions_[np.ix_(frequent, frequent)]
limit = np.abs(weights).max()

figure, ax = plt.subplots(figsize=(7, 6), layout="constrained")
shown = np.where(weights == 0, np.nan, weights)
image = ax.imshow(shown, cmap="RdBu", vmin=-limit, vmax=limit)
ax.set_xticks(range(len(frequent)), crf.classes_[frequent], rotation=60, ha="right")
ax.set_yticks(range(len(frequent)), crf.classes_[frequent])
ax.set(xlabel="label", ylabel="label before it", title="weights of transitions", facecolor="0.8")
figure.colorbar(image)
plt.show()

# %%
# Segments with their probabilities
# ---------------------------------
# ``predict_spans`` returns the probability of each predicted segment: that it begins and ends
# exactly there, and has this type. These are the least certain ones.
attributes = pipeline[:-1].transform(X_test)
spans = [(i, *span) for i, found in enumerate(crf.predict_spans(attributes)) for span in found]
for i, start, end, name, probability in sorted(spans, key=lambda span: span[-1])[:8]:
    text = " ".join(token["word"] for token in X_test[i][start:end])
    print(f"{probability:.2f}  {name:9}  {text}")

# %%
# Segments with a high probability are right more often.
true = set(zip(*to_segments(y_test), strict=True))
right = np.array([span[:-1] in true for span in spans])
probability = np.array([span[-1] for span in spans])
for low, high in ((0.0, 0.5), (0.5, 0.8), (0.8, 0.95), (0.95, 1.0)):
    chosen = (low < probability) & (probability <= high)
    share = right[chosen].mean()
    print(f"probability in ({low}, {high}]: {chosen.sum():5} segments, {share:.0%} right")
