"""
Find wrong labels
=================

People overlook names, and mark some with a wrong type or one word too short. A model that has not
seen a sentence finds such labels improbable. :class:`~sklearn_crcrf.EmpiricalCRF` leaves out each
sentence exactly.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_crcrf import EmpiricalCRF, find_label_issues
from sklearn_crcrf.datasets import make_addresses
from sklearn_crcrf.display import LabelIssueList, LabelIssuesDisplay

X, y = make_addresses(600, random_state=0)

# %%
# In thirty addresses the label of one word is missing.
rng = np.random.default_rng(0)
spoiled = rng.choice(len(X), 30, replace=False)
for i in spoiled:
    t = rng.choice([t for t, label in enumerate(y[i]) if label != "O"])
    y[i][t] = "O"

# %%
# The most suspicious labels, in brackets, with what is likelier:
issues = find_label_issues(EmpiricalCRF(), X, y)
LabelIssueList(X, issues, 8)

# %%
# How many of the thirty does a person find who reads the addresses in this order, and how many by
# the probabilities of a model that was trained on the wrong labels?
trained = EmpiricalCRF().fit(X, y)
in_sample = find_label_issues(trained, X, y, method="given")
_, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for name, found in (("left out", issues), ("trained on them", in_sample)):
    order = [*dict.fromkeys(found.sequence.tolist())][:100]
    ax.plot(np.cumsum(np.isin(order, spoiled)), label=name)
ax.set(xlabel="addresses read", ylabel="wrong ones found")
ax.legend()
plt.show()

# %%
# Which labels are suggested in place of which: where one pair has most issues, the guideline may be
# unclear.
LabelIssuesDisplay(issues).plot(n_pairs=12)
plt.show()
