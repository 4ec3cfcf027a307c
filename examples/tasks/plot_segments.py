"""
Find names with a dictionary
============================

A list of names helps a labeller in two ways. Tokens can be marked that occur in an entry of the
list, by a :class:`~sklearn_crcrf.Gazetteer`; or whole segments can be compared with the entries, by
a :class:`~sklearn_crcrf.SegmentGazetteer` for a :class:`~sklearn_crcrf.SemiMarkovCRF`, also if they
only resemble an entry.

The data are Dutch names of the CoNLL-2002 shared task if available, in the folder named by the
environment variable ``SKLEARN_CRCRF_DATA`` or in scikit-learn's data folder. Otherwise the segments
are the parts of postal addresses.
"""

import matplotlib.pyplot as plt
from sklearn.pipeline import make_pipeline, make_union

from sklearn_crcrf import (
    CRF,
    Gazetteer,
    SegmentGazetteer,
    SemiMarkovCRF,
    TokenFeatures,
    Window,
    WithSegments,
    explain,
)
from sklearn_crcrf.datasets import fetch_conll2002, make_addresses
from sklearn_crcrf.labels import to_segments
from sklearn_crcrf.metrics import segment_f1

# %%
# The data
# --------
# Some sentences are for training. The names in many other sentences are the dictionary, as if it
# came from elsewhere: the sentences themselves are not used.
try:
    X, y = fetch_conll2002("train", download_if_missing=False, return_X_y=True)
    X_test, y_test = fetch_conll2002("testb", download_if_missing=False, return_X_y=True)
    n, n_test = 1500, 2000
    X, X_test = ([[token["word"] for token in s] for s in part] for part in (X, X_test))
except OSError:
    X, y = make_addresses(1200, random_state=0)
    X_test, y_test = X[1000:], y[1000:]
    n, n_test = 60, 200
X_test, y_test = X_test[:n_test], y_test[:n_test]

lists = {}
for sequence, start, end, kind in zip(*to_segments(y[n:]), strict=True):
    lists.setdefault(kind, set()).add(tuple(X[n + sequence][start:end]))
lists = {kind: sorted(names) for kind, names in sorted(lists.items())}
X, y = X[:n], y[:n]
print({kind: len(names) for kind, names in lists.items()})

# %%
# Four ways to label
# ------------------
# All models have the same attributes of tokens: their words and spelling in a window.
spelling = ["lower", "shape", "prefix3", "suffix3", "capitalisation"]
around = [f"{column}[{i}]" for column in ("lower", "shape") for i in (-1, 1)]
window = make_pipeline(TokenFeatures(spelling), Window([*(f"{s}[0]" for s in spelling), *around]))
marked = make_union(
    window,
    make_pipeline(Gazetteer(lists, ignore_case=True), Window([f"{kind}[0]" for kind in lists])),
)

settings = {"features": "observed", "tol": 1e-3}
models = {
    "no dictionary": make_pipeline(window, CRF(constraints="IOB2", **settings)),
    "marks of tokens": make_pipeline(marked, CRF(constraints="IOB2", **settings)),
    "exact matches of segments": make_pipeline(
        WithSegments(window, SegmentGazetteer(lists)), SemiMarkovCRF(**settings)
    ),
    "similar segments": make_pipeline(
        WithSegments(window, SegmentGazetteer(lists, similarity="jaccard")),
        SemiMarkovCRF(**settings),
    ),
}
f1 = {}
for name, model in models.items():
    f1[name] = 100 * segment_f1(y_test, model.fit(X, y).predict(X_test).tolist())
    print(f"{name:26} F1 {f1[name]:.1f}")

figure, axes = plt.subplots(figsize=(6, 2), layout="constrained")
bars = axes.barh(list(f1), list(f1.values()), color="#0072b2")
axes.bar_label(bars, fmt="%.1f", padding=3)
axes.set(xlabel="F1 of segments", xlim=(0, 100))
axes.invert_yaxis()

# %%
# What the lists tell
# -------------------
# The weights of the features of segments, for each type. To be an entry of a list speaks for the
# type of the list; to share some tokens with an entry speaks less.
crf = models["similar segments"][-1]
for feature, weights in zip(crf.segment_feature_names_, crf.segment_coef_, strict=True):
    cells = [f"{t} {w:+.2f}" for t, w in zip(crf.segment_types_, weights, strict=True)]
    print(f"{feature:24}", "  ".join(cells))

# %%
# One sequence explained
# ----------------------
# Contributions of segments stand at their first tokens.
print(explain(models["similar segments"], X_test[0]))
plt.show()
