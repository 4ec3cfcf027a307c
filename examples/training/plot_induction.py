"""
Find conjunctions of attributes
===============================

A word is often telling only together with its neighbour. Templates list such pairs by hand;
:class:`~sklearn_crcrf.FeatureInduction` finds them while it trains.

The data are from the CoNLL-2000 shared task if available, in the folder named by the environment
variable ``SKLEARN_CRCRF_DATA`` or in scikit-learn's data folder. Otherwise the segments are the
parts of postal addresses.
"""

from itertools import islice

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline

from sklearn_crcrf import CRF, FeatureInduction, TokenFeatures, Window
from sklearn_crcrf.datasets import fetch_conll2000, make_addresses
from sklearn_crcrf.metrics import segment_f1

# %%
# The data
# --------
# Ten attributes of each token: its word and the two words on either side, and the parts of speech
# of these. Addresses have no parts of speech; there the shapes of words stand in for them.
try:
    X, y = fetch_conll2000("train", download_if_missing=False, return_X_y=True)
    X_test, y_test = fetch_conll2000("test", download_if_missing=False, return_X_y=True)
    X, y, columns, steps = X[:1500], y[:1500], ["word", "pos"], []
except OSError:
    words, labels = make_addresses(1500, random_state=0)
    X, y, X_test, y_test = words[:500], labels[:500], words[500:], labels[500:]
    columns, steps = ["token", "shape"], [TokenFeatures(["shape"])]

around = [f"{column}[{i}]" for column in columns for i in range(-2, 3)]
window = make_pipeline(*steps, Window(around))
X, X_test = window.fit_transform(X), window.transform(X_test)

# %%
# Training
# --------
# In each round the features that promise the largest gain in likelihood become part of the model.
# A CRF that has a weight for every attribute and label, without conjunctions, is the comparison. On
# sentences a few thousand weights are better than all of these; addresses need few conjunctions.
induced = FeatureInduction(CRF(dtype="float32", tol=1e-3)).fit(X, y)
plain = CRF(dtype="float32", tol=1e-3).fit(X, y)
for name, model in (("single attributes", plain), ("induction", induced)):
    f1 = segment_f1(y_test, model.predict(X_test).tolist())
    n_weights = np.count_nonzero(model.coef_.data)
    print(f"{name:18} {n_weights:8,} weights, F1 {100 * f1:.1f}")

# %%
# What was found
# --------------
# Features are listed in the order in which they were chosen. The gain of a conjunction counts
# divided by the number of its attributes.
found = zip(induced.features_, induced.gains_, induced.rounds_, strict=True)
joined = [(name, label, gain, r) for (name, label), gain, r in found if " & " in name]
for name, label, gain, r in islice(joined, 12):
    print(f"round {r + 1}  gain {gain:6.1f}  {label:12} {name}")

# %%
# Which columns do they join? The darker, the more conjunctions of two columns.
around = list(X.data.names)
pairs = np.zeros((len(around), len(around)))
for name, *_ in joined:
    places = [around.index(part.partition("=")[0]) for part in name.split(" & ")]
    for a in places:
        for b in places:
            pairs[a, b] += a != b
figure, ax = plt.subplots(figsize=(7, 5), layout="constrained")
image = ax.imshow(pairs, cmap="Blues")
ax.set_xticks(range(len(around)), around, rotation=90)
ax.set_yticks(range(len(around)), around)
ax.set_title("conjunctions of two columns")
figure.colorbar(image)
plt.show()

# %%
# The objective falls with every round, although only part of the features is there yet. Most is
# gained by the first thousand.
sizes, losses = zip(*induced.curve_, strict=True)
_, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.plot(sizes, losses, "o-")
ax.set(xscale="log", xlabel="features", ylabel="objective", title="training")
plt.show()
