"""
Annotate the most doubtful sentences first
==========================================

Somebody who labels sentences one by one can take them as they come, or first the sentence about
which the model that has learned all others is in greatest doubt. A simulated annotator does both:
the labels are known, and are told one sentence at a time. Learning a sentence is counting it, so
the model is always up to date.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_crcrf import EmpiricalCRF
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.metrics import token_accuracy

X, y = make_addresses(3000, random_state=0)
X_test, y_test = X[2000:], y[2000:]
X, y = X[:2000], y[:2000]
STEPS = [*range(10, 60, 10), *range(60, 301, 30)]

# %%
# As they come, the first sentences are learned. By doubt, the sentences of greatest entropy are
# learned, a few at a time, before the doubt about all others is measured again.


def curve(by_doubt: bool) -> list[float]:
    """Accuracy on the test part after each step."""
    crf, waiting, accuracy = EmpiricalCRF(), np.arange(len(X)), []
    for more in np.diff([0, *STEPS]):
        if by_doubt and accuracy:
            doubt = crf.entropy([X[i] for i in waiting])
            waiting = waiting[np.argsort(-doubt, kind="stable")]
        chosen, waiting = waiting[:more], np.sort(waiting[more:])
        crf.partial_fit([X[i] for i in chosen], [y[i] for i in chosen])
        accuracy.append(token_accuracy(y_test, crf.predict(X_test)))
    return accuracy


in_order, by_doubt = curve(False), curve(True)

# %%
# The same accuracy takes far fewer sentences by doubt.
figure, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
ax.plot(STEPS, by_doubt, "o-", label="greatest doubt first")
ax.plot(STEPS, in_order, "s--", label="as they come")
ax.set(xlabel="annotated sentences", ylabel="accuracy")
ax.legend()
plt.show()

needed = STEPS[int(np.argmax(np.array(by_doubt) >= in_order[-1]))]
print(f"{STEPS[-1]} sentences as they come: {in_order[-1]:.4f}")
print(f"{needed} sentences by doubt: {by_doubt[STEPS.index(needed)]:.4f}")

# %%
# ``sklearn-crcrf annotate`` does this with a person, in a browser.
