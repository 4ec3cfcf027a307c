"""
How do I search many parameters at once?
========================================

Every parameter can be searched by scikit-learn: priors, windows, even the way to train. A
randomised search tries combinations by chance, and gives most of its time to the good ones.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.stats import loguniform
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import HalvingRandomSearchCV
from sklearn.pipeline import make_pipeline

from sklearn_crcrf import CRF, TokenFeatures, Window
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.metrics import get_sequence_scorer

X, y = make_addresses(700, random_state=0)
X_train, y_train, X_test, y_test = X[:300], y[:300], X[300:], y[300:]

# %%
# What is searched
# ----------------
# The width of the prior on a logarithmic scale, the criterion, the words that a token sees, and the
# spelling features. Each step keeps the better third of the candidates, and trains them on three
# times as many addresses.
model = make_pipeline(TokenFeatures(), Window(), CRF(dtype="float32", tol=1e-3, max_iter=200))
parameters = {
    "crf__sigma": loguniform(0.1, 100.0),
    "crf__criterion": ["log_loss", "softmax_margin", "pseudo_likelihood"],
    "window__templates": [[0], [-1, 0, 1], [-2, -1, 0, 1, 2]],
    "tokenfeatures__features": [["shape"], ["shape", "suffix3"], ["shape", "prefix3", "suffix3"]],
}
search = HalvingRandomSearchCV(
    model,
    parameters,
    scoring=get_sequence_scorer("segment_f1"),
    n_candidates=9,
    cv=3,
    min_resources=33,
    random_state=0,
)
search.fit(X_train, y_train)
for name, value in search.best_params_.items():
    print(f"{name:25} {value if isinstance(value, (str, list)) else f'{value:.2f}'}")
print(f"F1 in the search {search.best_score_:.4f}")
print(f"F1 of other addresses {search.score(X_test, y_test):.4f}")

# %%
# What the steps tried: the best candidates are trained on more and more data.
results = pd.DataFrame(search.cv_results_)
figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
for step, (n, part) in enumerate(results.groupby("n_resources")):
    ax.plot(
        part["param_crf__sigma"].astype(float),
        part["mean_test_score"],
        "os^D"[step],
        label=f"{n} addresses, {len(part)} candidates",
        alpha=0.8,
    )
ax.set(xscale="log", xlabel="sigma", ylabel="F1 of segments, cross-validated")
ax.set_ylim(np.floor(10 * results["mean_test_score"].quantile(0.1)) / 10, 1.0)
ax.legend()
plt.show()
