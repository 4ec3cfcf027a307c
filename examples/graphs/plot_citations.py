"""
Label papers that cite each other
=================================

Papers cite each other, and most papers cite papers on their own topic. The topics of some papers
are known. Here the topics of all others are predicted, from words alone and from words together
with citations, and with different shares of known topics.
"""

import os
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import shortest_path
from sklearn.linear_model import LogisticRegression
from sklearn.manifold import MDS
from sklearn.preprocessing import normalize

from sklearn_crcrf import AssociativeMarkovNetwork, GraphArray, GraphCRF, SeparateCRF
from sklearn_crcrf.display import TransitionDisplay

# %%
# The data
# --------
# Cora has 2,708 papers on machine learning, with seven topics, and says which of 1,433 words each
# paper has. It is read from the folder that the environment variable ``SKLEARN_CRCRF_DATA`` names.
# Without it, a smaller collection is made: papers on topic 0, the methods, are cited by papers on
# all topics.


def read_cora():
    arrays = np.load(Path(os.environ["SKLEARN_CRCRF_DATA"]) / "cora.npz")
    entries = np.ones(len(arrays["indices"])), arrays["indices"], arrays["indptr"]
    words = sp.csr_array(entries, shape=tuple(arrays["shape"]))
    return words, arrays["y"].astype(int), arrays["edges"]


def make_papers(rng, n_papers=1000, n_topics=5, n_words=200):
    topic = rng.integers(n_topics, size=n_papers)
    favour = rng.dirichlet(np.full(n_words, 0.3), size=n_topics)  # the words of each topic
    words = rng.poisson(25 * (0.25 * favour[topic] + 0.75 / n_words)).clip(max=1)
    first, second = rng.integers(n_papers, size=(2, 40 * n_papers))
    cites = np.where(topic[first] == topic[second], 0.18, 0.01)
    cites[topic[second] == 0] += 0.03
    edges = np.stack([first, second], axis=1)[(first > second) & (rng.random(len(cites)) < cites)]
    return sp.csr_array(words, dtype=float), topic, np.unique(edges, axis=0)


try:
    words, topic, edges = read_cora()
except (KeyError, OSError):
    words, topic, edges = make_papers(np.random.default_rng(0))
n_topics = topic.max() + 1
equal = np.mean(topic[edges[:, 0]] == topic[edges[:, 1]])
print(
    f"{len(topic)} papers on {n_topics} topics, {len(edges)} citations, {equal:.0%} of equal topics"
)

# %%
# One graph, of which some labels are known
# -----------------------------------------
# The whole collection is one sample. In y, None stands for a topic that is not known. Rows are
# scaled, so that papers with many words do not count more.
attributes = 10 * normalize(words, norm="l1")
graph = GraphArray.from_edges([attributes], [edges])


def labels_of(is_known):
    """Lists of labels as ``fit`` takes them: one list, as there is one graph."""
    return [[int(t) if known else None for t, known in zip(topic, is_known, strict=True)]]


is_known = np.random.default_rng(0).random(len(topic)) < 0.3
known = labels_of(is_known)

# %%
# A classifier of single papers, and three models of the graph. :class:`~sklearn_crcrf.SeparateCRF`
# adds to the same classifier how often topics cite each other. The known topics are labels for
# training and, by ``allowed``, evidence for the papers that are linked to them.
classifier = LogisticRegression(C=3.0, max_iter=1000)
alone = classifier.fit(attributes[is_known], topic[is_known])
predicted = {"words alone": alone.predict(attributes)}
models = {
    "SeparateCRF": SeparateCRF(classifier),
    "GraphCRF": GraphCRF(symmetric=True),
    "AssociativeMarkovNetwork": AssociativeMarkovNetwork(tol=0.05),
}
for name, model in models.items():
    start = time.perf_counter()
    (labels,) = model.fit(graph, known).predict(graph, allowed=known)
    print(f"{name:25} {time.perf_counter() - start:5.1f} s")
    predicted[name] = np.array(labels)
for name, labels in predicted.items():
    print(f"{name:25} {np.mean(labels[~is_known] == topic[~is_known]):6.1%} of the others right")

# %%
# The weights of citations
# ------------------------
# A citation between papers on the same topic adds to the score, and some topics attract each other,
# too. An associative network has only the diagonal.
display = TransitionDisplay.from_estimator(models["GraphCRF"])
display.ax_.set(xlabel="topic", ylabel="topic of a linked paper")
plt.show()

# %%
# Papers whose citations correct their words
# ------------------------------------------
# Here is the paper whose surroundings gain most: all papers within two citations of it. Squares are
# known topics, and a ring marks a wrong one. Single papers may have the words of another topic;
# among their neighbours they stand out.
n = len(topic)
links = sp.csr_array((np.ones(len(edges)), edges.T), shape=(n, n)) + sp.eye_array(n)
near = ((links + links.T) @ (links + links.T)) > 0
wrong = {name: (labels != topic) & ~is_known for name, labels in predicted.items()}
gain = near @ (wrong["words alone"].astype(int) - wrong["GraphCRF"])
n_near = near.sum(axis=1)
gain[(n_near < 15) | (n_near > 40)] = 0
shown = near[[np.argmax(gain)]].indices
inside = np.isin(edges, shown).all(axis=1)

layout = MDS(metric="precomputed", n_init=4, init="random", random_state=0)
distance = shortest_path(links[shown][:, shown], directed=False, unweighted=True)
place = np.zeros((n, 2))
place[shown] = layout.fit_transform(distance)
colors = np.array(["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#f0e442", "#56b4e9", "#d55e00"])

figure, axes = plt.subplots(1, 3, figsize=(12, 4.5), layout="constrained")
panels = {"true topics": topic, **{name: predicted[name] for name in ("words alone", "GraphCRF")}}
for ax, (name, labels) in zip(axes, panels.items(), strict=True):
    ax.plot(*place[edges[inside]].transpose(2, 1, 0), color="lightgray", zorder=0)
    for marker, which in (("o", shown[~is_known[shown]]), ("s", shown[is_known[shown]])):
        given = np.where(is_known, topic, labels)[which]
        rings = np.where(given == topic[which], "white", "black")
        ax.scatter(*place[which].T, 90, colors[given], marker=marker, ec=rings, lw=2)
    ax.set(xticks=[], yticks=[], title=name, aspect="equal")
plt.show()

# %%
# How many topics must be known?
# ------------------------------
# Known topics tell how words and citations are to be used, and are themselves evidence for their
# neighbours. If one paper in ten is known, both ends of one citation in a hundred are known: too
# few for weights of citations that are trained. Rates that are counted need fewer of them.
shares = [0.05, 0.1, 0.2, 0.4, 0.6]
names = ["words alone", "GraphCRF", "SeparateCRF"]
curves = {name: [] for name in names}
for share in shares:
    is_known = np.random.default_rng(1).random(n) < share
    known = labels_of(is_known)
    found = {
        "words alone": classifier.fit(attributes[is_known], topic[is_known]).predict(attributes)
    }
    for name in names[1:]:
        (found[name],) = models[name].fit(graph, known).predict(graph, allowed=known)
    for name, labels in found.items():
        curves[name].append(100 * np.mean((np.array(labels) == topic)[~is_known]))

figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
styles = zip(curves.items(), ["#999999", "#e69f00", "#0072b2"], "sDo", strict=True)
for (name, values), color, marker in styles:
    ax.plot([100 * share for share in shares], values, marker + "-", color=color, label=name)
ax.set(
    xlabel="known topics, per cent of the papers",
    ylabel="per cent of the others right",
    title="Accuracy against the share of known topics",
)
ax.legend()
plt.show()
