"""Co-occurrence rates of any variables, and smoothed ones of linked labels and of boundaries."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..utils.real_numbers import real_numbers

# Keeps unsmoothed rates above zero, and makes them 1 where nothing was counted.
TINY = np.finfo(float).tiny


def co_occurrence_rate(
    counts: Any, groups: Sequence[Any] | None = None, *, given: Any = ()
) -> np.ndarray:
    r"""Compute how much more often values occur together than if they were independent.

    The co-occurrence rate of n variables ([1]_ eq. 1, [2]_ definition 1) is

    .. math::

       \mathrm{CR}(X_1; \ldots; X_n) = \frac{p(X_1, \ldots, X_n)}{p(X_1) \cdots p(X_n)},
       \qquad
       \mathrm{CR}(X_1; \ldots; X_n \mid Z)
       = \frac{p(X_1, \ldots, X_n \mid Z)}{p(X_1 \mid Z) \cdots p(X_n \mid Z)}.

    It is 1 for all values if, and only if, the variables are independent, above 1 where values
    attract each other, and 0 where they never occur together. The rate of a single variable is 1.
    A variable may be joint: :math:`\mathrm{CR}(X_1; X_2 X_3) = p(X_1, X_2, X_3) / (p(X_1)\,
    p(X_2, X_3))`.

    Parameters
    ----------
    counts : array-like of any shape
        How often, or how probably, each combination of values occurs: one axis for each variable.
    groups : sequence of int or of sequences of int, optional
        The variables of the rate, by their axes; several axes in a sequence are one joint variable.
        By default each axis is a variable. Over axes that are neither here nor in ``given``,
        counts are summed.
    given : int, sequence of int, or sequence of sequences of int, default=()
        The axes of what is known. With a sequence for each group, each variable is given its own
        axes, and all variables together are given all of them, as in the rates of
        :class:`~sklearn_crcrf.EmpiricalCRF`, where each label is given its own word.

    Returns
    -------
    ndarray
        The rate of each combination of values of the axes in ``groups`` and ``given``, in the order
        of the axes of ``counts``. In [0, inf); NaN where a value of a variable has the probability
        0, or what is given has.

    Raises
    ------
    ValueError
        If counts are not finite, negative, or all zero; or an axis does not exist, or is in several
        groups, or in a group and given.

    See Also
    --------
    EmpiricalCRF : Multiplies rates of labels and probabilities of single labels.
    mle_conditions : Whether such a product has the greatest likelihood.

    References
    ----------
    .. [1] Zhu, Hiemstra, Apers, Wombacher, "Closed Form Maximum Likelihood Estimator of
       Conditional Random Fields", 2013, hdl:2066/227018.
    .. [2] Zhu et al., "Empirical Co-occurrence Rate Networks for Sequence Labeling", ICMLA 2013,
       doi:10.1109/ICMLA.2013.23.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf import co_occurrence_rate
    >>> co_occurrence_rate([[4, 1], [1, 4]])
    array([[1.6, 0.4],
           [0.4, 1.6]])

    The example of [2]_, III-C: "rib" has the labels X I B 11 times, and "rob" Y O B 9 times and
    X I B once. The axes are the second letter, i or o, and the first two labels:

    >>> counts = np.zeros((2, 2, 2))
    >>> counts[0, 0, 0], counts[1, 1, 1], counts[1, 0, 0] = 11, 9, 1
    >>> rate = co_occurrence_rate(counts, [1, 2], given=[(), (0,)])
    >>> rate[1].round(3)  # p(YO | ro) / (p(Y | r) p(O | o)) = 9/10 / (9/21 9/10)
    array([[1.75 , 0.   ],
           [0.   , 2.333]])
    """
    table = real_numbers(counts, "counts must be an array of numbers")
    if not (np.isfinite(table).all() and (table >= 0).all() and table.sum() > 0):
        raise ValueError("counts must be finite and not negative, and not all zero")
    table = table / table.max()
    variables = [_axes(group, "groups", table.ndim) for group in _groups(groups, table.ndim)]
    conditions = _conditions(given, len(variables), table.ndim)
    named = [axis for group in variables for axis in group]
    known = {axis for group in conditions for axis in group}
    if len(set(named)) < len(named) or known.intersection(named):
        raise ValueError(
            f"groups={groups!r} and given={given!r}: an axis may be in one group only, or be given"
        )

    def probability(axes: Sequence[int], condition: Sequence[int]) -> np.ndarray:
        """Return p(axes | condition), with all axes of the table."""
        sums = (_summed(table, axes) for axes in ({*axes, *condition}, condition))
        return np.divide(*sums)

    with np.errstate(divide="ignore", invalid="ignore"):
        rate = probability(named, [*known])
        for axes, condition in zip(variables, conditions, strict=True):
            rate = rate / probability(axes, condition)
    shape = [n if axis in {*named, *known} else 1 for axis, n in enumerate(table.shape)]
    kept = [n for axis, n in enumerate(table.shape) if axis in {*named, *known}]
    return np.broadcast_to(rate, shape).reshape(kept)


def _groups(groups: Sequence[Any] | None, n_axes: int) -> Sequence[Any]:
    return range(n_axes) if groups is None else groups


def _axes(group: Any, name: str, n_axes: int) -> list[int]:
    """List the axes of one variable, counted from 0."""
    axes = np.atleast_1d(np.asarray(group, dtype=object)).tolist()
    wrong = [
        axis for axis in axes if not isinstance(axis, int | np.integer) or not 0 <= axis < n_axes
    ]
    if wrong:
        raise ValueError(f"{name}: {wrong[0]!r} is no axis of counts, which has {n_axes}")
    return [int(axis) for axis in axes]


def _conditions(given: Any, n_groups: int, n_axes: int) -> list[list[int]]:
    """List the axes that each variable is given."""
    nested = isinstance(given, Sequence) and any(isinstance(part, Sequence) for part in given)
    if not nested:
        return [_axes(given, "given", n_axes)] * n_groups
    if len(given) != n_groups:
        raise ValueError(
            f"given has {len(given)} sequences of axes, but there are {n_groups} groups"
        )
    return [_axes(part, "given", n_axes) for part in given]


def _summed(table: np.ndarray, kept: Any) -> np.ndarray:
    """Sum over all axes but some; the others have the length 1."""
    return table.sum(axis=tuple(set(range(table.ndim)) - {*kept}), keepdims=True)


def smoothed_rates(counts: np.ndarray, label_prior: np.ndarray, strength: float) -> np.ndarray:
    """Rates p(i, j) / (p(i) p(j)) with Witten-Bell smoothing towards 1, in both directions.

    The more different labels follow a label, the more probability is left to unseen successors:
    p(j | i) = (c(i, j) + d_i p(j)) / (c(i) + d_i) with d_i half the number of labels seen after
    i. The rate is the mean of p(j | i) / p(j) and p(i | j) / p(i).

    Parameters
    ----------
    counts : ndarray of shape (n_labels, n_labels), row = previous label
        How often two labels are linked. Symmetric counts have symmetric rates.
    label_prior : ndarray of shape (n_labels,)
        Positive probabilities, added to the marginal counts.
    strength : float
        Multiplies d_i.

    Returns
    -------
    ndarray of shape (n_labels, n_labels)
        Positive; 1 where nothing is known.

    Examples
    --------
    >>> import numpy as np
    >>> counts, label_prior = np.array([[8.0, 2.0], [2.0, 8.0]]), np.array([0.5, 0.5])
    >>> smoothed_rates(counts, label_prior, 1.0).round(2)
    array([[1.55, 0.45],
           [0.45, 1.55]])
    """
    # Marginals of the same pairs, so that numerator and denominator count the same tokens.
    total = counts.sum(axis=(-2, -1))[..., None]
    before = (counts.sum(axis=-1) + label_prior) / (total + 1.0)
    after = (counts.sum(axis=-2) + label_prior) / (total + 1.0)

    def rate(counts, p):
        kept = 0.5 * strength * (counts > 0).sum(axis=-1, keepdims=True) + TINY
        return (counts / p[..., None, :] + kept) / (counts.sum(axis=-1, keepdims=True) + kept)

    reversed_rate = rate(counts.swapaxes(-2, -1), before)
    return 0.5 * (rate(counts, after) + reversed_rate.swapaxes(-2, -1))


def boundary_rates(counts: np.ndarray, label_prior: np.ndarray, strength: float) -> np.ndarray:
    """Rates of labels with one end of a sequence, smoothed towards 1.

    Parameters
    ----------
    counts : ndarray of shape (n_labels,)
        How often each label is at this end.
    label_prior : ndarray of shape (n_labels,)
        Positive probabilities.
    strength : float
        Half of it is the number of observations that the prior counts for.

    Returns
    -------
    ndarray of shape (n_labels,)

    Examples
    --------
    >>> import numpy as np
    >>> boundary_rates(np.array([3.0, 0.0]), np.array([0.5, 0.5]), 2.0)
    array([1.75, 0.25])
    """
    kept = 0.5 * strength + TINY
    return (counts / label_prior + kept) / (counts.sum(axis=-1, keepdims=True) + kept)
