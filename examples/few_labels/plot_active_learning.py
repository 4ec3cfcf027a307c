"""
Retrain a CRF while labels come in
==================================

Active learning with any estimator: a model is trained on a few labelled sequences, chooses the
unlabelled ones about which it is in doubt, a person labels these, and the model is trained again. A
simulated person shows what the choice gains, and which measure of doubt is worth using.

With :class:`~sklearn_crcrf.EmpiricalCRF` no retraining is needed, see
:ref:`sphx_glr_auto_examples_few_labels_plot_annotation.py`.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_crcrf import CRF, SequenceVectorizer, TokenFeatures, Window, make_sequence_pipeline
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.metrics import segment_f1

X, y = make_addresses(2000, random_state=0)
X_test, y_test = X[1200:], y[1200:]
y = y[:1200]

# %%
# Attributes do not depend on labels, so they are computed once for all addresses. Attributes that
# occur only in unlabelled addresses have the weight zero, and do no harm.
attributes = make_sequence_pipeline(
    TokenFeatures(["shape", "suffix3"]), Window([-1, 0, 1]), SequenceVectorizer()
)
pool = attributes.fit_transform(X[:1200])
rows_test = attributes.transform(X_test)

# %%
# Four ways to choose
# -------------------
# The entropy of a sequence grows with its length, so longer sequences are chosen, which cost the
# person more. Doubt per token corrects for that. The margin is the difference between the
# probabilities of the two best labellings.


def at_random(crf, rows):
    return np.random.default_rng(0).random(len(rows))


def entropy(crf, rows):
    return crf.entropy(rows)


def entropy_per_token(crf, rows):
    return crf.entropy(rows) / rows.lengths


def small_margin(crf, rows):
    best_two = crf.predict_k_best(rows, k=2)
    return [-paths[0][1] + (paths[1][1] if len(paths) > 1 else 0) for paths in best_two]


# %%
# Each round labels 20 more addresses and trains again. ``warm_start=True`` begins with the weights
# of the round before, which saves iterations. The cost of labelling is counted in tokens.
def learn(doubt, rounds=10, batch=20):
    crf = CRF(features="observed", sigma=3.0, tol=1e-3, warm_start=True)
    labelled = np.arange(batch)
    curve = []
    for _ in range(rounds):
        crf.fit(pool[labelled], [y[i] for i in labelled])
        f1 = segment_f1(y_test, list(crf.predict(rows_test)))
        curve.append((pool.lengths[labelled].sum(), 100 * f1))
        rest = np.setdiff1d(np.arange(len(pool)), labelled)
        most_doubtful = np.argsort(-np.asarray(doubt(crf, pool[rest])), kind="stable")[:batch]
        labelled = np.concatenate([labelled, rest[most_doubtful]])
    return np.array(curve)


curves = {doubt: learn(doubt) for doubt in (at_random, entropy, entropy_per_token, small_margin)}

# %%
# What the choice gains
# ---------------------
figure, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
styles = zip(curves.items(), "osD^", ("#999999", "#0072b2", "#009e73", "#d55e00"), strict=True)
for (doubt, curve), marker, color in styles:
    name = doubt.__name__.replace("_", " ")
    ax.plot(*curve.T, marker + "-", color=color, label=name)
    print(f"{name:18} {curve[-1, 0]:5.0f} tokens labelled, F1 {curve[-1, 1]:.1f}")
ax.set(xlabel="labelled tokens", ylabel="F1 of segments in new addresses, in per cent")
ax.legend()
plt.show()
