"""
Learn more data, and forget some
================================

The model consists of counts, which can be added and subtracted. So it learns from data as they
arrive, and forgets data that must be deleted, exactly: the result is the model that would have been
trained without them.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_crcrf import EmpiricalCRF
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.metrics import token_accuracy, unknown_accuracy

X, y = make_addresses(5000, random_state=0)
X_train, y_train = X[:4000], y[:4000]
X_test, y_test = X[4000:], y[4000:]

# %%
# Learning
# --------
# The data arrive in batches, and every batch is seen once.
ends = [50, 100, 200, 400, 700, 1000, 1500, 2000, 2500, 3000, 3500, 4000]
crf = EmpiricalCRF()
accuracy, accuracy_unknown = [], []
for start, end in zip([0, *ends], ends, strict=False):
    crf.partial_fit(X_train[start:end], y_train[start:end])
    y_pred = crf.predict(X_test)
    accuracy.append(token_accuracy(y_test, y_pred))
    accuracy_unknown.append(unknown_accuracy(y_test, y_pred, crf.known_tokens(X_test)))

# %%
# The result is the same as training on all data at once.
at_once = EmpiricalCRF().fit(X_train, y_train)
print("same counts:", crf.counts_ == at_once.counts_)

# %%
# Forgetting
# ----------
# Now all but the first thousand are removed again. The result is the model trained on the first
# thousand alone, bit for bit.
forgotten = [accuracy[-1]]
for start in range(3500, 500, -500):
    crf.forget(X_train[start : start + 500], y_train[start : start + 500])
    forgotten.append(crf.score(X_test, y_test))

never_seen = EmpiricalCRF().fit(X_train[:1000], y_train[:1000])
print("same counts:", crf.counts_ == never_seen.counts_)
same = zip(crf.predict_proba(X_test), never_seen.predict_proba(X_test), strict=True)
print("same probabilities:", all(np.array_equal(a, b) for a, b in same))

# %%
# Both ways pass through the same points.
figure, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
ax.plot(ends, accuracy, "o-", label="learning: all words")
ax.plot(ends, accuracy_unknown, "s-", label="learning: unknown words")
ax.plot(range(4000, 500, -500), forgotten, "x", ms=11, color="black", label="forgetting: all words")
ax.set(xlabel="addresses that the model knows", ylabel="accuracy", xscale="log")
ax.set_xticks([50, 100, 200, 500, 1000, 2000, 4000], [50, 100, 200, 500, 1000, 2000, 4000])
ax.minorticks_off()
ax.legend()
plt.show()
