"""Random labels, gold and predicted."""

import numpy as np
from hypothesis import strategies as st
from label_schemes import labels_of

from sklearn_crcrf import SequenceArray


def random_pair(scheme, n_sequences, seed):
    """Labels that mostly break the scheme, and predictions that agree with most of them."""
    rng = np.random.default_rng(seed)
    labels = np.array(["O", *labels_of(scheme, ("X", "Y", "Z"))])
    y_true, y_pred = [], []
    for length in rng.integers(0, 12, n_sequences):
        gold = rng.choice(labels, length)
        other = rng.choice(labels, length)
        y_true.append(gold.tolist())
        y_pred.append(np.where(rng.random(length) < 0.8, gold, other).tolist())
    return y_true, y_pred


@st.composite
def labelled(draw, labels=("a", "b", "c", "d")):
    lengths = draw(st.lists(st.integers(0, 5), min_size=1, max_size=6).filter(any))
    column = st.lists(st.sampled_from(labels), min_size=sum(lengths), max_size=sum(lengths))
    weight = [draw(st.sampled_from([0.5, 1.0, 3.0])) for _ in lengths]
    y_true, y_pred = (
        SequenceArray.from_lengths(np.array(draw(column), dtype=object), lengths) for _ in range(2)
    )
    return y_true, y_pred, np.array(weight)
