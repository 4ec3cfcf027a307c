"""
Use lists, clusters and templates
=================================

Only few addresses have labels here. This example combines templates of CRF++ and Wapiti with lists
of names, and with clusters of words from unlabelled text.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.pipeline import FeatureUnion, Pipeline

from sklearn_crcrf import (
    CRF,
    Gazetteer,
    SequenceVectorizer,
    TemplateFeatures,
    Window,
    WordClusters,
)
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.labels import to_segments
from sklearn_crcrf.metrics import segment_f1

# %%
# The data
# --------
# Up to 400 labelled addresses to train on, 1,000 to test on, and 20,000 without labels.
X, y = make_addresses(1400, random_state=0)
X_train, y_train, X_test, y_test = X[:400], y[:400], X[400:], y[400:]
X_unlabelled, y_hidden = make_addresses(20_000, random_state=1)

# %%
# A template
# ----------
# This is a template for CRF++: words up to two positions away, single and in pairs.
# :class:`~sklearn_crcrf.TemplateFeatures` makes a column from each line that begins with U.
template = """
# Unigram
U00:%x[-2,0]
U01:%x[-1,0]
U02:%x[0,0]
U03:%x[1,0]
U04:%x[2,0]
U05:%x[-1,0]/%x[0,0]
U06:%x[0,0]/%x[1,0]

# Bigram
B
"""
words = TemplateFeatures(template)
made = words.fit_transform(X_train).data
for name in made.names:
    print(f"{name}  {'  '.join(made.column(name)[:4])}")

# %%
# Spelling, in the language of Wapiti
# -----------------------------------
# ``%m`` is the part of a word that a regular expression matches, ``%t`` whether it matches.
# Commands in upper case convert the result to lower case.
patterns = r"""
u:word=%X[0,0]
u:first=%M[0,0,"^.?.?.?"]
u:last=%M[0,0,".?.?.?$"]
u:digits=%m[0,0,"^\d\d*$"]
u:kind=%t[0,0,"^\u"]%t[0,0,"\d"]%t[0,0,"\l"]%t[0,0,"^\p"]
u:kinds=%t[-1,0,"^\u"]%t[-1,0,"\d"]/%t[0,0,"^\u"]%t[0,0,"\d"]/%t[1,0,"^\u"]%t[1,0,"\d"]
"""
spelling = TemplateFeatures(patterns, syntax="wapiti")

# %%
# Clusters of words
# -----------------
# Words with similar neighbours are similar. The counts of the neighbours of each word in addresses
# without labels are reduced to 50 dimensions, and clustered.
vectorizer = SequenceVectorizer(min_freq=5)
neighbours = vectorizer.fit_transform(Window([-1, 1]).transform(X_unlabelled)).data
own = SequenceVectorizer(min_freq=3)
counts = own.fit_transform(X_unlabelled).data.T @ neighbours
counts.data = np.log1p(counts.data)
vectors = TruncatedSVD(50, random_state=0).fit_transform(counts)
vectors /= np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-9
of_word = KMeans(60, n_init=1, random_state=0).fit_predict(vectors)
cluster_of = dict(zip(own.get_feature_names_out(), of_word, strict=True))
for word in ("Street", "Anna", "GmbH"):
    alike = [w for w in cluster_of if cluster_of[w] == cluster_of[word]]
    print(f"{word}: {', '.join(alike[:8])}")

# %%
# They become a column, and with :class:`~sklearn_crcrf.Window` three.
clusters = WordClusters(cluster_of, prefixes=None)
near_clusters = Pipeline([("own", clusters), ("near", Window([-1, 0, 1]))])

# %%
# Lists of names
# --------------
# For many countries there are lists of cities and streets. Here they are taken from the other
# addresses. :class:`~sklearn_crcrf.Gazetteer` marks the longest phrases of each list; a word on a
# list of cities need not be a city here.
names = {"CITY": set(), "STREET": set(), "REGION": set()}
for i, start, end, kind in zip(*to_segments(y_hidden), strict=True):
    if kind in names:
        names[kind].add(tuple(X_unlabelled[i][start:end]))
lists = {f"list of {kind.lower()}": sorted(phrases) for kind, phrases in names.items()}
gazetteer = Gazetteer(lists, ignore_case=True)
made = gazetteer.fit_transform(X_train).data
for name, phrases in lists.items():
    share = np.mean(made.codes[:, made.names.index(name)] >= 0)
    print(f"{name}: {len(phrases)} phrases, {share:.0%} of the tokens are in one")

# %%
# Together
# --------
# All these transformers make columns of symbols, which :class:`~sklearn.pipeline.FeatureUnion`
# joins. The twenty models are trained in seconds.
parts = {
    "template": words,
    "+ spelling": spelling,
    "+ clusters": near_clusters,
    "+ lists": gazetteer,
}
sizes = [25, 50, 100, 200, 400]
scores = {}
for k, label in enumerate(parts, 1):
    union = FeatureUnion(list(parts.items())[:k])
    tagger = Pipeline([("columns", union), ("crf", CRF(dtype="float32"))])
    scores[label] = [
        segment_f1(y_test, tagger.fit(X_train[:n], y_train[:n]).predict(X_test)) for n in sizes
    ]
    print(f"{label:12}", "  ".join(f"{score:.3f}" for score in scores[label]))

figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
for label, values in scores.items():
    ax.plot(sizes, values, marker="o", label=label)
ax.set_xscale("log")
ax.set_xticks(sizes, sizes)
ax.minorticks_off()
ax.set(xlabel="labelled addresses", ylabel="F1 of segments on 1,000 others")
ax.legend()
plt.show()

# %%
# With all columns, 50 labelled addresses are worth more than 400 with the template alone.
# Spelling is the cheapest help, and needs no data. Clusters and lists help because they also
# cover words that were never labelled.
