"""
Search many parameters at once
==============================

Every parameter can be searched by scikit-learn: priors, windows, even the way to train. A
randomised search tries combinations by chance, so one more parameter costs no more trials.
"""

import matplotlib.pyplot as plt
import pandas as pd
from scipy.stats import loguniform
from sklearn.model_selection import RandomizedSearchCV
from sklearn.pipeline import make_pipeline

from sklearn_crcrf import CRF, TokenFeatures, Window
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.metrics import get_sequence_scorer

X, y = make_addresses(600, random_state=0)
X_train, y_train, X_test, y_test = X[:150], y[:150], X[150:], y[150:]

# %%
# What is searched
# ----------------
# The width of the prior on a logarithmic scale, the criterion, the words that a token sees, and the
# spelling features.
model = make_pipeline(TokenFeatures(), Window(), CRF(dtype="float32", tol=1e-3, max_iter=200))
parameters = {
    "crf__sigma": loguniform(0.1, 100.0),
    "crf__criterion": ["log_loss", "softmax_margin"],
    "window__templates": [[0], [-1, 0, 1], [-2, -1, 0, 1, 2]],
    "tokenfeatures__features": [["shape"], ["shape", "suffix3"], ["shape", "prefix3", "suffix3"]],
}
scoring = get_sequence_scorer("segment_f1")
search = RandomizedSearchCV(
    model, parameters, n_iter=16, scoring=scoring, cv=2, random_state=0
).fit(X_train, y_train)
for name, value in search.best_params_.items():
    print(f"{name:25} {value if isinstance(value, (str, list)) else f'{value:.2f}'}")
print(f"F1 in the search {search.best_score_:.4f}")
print(f"F1 of other addresses {search.score(X_test, y_test):.4f}")

# %%
# Tokens that see no neighbours do worst on average, and wide priors tend to do well.
results = pd.DataFrame(search.cv_results_)
figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
for templates, marker in zip(parameters["window__templates"], "os^", strict=True):
    part = results[results["param_window__templates"].map(tuple) == tuple(templates)]
    sigma = part["param_crf__sigma"].astype(float)
    ax.plot(sigma, part["mean_test_score"], marker, ms=9, label=f"window {templates}")
ax.set(xscale="log", xlabel="sigma", ylabel="F1 of segments, cross-validated")
ax.legend()
plt.show()
