"""Votes against counting one by one."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sklearn_crcrf.feature_extraction._found_columns import Votes

VOTES = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), max_size=30)


def most(votes):
    return max(votes, key=lambda kind: (votes[kind], kind)) if votes else -1


@given(VOTES)
def test_the_most_frequent_kinds(votes):
    items, kinds = np.array(votes, dtype=np.int64).reshape(-1, 2).T
    counted = Votes(items, kinds)
    by_item = {i: Counter(kind for item, kind in votes if item == i) for i in range(6)}
    assert counted.most_frequent(np.arange(6)).tolist() == [most(by_item[i]) for i in range(6)]
    others = counted.most_frequent_of_others(items, kinds)
    assert others.tolist() == [most(by_item[i] - Counter([kind])) for i, kind in votes]
