"""Sequences that are held out of training."""

import numpy as np
import pytest

from sklearn_crcrf.linear.corpus import Corpus
from sklearn_crcrf.structures import Chain
from sklearn_crcrf.training.loop import hold_out, hold_out_of


@pytest.mark.parametrize(("fraction", "n_held_out"), [(0.01, 1), (0.25, 2), (0.5, 4), (0.9, 7)])
def test_a_random_fraction_is_held_out(fraction, n_held_out):
    sequences = np.array([1, 2, 3, 5, 8, 13, 21, 34])
    trained, held_out = hold_out(sequences, fraction, np.random.RandomState(0))
    assert len(held_out) == n_held_out
    assert np.sort([*trained, *held_out]).tolist() == sequences.tolist()
    assert (np.diff(trained) > 0).all() and (np.diff(held_out) > 0).all()
    others = [hold_out(sequences, fraction, np.random.RandomState(seed))[1] for seed in range(9)]
    assert len({tuple(other) for other in others}) > 1


def test_nothing_is_held_out_without_a_fraction():
    trained, held_out = hold_out(np.arange(3), None, np.random.RandomState(0))
    assert trained.tolist() == [0, 1, 2] and held_out is None


@pytest.mark.parametrize(
    ("n", "fraction", "message"),
    [(0, None, "no sequence"), (1, 0.1, "n_samples=1"), (40, 0.99, "nothing of 40 sequences")],
)
def test_something_must_be_left(n, fraction, message):
    with pytest.raises(ValueError, match=message):
        hold_out(np.arange(n), fraction, np.random.RandomState(0))


def test_a_corpus_is_divided():
    X, y, weight = np.arange(6.0)[:, None], np.array([0, 1, 0, 1, 1, 0]), np.array([1.0, 2.0, 3.0])
    corpus = Corpus(X, y, Chain(np.array([0, 3, 5, 6])), weight)
    trained, held_out = hold_out_of(corpus, 0.3, np.random.RandomState(0))
    assert len(trained.weight) == 2 and len(held_out.weight) == 1
    rows = np.concatenate([trained.X, held_out.X])
    assert sorted(rows.ravel().tolist()) == X.ravel().tolist()
    assert hold_out_of(corpus, None, np.random.RandomState(0)) == (corpus, None)
