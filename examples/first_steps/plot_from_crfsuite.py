"""
Move a program from sklearn-crfsuite
====================================

Change one line: a program for sklearn-crfsuite runs as before once its import is replaced. This
example shows what it gains.
"""

import time
from importlib.util import find_spec

import matplotlib.pyplot as plt
from sklearn.model_selection import GridSearchCV

# %%
# The line
# --------
# Replaces ``from sklearn_crfsuite import CRF``.
from sklearn_crcrf import CRFsuiteCRF as CRF
from sklearn_crcrf import explain
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.display import RegularisationDisplay
from sklearn_crcrf.metrics import get_sequence_scorer, segment_report

# %%
# The program
# -----------
# Feature dicts, parameters, methods and predictions are as in the tutorial of sklearn-crfsuite.


def word2features(sentence, i):
    word = sentence[i]
    features = {
        "bias": 1.0,
        "word.lower()": word.lower(),
        "word[-3:]": word[-3:],
        "word.istitle()": word.istitle(),
        "word.isdigit()": word.isdigit(),
    }
    if i > 0:
        features["-1:word.lower()"] = sentence[i - 1].lower()
        features["-1:word.istitle()"] = sentence[i - 1].istitle()
    else:
        features["BOS"] = True
    if i < len(sentence) - 1:
        features["+1:word.lower()"] = sentence[i + 1].lower()
        features["+1:word.istitle()"] = sentence[i + 1].istitle()
    else:
        features["EOS"] = True
    return features


sentences, labels = make_addresses(1300, random_state=0)
X = [[word2features(sentence, i) for i in range(len(sentence))] for sentence in sentences]
X_train, y_train, X_test, y_test = X[:300], labels[:300], X[300:], labels[300:]

crf = CRF(algorithm="lbfgs", c1=0.1, c2=0.1, all_possible_transitions=True)
crf.fit(X_train, y_train)
y_pred = crf.predict(X_test)
print(segment_report(y_test, y_pred))

# %%
# Marginals are dicts, and weights have names, as before.
print({label: round(p, 3) for label, p in crf.predict_marginals(X_test)[0][0].items() if p > 0.001})
for (previous, label), weight in sorted(crf.transition_features_.items(), key=lambda it: -it[1])[
    :4
]:
    print(f"{weight:6.3f}  {previous:12} -> {label}")

# %%
# What it gains: time
# -------------------
# Both find the same model, up to the precision of training. Where sklearn-crfsuite is installed,
# this shows how long each of them takes.
seconds = {}
programs = {"sklearn_crcrf": CRF}
if find_spec("sklearn_crfsuite"):
    import sklearn_crfsuite

    programs["sklearn_crfsuite"] = sklearn_crfsuite.CRF
for name, program in programs.items():
    start = time.process_time()
    program(c1=0.1, c2=0.1, all_possible_transitions=True).fit(X_train, y_train)
    seconds[name] = time.process_time() - start
    print(f"{name:16} {seconds[name]:.2f} s of CPU time")

figure, axes = plt.subplots(figsize=(6, 0.6 + 0.5 * len(seconds)), layout="constrained")
axes.bar_label(axes.barh(list(seconds), list(seconds.values())), fmt="%.2f s", padding=3)
axes.set(xlabel="CPU time of training", xlim=(0, 1.2 * max(seconds.values())))

# %%
# What it gains: answers
# ----------------------
# Segments with their probabilities, how sure the whole labelling is, and the second best one.
for begin, end, kind, probability in crf.predict_spans(X_test[:1])[0]:
    print(f"{' '.join(sentences[300][begin:end]):28} {kind:10} {probability:.2f}")
print(f"all of it: {crf.confidence(X_test[:1])[0]:.2f}")
_, (other, second) = crf.predict_k_best(X_test[:1], k=2)[0]
print(f"second best, {second:.2f}:", *other)

# %%
# Searches
# --------
# It is an estimator of current scikit-learn: it can be cloned and searched.
search = GridSearchCV(
    CRF(all_possible_transitions=True),
    {"c1": [0.0, 0.1], "c2": [0.003, 0.03, 0.3]},
    scoring=get_sequence_scorer("segment_f1"),
    cv=3,
).fit(X_train, y_train)
print("best parameters:", search.best_params_)
RegularisationDisplay.from_search(search, "c2", by="c1")
plt.show()

# %%
# Everything else
# ---------------
# It has all methods of a :class:`~sklearn_crcrf.CRF`, and explanations and displays accept it.
explain(crf, X_test[0], tokens=sentences[300])
