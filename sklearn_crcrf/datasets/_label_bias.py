"""Sequences on which locally normalised models suffer from label bias."""

from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_random_state


def check_n_samples(n_samples: int) -> int:
    """Return ``n_samples`` as an int, or raise ValueError unless it is a whole number >= 0."""
    if not isinstance(n_samples, Integral) or isinstance(n_samples, bool) or n_samples < 0:
        raise ValueError(f"n_samples must be a whole number >= 0, got {n_samples!r}")
    return int(n_samples)


def check_probability(value: float, name: str) -> float:
    """Return ``value`` as a float, or raise ValueError unless it lies in [0, 1]."""
    if not isinstance(value, Real) or not 0 <= value <= 1:
        raise ValueError(f"{name} must be a number in [0, 1], got {value!r}")
    return float(value)


_SYMBOLS = np.array(["r", "i", "o", "b"], dtype=object)
_PATHS = np.array([["R1", "I", "B"], ["R2", "O", "B"]], dtype=object)
_DESIGNATED = np.array([[0, 1, 3], [0, 2, 3]])


def make_label_bias(
    n_samples: int = 2000, *, noise: float = 3 / 32, random_state=None
) -> tuple[list[list[str]], list[list[str]]]:
    """Make the noisy words "rib" and "rob" of the label bias problem.

    One half of the sequences is labelled R1 I B, the other R2 O B. Each label emits its
    designated symbol (r, r, i, o, b) or, by noise, one of the three others. The first symbol
    does not distinguish R1 from R2, so a model that is normalised at each position cannot use
    the second symbol to choose between the two paths.

    Parameters
    ----------
    n_samples : int, default=2000
        Number of sequences; if odd, the first path gets one more.
    noise : float in [0, 1], default=3/32
        Probability that a symbol is not the designated one; the three others are equally likely.
    random_state : int, RandomState instance or None, default=None
        Determines symbols and order.

    Returns
    -------
    X : list of n_samples lists of 3 str
        Symbols.
    y : list of n_samples lists of 3 str
        Labels.

    References
    ----------
    .. [1] J. Lafferty, A. McCallum, F. Pereira, "Conditional Random Fields: Probabilistic
       Models for Segmenting and Labeling Sequence Data", ICML 2001.
    .. [2] Z. Zhu, D. Hiemstra, P. Apers, A. Wombacher, "Closed Form Maximum Likelihood
       Estimator of Conditional Random Fields", 2013, section 4.4.

    Examples
    --------
    >>> from sklearn_crcrf.datasets import make_label_bias
    >>> X, y = make_label_bias(2, noise=0, random_state=0)
    >>> sorted(map("".join, X)), sorted(y)
    (['rib', 'rob'], [['R1', 'I', 'B'], ['R2', 'O', 'B']])
    """
    n_samples = check_n_samples(n_samples)
    noise = check_probability(noise, "noise")
    rng = check_random_state(random_state)
    path = rng.permutation(np.arange(n_samples) % 2)
    wrong = rng.uniform(size=(n_samples, 3)) < noise
    shift = np.where(wrong, rng.randint(1, 4, size=(n_samples, 3)), 0)
    symbols = _SYMBOLS[(_DESIGNATED[path] + shift) % 4]
    return symbols.tolist(), _PATHS[path].tolist()
