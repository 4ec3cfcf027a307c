"""The threshold of conformal risk control."""

from math import ceil, floor

import numpy as np

# Scores of a sequence differ by rounding if it is labelled with others or alone.
ROUNDING = 1e-6


def risk_threshold(score: np.ndarray, sample: np.ndarray, level: float, samples: str) -> float:
    r"""Return the largest threshold that misses few enough of what is true.

    The loss of a sample is the share of its units whose score is below the threshold t, which grows
    with t. With the mean R(t) of the losses of n samples, t is the largest one with

    .. math::

       \frac{n R(t) + 1}{n + 1} \leq 1 - \text{level},

    and the expected loss of another sample, exchangeable with these, is at most 1 - level
    (:cite:t:`CRC`, equation 4). Where each sample is one unit, this is split conformal prediction.

    Parameters
    ----------
    score : ndarray of shape (n_units,)
        How probable the model finds the truth of each unit, in [0, 1].
    sample : int ndarray of shape (n_units,)
        The sample that each unit belongs to.
    level : float
        In (0, 1).
    samples : str
        What the samples are, for error messages.

    Returns
    -------
    float
        Slightly below the score of a unit, for rounding. 0 if this unit has the score 0.

    Raises
    ------
    ValueError
        If there are too few samples for this level: even if none of them misses anything, 1 of
        n + 1 might.

    Examples
    --------
    >>> score = np.array([0.9, 0.4, 0.8, 0.7])
    >>> round(risk_threshold(score, np.arange(4), 0.5, "sequences"), 3)
    0.7
    """
    _, place, n_units = np.unique(sample, return_inverse=True, return_counts=True)
    n, most = len(n_units), 1 - level
    allowed = most * (n + 1) - 1 + 1e-9  # for rounding: with level=0.9, 9 samples are enough
    if allowed < 0:
        least = ceil(level / most - 1e-9)
        most_level = floor(1000 * n / (n + 1)) / 1000
        lower = f", or with a confidence_level of at most {most_level}" if n else ""
        raise ValueError(
            f"confidence_level={level} needs {least:,} {samples} or more to calibrate with, but "
            f"there are {n:,}: calibrate with more of them{lower}"
        )
    order = np.argsort(score, kind="stable")
    lost = np.cumsum(1 / n_units[place[order]])  # if all units up to this one are missed
    return float(score[order][lost > allowed][0]) * (1 - ROUNDING)
