from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from sklearn_crcrf.counts import Template, count_tokens
from sklearn_crcrf.estimators.empirical.transitions import label_transitions, linked_labels

PAIR = Template((("word", 0),), (-1, 0))
NEXT = Template((("word", 1),))


def count(sequences, weight=1.0):
    """Tables of label pairs and of sequence ends, and label probabilities above zero."""
    labels = np.array([label for s in sequences for label in s], dtype=int)
    words = {"word": np.arange(len(labels)) % 3}
    offsets = np.cumsum([0, *map(len, sequences)])
    counts = count_tokens(words, labels, offsets, [PAIR, NEXT], [weight])
    prior = np.bincount(labels, minlength=4) * weight + 0.1
    return *linked_labels(counts[PAIR], counts[NEXT], 4), prior / prior.sum()


label_sequences = st.lists(st.lists(st.integers(0, 3), max_size=5), min_size=1, max_size=8)


def pair_counts(sequences):
    pairs = np.zeros((4, 4))
    for labels in sequences:
        for i, j in pairwise(labels):
            pairs[i, j] += 1
    return pairs


@given(label_sequences, st.sampled_from([0.3, 1.0, 5.0]))
def test_both_conditional_probabilities_by_their_formula(sequences, strength):
    *linked, prior = count(sequences)
    transitions = label_transitions(*linked, prior, strength)
    c = pair_counts(sequences)
    before = [(c[i].sum() + prior[i]) / (c.sum() + 1) for i in range(4)]
    after = [(c[:, j].sum() + prior[j]) / (c.sum() + 1) for j in range(4)]

    def conditional(row, j, p):
        """p(j | row), smoothed towards p by half the number of labels seen in the row."""
        d = strength * np.count_nonzero(row) / 2
        return (row[j] + d * p) / (row.sum() + d) if row.any() else p

    for i, j in np.ndindex(4, 4):
        forward = conditional(c[i], j, after[j]) / after[j]
        backward = conditional(c[:, j], i, before[i]) / before[i]
        assert_allclose(np.exp(transitions.inner[i, j]), (forward + backward) / 2, rtol=1e-9)


@given(label_sequences, st.sampled_from([0.3, 1.0, 5.0]))
def test_begin_and_end_by_their_formula(sequences, strength):
    *linked, prior = count(sequences)
    transitions = label_transitions(*linked, prior, strength)
    filled = [labels for labels in sequences if labels]
    first = np.bincount([labels[0] for labels in filled], minlength=4)
    last = np.bincount([labels[-1] for labels in filled], minlength=4)
    for found, c in [(transitions.begin, first), (transitions.end, last)]:
        k = strength / 2
        estimate = (c + k * prior) / (c.sum() + k)
        assert_allclose(np.exp(found), estimate / prior, rtol=1e-9)


@given(label_sequences)
def test_without_smoothing_it_is_the_co_occurrence_rate_of_the_counts(sequences):
    """One observation is added to the marginals; in many it is lost."""
    c = pair_counts(sequences)
    transitions = label_transitions(*count(sequences, weight=1e9), strength=0.0)
    joint = c / max(c.sum(), 1.0)
    i, j = np.nonzero(joint)
    rate = joint[i, j] / (joint.sum(axis=1)[i] * joint.sum(axis=0)[j])
    assert_allclose(np.exp(transitions.inner[i, j]), rate, rtol=1e-6)
    unseen = (c == 0) & (c.sum(axis=1, keepdims=True) > 0) & (c.sum(axis=0) > 0)
    assert (transitions.inner[unseen] < -600).all()


@pytest.mark.parametrize("strength", [0.0, 1.0])
def test_a_label_without_neighbours(strength):
    """One of the two conditional probabilities is unknown, which counts as independence."""
    inner = label_transitions(*count([[0, 1, 0, 2], [3]]), strength).inner
    assert_allclose(inner[3, 3], 0.0, atol=1e-9)
    for scores in (inner[3, :3], inner[:3, 3]):
        assert scores.min() < -0.1
        assert ((scores > np.log(0.49)) & (scores <= 0.0)).all()


@pytest.mark.parametrize("sequences", [[[0, 1, 0], [2]], [[]], [[3]]])
def test_without_smoothing_scores_are_finite(sequences):
    for scores in label_transitions(*count(sequences), strength=0.0):
        assert np.isfinite(scores).all()


def test_strong_smoothing_makes_labels_independent():
    transitions = label_transitions(*count([[0, 1, 0, 1], [2, 3]]), 1e9)
    for scores in transitions:
        assert_allclose(scores, 0.0, atol=1e-6)
