"""Tests of the threshold of conformal risk control."""

import numpy as np
import pytest
from cases import for_each

from sklearn_crcrf.estimators.conformal.risk import ROUNDING, risk_threshold


def by_search(score, sample, level):
    """The largest score t with (n R(t) + 1) / (n + 1) <= 1 - level, by trying all."""
    samples = sorted(set(sample))
    kept = []
    for t in score:
        losses = [np.mean(score[sample == s] < t) for s in samples]
        if (sum(losses) + 1) / (len(samples) + 1) <= 1 - level + 1e-12:
            kept.append(t)
    return max(kept)


@for_each("seed", range(40))
def test_no_larger_threshold_keeps_the_risk(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 60))
    sample = np.append(np.arange(n), rng.integers(0, n, n))
    score = rng.integers(0, 12, 2 * n) / 12  # with ties
    level = rng.choice([0.5, 0.8, 0.9])
    expected = by_search(score, sample, level)
    assert risk_threshold(score, sample, level, "sequences") == expected * (1 - ROUNDING)


@for_each("n", [9, 10, 57, 99])
def test_single_units_have_the_quantile_of_split_conformal_prediction(n):
    score, level = np.random.default_rng(n).random(n), 0.9
    rank = int(np.ceil((n + 1) * level - 1e-9))  # the rank-th largest
    found = risk_threshold(score, np.arange(n), level, "sequences")
    assert found == np.sort(score)[::-1][rank - 1] * (1 - ROUNDING)


@for_each(("level", "least"), [(0.9, 9), (0.95, 19), (0.99, 99), (0.999, 999), (0.85, 6)])
def test_too_few_samples_are_named(level, least):
    assert risk_threshold(np.ones(least), np.arange(least), level, "groups") > 0.99
    with pytest.raises(ValueError, match=f"needs {least} groups or more") as error:
        risk_threshold(np.ones(least - 1), np.arange(least - 1), level, "groups")
    lower = float(str(error.value).rpartition(" ")[2])
    assert lower < level
    risk_threshold(np.ones(least - 1), np.arange(least - 1), lower, "groups")


def test_nothing_to_calibrate_with():
    with pytest.raises(ValueError, match="there are 0"):
        risk_threshold(np.empty(0), np.empty(0, int), 0.5, "sequences")
