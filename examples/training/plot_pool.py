"""
Combine several models in a pool
================================

Models with different errors are better together. An opinion pool multiplies their probabilities of
a labelling, each to the power of a weight, and is a linear chain again.
"""

import matplotlib.pyplot as plt
from sklearn.pipeline import make_pipeline

from sklearn_crcrf import CRF, EmpiricalCRF, OpinionPoolCRF, TokenFeatures, Window
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.metrics import segment_f1, token_log_loss

X, y = make_addresses(1400, random_state=0)
X_test, y_test = X[400:], y[400:]

# %%
# The experts
# -----------
# One expert counts words, their spelling and their neighbours, and two are trained by maximum
# likelihood: on the shapes of words and their neighbours, and on the words alone.
shapes = make_pipeline(TokenFeatures(["shape"]), Window([-1, 0, 1]), CRF(sigma=3.0))
experts = [("counts", EmpiricalCRF()), ("shapes", shapes), ("words", CRF(sigma=3.0))]

# %%
# The pool holds out half of its training data to learn the weights, which sum to one. Then it
# fits the experts to all training data. An expert that adds nothing gets no weight.
sizes = [50, 100, 200, 400]
scores, losses = {}, {}
for n in sizes:
    pool = OpinionPoolCRF(experts, random_state=0).fit(X[:n], y[:n])
    weights = dict(zip(pool.named_estimators_, pool.weights_, strict=True))
    print(f"{n:4} addresses:", *(f"  {name} {weight:.2f}" for name, weight in weights.items()))
    for name, model in {**pool.named_estimators_, "pool": pool}.items():
        scores.setdefault(name, []).append(segment_f1(y_test, model.predict(X_test)))
        proba = model.predict_proba(X_test)
        losses.setdefault(name, []).append(token_log_loss(y_test, proba, pool.classes_))

# %%
# The pool is more accurate than its best expert, and its probabilities are better too: with 200
# addresses, its log loss is a fifth lower.
figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
titles = ("F1 of segments", "log loss of words (lower is better)")
for ax, values, title in zip(axes, (scores, losses), titles, strict=True):
    for name, of in values.items():
        style = {"lw": 3, "color": "black"} if name == "pool" else {}
        ax.plot(sizes, of, "o-", label=name, **style)
    ax.set_xscale("log")
    ax.set_xticks(sizes, sizes)
    ax.minorticks_off()
    ax.set(xlabel="labelled addresses", title=title)
axes[0].legend()
plt.show()

# %%
# Any first-order chain can be an expert, such as :class:`~sklearn_crcrf.HMM`,
# :class:`~sklearn_crcrf.MEMM` or :class:`~sklearn_crcrf.BoostedCRF`, or a search over its
# parameters. The pool has all prediction methods, and can be explained.
for path, probability in pool.predict_k_best(X_test[:1], k=2)[0]:
    print(f"{probability:.3f}", *path)
