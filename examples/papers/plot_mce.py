"""
Follow the paper on multivariate evaluation measures
====================================================

"Training Conditional Random Fields with Multivariate Evaluation Measures" (Suzuki, McDermott and
Isozaki, 2006) trains CRFs by the measure that they are evaluated by, such as the F-score of
segments. This example computes its misclassification measure and its F-score by listing all
labellings, shows that the log loss is a special case, and makes tables like 1 and 2 for chunks.
:doc:`/user_guide/papers` has all its equations.

The data are from the CoNLL-2000 shared task if available, in the folder named by the environment
variable ``SKLEARN_CRCRF_DATA`` or in scikit-learn's data folder. Otherwise the segments are the
parts of postal addresses.
"""

from itertools import product
from warnings import simplefilter

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit, logsumexp
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline

from sklearn_crcrf import CRF, SequenceVectorizer, TokenFeatures, Window
from sklearn_crcrf.criteria import MCE, MCEF1, LogLoss
from sklearn_crcrf.datasets import fetch_conll2000, make_addresses
from sklearn_crcrf.labels import to_segments
from sklearn_crcrf.metrics import segment_f1, sequence_accuracy
from sklearn_crcrf.structures import Chain, Scores

# %%
# The misclassification measure
# -----------------------------
# Part of a sentence of figure 1, with scores as a model may give them. There are :math:`4^5`
# labellings. The measure d is the score of the best other labelling minus the score of the gold
# labelling (equation 5): the labelling is wrong where d is positive.
words = ["Ekeus", "Smith", "heads", "for", "Baghdad"]
labels = np.array(["B-LOC", "B-PER", "I-PER", "O"])
gold = np.array([1, 2, 3, 3, 0])

rng = np.random.default_rng(1)
state = rng.normal(size=(5, 4)) + 1.5 * (gold[:, None] == np.arange(4))
scores, chain = Scores.of(state, np.zeros((4, 4))), Chain(np.array([0, 5]))

paths = np.array(list(product(range(4), repeat=5)))
score = state[np.arange(5), paths].sum(axis=1)
is_gold = (paths == gold).all(axis=1)
d = score[~is_gold].max() - score[is_gold][0]
best_other, gold_score = chain.best_excluding(scores, gold)[0], chain.score(scores, gold)[0]
print(f"d = {d:.3f} by all labellings, and {(best_other - gold_score)[0]:.3f} in one pass")

# %%
# With a soft maximum instead, d is continuous, and comes close to it as psi grows (equation 7). Its
# sigmoid is close to 1 if the labelling is wrong, else close to 0, the more so the greater the
# slope (equations 6, 8 and 10).
for psi in (1, 3, 10, np.inf):
    by_hand = d if psi == np.inf else logsumexp(psi * score[~is_gold]) / psi - score[is_gold][0]
    loss = MCE(psi=psi)(chain, scores, gold)[0][0]
    print(f"psi {psi:4}: d = {by_hand:6.3f}, its sigmoid {expit(by_hand):.4f} and {loss:.4f}")

# %%
# With psi = 1 and the logistic function, the loss is that of maximum likelihood (appendix).
print(f"logistic function of d: {MCE('logistic', psi=1.0)(chain, scores, gold)[0][0]:.6f}")
print(f"minus log-likelihood:   {LogLoss()(chain, scores, gold)[0][0]:.6f}")

# %%
# The F-score
# -----------
# A segment has a measure, too: the score of the best labelling that does not have its labels, minus
# the score of the best labelling that does (equations 14 and 15). Sigmoids of these count the gold
# segments that are missed, FN, and the segments of the best other labelling that are wrong, FP.
# Then (1 - F) / F is (FN + FP) / (2 TP) (equation 16).


def measure(start, stop, path):
    has_labels = (paths[:, start:stop] == path[start:stop]).all(axis=1)
    return score[~has_labels].max() - score[has_labels].max()


def segments(path):
    found = to_segments([labels[path].tolist()])
    return set(zip(found.start.tolist(), found.end.tolist(), found.type.tolist(), strict=True))


other = paths[~is_gold][score[~is_gold].argmax()]
print("gold labelling:      ", *labels[gold])
print("best other labelling:", *labels[other])
fn = sum(expit(measure(start, stop, gold)) for start, stop, _ in segments(gold))
fp = sum(expit(measure(start, stop, gold)) for start, stop, _ in segments(other) - segments(gold))
tp = len(segments(gold)) - fn
print(f"TP {tp:.3f}, FP {fp:.3f}, FN {fn:.3f}: (1 - F) / F = {(fn + fp) / (2 * tp):.5f}")

literal = MCEF1(contains="labels", false="gold", objective="odds")
criterion = literal.for_labels(labels)
counts, _ = criterion(chain, scores, gold)
print(
    f"by MCEF1:                      (1 - F) / F = {criterion.combine(counts.sum(axis=0))[0]:.5f}"
)

# %%
# By default, MCEF1 asks more of a labelling that has a segment: the segment has to end where the
# gold one ends. A false segment is measured by its own labels, rather than by the gold ones of its
# tokens. And it minimises 1 - F, which stays finite where no segment is found.
criterion = MCEF1().for_labels(labels)
counts, _ = criterion(chain, scores, gold)
print(f"1 - F = {criterion.combine(counts.sum(axis=0))[0] / counts[0, 2]:.5f}")

# %%
# Tables 1 and 2: chunks
# ----------------------
# The paper trains by each criterion, from zero weights (table 1), and from the optimum of the
# log-likelihood with a prior, MAP (table 2). F is of segments, and "Sent" is how many sentences are
# right as a whole, in per cent. The paper has 8,936 sentences, and pairs of words in a window of
# five; here are 200 sentences and single words, so all figures are lower. At zero weights all
# labellings tie, and training from there begins with ten epochs of online descent, as in the paper,
# which has a prior of variance 10^4 for the F-score of names.
try:
    X, y = fetch_conll2000("train", download_if_missing=False, return_X_y=True)
    X_test, y_test = fetch_conll2000("test", download_if_missing=False, return_X_y=True)
    X, y, X_test, y_test = X[:200], y[:200], X_test[:800], y_test[:800]
    columns, steps = ["word", "pos"], []
except OSError:
    words, y = make_addresses(1000, random_state=0)
    X, y, X_test, y_test = words[:200], y[:200], words[200:], y[200:]
    columns, steps = ["token", "shape"], [TokenFeatures(["shape"])]
around = [f"{column}[{i}]" for column in columns for i in range(-2, 3)]
rows = make_pipeline(*steps, Window(around), SequenceVectorizer(min_freq=2)).fit(X)
X, X_test = rows.transform(X), rows.transform(X_test)

simplefilter("ignore", ConvergenceWarning)
online = {"solver": "gpd-quickprop", "init": "zeros", "max_iter": 20, "random_state": 0}
after_map = {"init": CRF(), "max_iter": 20}
models = {
    ("ML", ""): (CRF(sigma=np.inf, max_iter=40), 93.19, 56.26),
    ("MAP", ""): (CRF(), 93.71, 59.15),
    ("MCE (log)", "from zero"): (CRF(MCE("logistic"), **online), 93.92, 60.19),
    ("MCE (sig)", "from zero"): (CRF("mce", **online), 93.85, 60.14),
    ("MCE-F (sig)", "from zero"): (CRF(literal, 100.0, **online), 93.96, 60.44),
    ("MCE (sig)", "from MAP"): (CRF("mce", **after_map), 93.97, 60.59),
    ("MCE-F (sig)", "from MAP"): (CRF(literal, 100.0, **after_map), 94.03, 60.74),
}
found = {}
print(f"{'':23} the paper      here")
print(f"{'':23}    F   Sent     F   Sent")
for (name, start), (crf, *paper) in models.items():
    predicted = crf.fit(X, y).predict(X_test)
    here = [100 * metric(y_test, predicted) for metric in (segment_f1, sequence_accuracy)]
    found[f"{name} {start}"] = here
    print(f"{name:12} {start:10}", *(f"{figure:6.2f}" for figure in (*paper, *here)))

# %%
# Measured by their own labels, rather than by the gold ones, false segments leave training at a bad
# minimum if it starts from zero weights: each is compared with the best labelling that does not
# have it, which at first has another false segment in its place, so that nothing raises "O".
own = CRF(MCEF1(), 100.0, **online).fit(X, y)
for false, crf in {"gold": models["MCE-F (sig)", "from zero"][0], "own": own}.items():
    predicted = crf.predict(X_test)
    outside = np.mean([label == "O" for sequence in predicted for label in sequence])
    f = 100 * segment_f1(y_test, predicted)
    print(f"false={false!r:6}: F {f:.2f}, {100 * outside:4.1f} % of the words outside of segments")

# %%
# The order of the criteria is as sure as the test sentences allow: bars are two standard errors of
# the accuracy of sentences.
error = [200 * np.sqrt(p / 100 * (1 - p / 100) / len(y_test)) for _, p in found.values()]
figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
for ax, k, title in zip(axes, (0, 1), ("F of segments", "sentences"), strict=True):
    figures = [here[k] for here in found.values()]
    ax.errorbar(figures, list(found), xerr=error if k else None, fmt="o")
    ax.set(xlabel=f"{title}, per cent")
axes[0].invert_yaxis()
plt.show()
