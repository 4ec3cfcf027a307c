"""
Label an image pixel by pixel
=============================

Every pixel is a node, linked to its four neighbours. In noisy pictures of a house, single pixels
are hard to label, but neighbours mostly have equal labels, and a roof is above a wall and not below
it. The grid has cycles, so sums over labellings are approximated: what does that cost?
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap

from sklearn_crcrf import AssociativeMarkovNetwork, GraphArray, GraphCRF
from sklearn_crcrf.display import TransitionDisplay
from sklearn_crcrf.metrics import token_accuracy
from sklearn_crcrf.structures.inference import Loopy, TreeReweighted

# %%
# The data
# --------
# Each picture has a sky, grass, and a house with a wall and a roof. A pixel has two measurements, a
# mean of its region plus much noise; a third attribute, which is always 1, is the intercept.
NAMES = ["sky", "grass", "roof", "wall"]
COLORS = ListedColormap(["#56b4e9", "#009e73", "#d55e00", "#f0e442"])
MEANS = np.array([[0.0, 1.0], [0.0, -1.0], [1.0, 0.0], [-1.0, 0.0]])
HEIGHT, WIDTH = 24, 32


def make_picture(rng):
    """The labels of a picture, and its measurements."""
    row, column = np.indices((HEIGHT, WIDTH))
    ground, left, width = rng.integers(15, 20), rng.integers(3, 12), rng.integers(10, 17)
    top = ground - rng.integers(3, 6)
    inside = (column >= left) & (column < left + width)
    slope = np.minimum(column - left, left + width - 1 - column)
    labels = np.where(row < ground, 0, 1)
    labels[inside & (row >= top) & (row < ground + 2)] = 3
    labels[inside & (row < top) & (row >= top - 1 - slope)] = 2
    pixels = MEANS[labels] + rng.normal(scale=1.0, size=(HEIGHT, WIDTH, 2))
    return labels, np.dstack([pixels, np.ones((HEIGHT, WIDTH))])


rng = np.random.default_rng(0)
pictures = [make_picture(rng) for _ in range(20)]
y = [[NAMES[k] for k in labels.ravel()] for labels, _ in pictures]
y_train, y_test = y[:6], y[6:]

# %%
# :meth:`GraphArray.from_grid <sklearn_crcrf.GraphArray.from_grid>` links each pixel to its right
# and lower neighbours. The type of an edge says which, so each direction has a table of its own.
X = GraphArray.from_grid([pixels for _, pixels in pictures])
X_train, X_test = X[:6], X[6:]
print(X, set(X.edge_data))

# %%
# Single pixels, and pixels in a grid
# -----------------------------------
# A graph without edges is a model of single pixels. There are several ways to train with edges:
#
# - The *pseudo-likelihood* predicts each pixel from its neighbours' true labels. It needs no sum
#   over labellings, so training is fast, and exact on any graph.
# - The *log loss* needs the sum over all labellings of a picture. Tree-reweighted propagation
#   replaces it by an upper bound, also if it stops early, at messages that still change a little.
# - An *associative* network is trained for a margin. Its edges only reward equal labels, in return
#   it labels by cuts, which find nearly the best labelling.
single = GraphArray.from_edges(list(X), [[]] * len(X))
models = {
    "single pixels": GraphCRF(),
    "pseudo-likelihood": GraphCRF(inference="loopy"),
    "log loss": GraphCRF("log_loss", inference=TreeReweighted(tol=0.05), tol=1e-2),
    "associative": AssociativeMarkovNetwork(sigma=1.0, tol=0.05),
}
predicted = {}
for name, model in models.items():
    pixels = single if name == "single pixels" else X
    start = time.perf_counter()
    model.fit(pixels[:6], y_train)
    seconds = time.perf_counter() - start
    predicted[name] = model.predict(pixels[6:]).tolist()
    accuracy = token_accuracy(y_test, predicted[name])
    print(f"{name:18} {accuracy:.1%} right, {seconds:.1f} s of training")

# %%
# The pseudo-likelihood fails here. In a smooth picture, the true labels of the neighbours of a
# pixel say almost everything about it, so training hardly looks at the measurements. But in
# prediction nobody knows these labels. The other two are trained with what they will have in
# prediction.
number = {name: k for k, name in enumerate(NAMES)}
shown = 0
panels = {"true labels": y_test[shown], **{name: of[shown] for name, of in predicted.items()}}
figure, axes = plt.subplots(2, 3, figsize=(10, 5.5), layout="constrained")
measured = pictures[6 + shown][1][..., 0]
axes.flat[0].imshow(measured, cmap="gray")
axes.flat[0].set(title="one of two measurements")
for ax, (title, labels) in zip(axes.flat[1:], panels.items(), strict=True):
    codes = np.array([number[label] for label in labels]).reshape(HEIGHT, WIDTH)
    image = ax.imshow(codes, cmap=COLORS, vmin=-0.5, vmax=3.5)
    ax.set(title=title)
for ax in axes.flat:
    ax.set(xticks=[], yticks=[])
bar = figure.colorbar(image, ax=axes, ticks=range(4), shrink=0.6)
bar.ax.set_yticklabels(NAMES)
plt.show()

# %%
# What is above what
# ------------------
# The table of vertical edges, which the log loss has learned: the row is the label of the upper
# pixel, and the column the label of the lower one. A roof is on a wall, and there is no sky below
# grass.
display = TransitionDisplay.from_estimator(models["log loss"], attribute="edge=vertical")
display.ax_.set(xlabel="lower pixel", ylabel="upper pixel")
plt.show()

# %%
# What approximations cost
# ------------------------
# The trained model can be used with other kinds of inference. An integer program finds the best
# labelling of a picture, and needs much longer; the label of each pixel that is most probable by
# approximate probabilities is hardly ever another one, and right as often.
crf, few = models["log loss"], slice(0, 2)
engines = {
    "tree-reweighted": TreeReweighted(tol=0.05),
    "loopy": "loopy",
    "loopy, damped": Loopy(damping=0.5),
    "integer program": "ilp",
}
labels = {}
for name, engine in engines.items():
    start = time.perf_counter()
    labels[name] = crf.set_params(inference=engine).predict(X_test[few]).tolist()
    seconds = time.perf_counter() - start
    print(f"{name:16} {token_accuracy(y_test[few], labels[name]):.1%} right, {seconds:6.2f} s")
for name in list(engines)[:-1]:
    same = token_accuracy(labels["integer program"], labels[name])
    print(f"{name:16} {same:.1%} of the labels of the integer program")

# %%
# How sure is it?
# ---------------
# Probabilities of single pixels, though approximate, show where the model doubts: at the borders.
crf.set_params(inference="loopy")
probability = crf.predict_proba(X_test[shown : shown + 1])[0].max(axis=1)
wrong = np.array(crf.predict(X_test[shown : shown + 1])[0]) != y_test[shown]
figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
image = ax.imshow(probability.reshape(HEIGHT, WIDTH), cmap="cividis", vmin=0.25, vmax=1)
row, column = np.divmod(np.flatnonzero(wrong), WIDTH)
ax.plot(column, row, "x", color="white", label="wrong label")
ax.set(xticks=[], yticks=[], title="probability of the best label of each pixel")
ax.legend(loc="upper left", facecolor="black", labelcolor="white")
figure.colorbar(image)
plt.show()
