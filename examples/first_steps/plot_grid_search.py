"""
Search for the best parameters
==============================

scikit-learn's searches work on lists of sequences as on tables. Two parameters are worth a search:
``mu_oov``, the weight of the spelling of unknown words, and ``sigma``, the width of all priors. The
wider the priors, the more the counts are trusted.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

from sklearn_crcrf import EmpiricalCRF, TokenFeatures
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.metrics import get_sequence_scorer

# %%
# The first step of the pipeline adds a second column, the capitalisation of each word; the
# classifier also uses this column of the neighbours.
X, y = make_addresses(1300, random_state=0)
X_train, y_train = X[:300], y[:300]
X_test, y_test = X[300:], y[300:]

pipeline = Pipeline([("features", TokenFeatures(["capitalisation"])), ("crf", EmpiricalCRF())])
mu_oov = [0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0]
sigma = [0.25, 0.5, 1.0, 2.0, 4.0]

# %%
# Every sequence is a sample, so folds never split one. ``get_sequence_scorer`` makes scorers from
# the names of metrics.
search = GridSearchCV(
    pipeline,
    {"crf__mu_oov": mu_oov, "crf__sigma": sigma},
    scoring={name: get_sequence_scorer(name) for name in ("segment_f1", "unknown_accuracy")},
    refit="segment_f1",
    cv=5,
).fit(X_train, y_train)

scorer = search.scorer_["segment_f1"]
default = pipeline.fit(X_train, y_train)
print("best parameters:", search.best_params_)
print("F1 of segments on 1,000 other addresses")
print(f"  best parameters:    {scorer(search, X_test, y_test):.4f}")
print(f"  default parameters: {scorer(default, X_test, y_test):.4f}")

# %%
# The maximum is flat, and the defaults, 1 and 1, lie on it. The best value for unknown words need
# not be best for all words.
figure, axes = plt.subplots(1, 2, figsize=(10, 5), layout="constrained")
for ax, name, title in zip(
    axes,
    ("segment_f1", "unknown_accuracy"),
    ("F1 of segments", "accuracy of unknown words"),
    strict=True,
):
    scores = search.cv_results_[f"mean_test_{name}"].reshape(len(mu_oov), len(sigma))
    image = ax.imshow(scores, origin="lower", aspect="auto")
    best = np.unravel_index(scores.argmax(), scores.shape)
    for (i, j), score in np.ndenumerate(scores):
        weight = "bold" if (i, j) == best else "normal"
        color = "black" if image.norm(score) > 0.5 else "white"
        ax.text(j, i, f"{100 * score:.1f}", ha="center", va="center", color=color, weight=weight)
    ax.set_xticks(range(len(sigma)), sigma)
    ax.set_yticks(range(len(mu_oov)), mu_oov)
    ax.set(xlabel="sigma", ylabel="mu_oov", title=f"{title} (%), 5 folds")
plt.show()
