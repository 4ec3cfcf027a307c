"""Exponents by maximum likelihood on units that were not counted.

The score of a path is linear in the exponents, so the conditional log-likelihood is concave in
them: a small problem for a corpus of any size.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from ...counts.prepared import Prepared
from ...criteria import log_loss
from ...criteria.temperature import best_temperature, brier_score
from ...structures import SemiMarkovChain, Structure
from .link_gains import LinkGains
from .segment_rates import EVIDENCE, with_segments
from .smoothed import RAISING, SmoothedModel

Callback = Callable[[OptimizeResult], None] | None

MAX_ITER = 50

# Standard deviation of the prior around the defaults, relative to sigma.
PRIOR_WIDTH = 0.1
# Rates that may only raise a transition keep a positive exponent.
SMALLEST_EDGE_EXPONENT = 1e-3
# A temperature of e is as bad as this number of wrong labels that were certain.
TEMPERATURE_WEIGHT = 5.0
# Number of tokens on which exponents are fitted: fewer if there are more than 25 labels.
N_HELD_OUT, FEWEST_HELD_OUT = 80_000, 20_000
MANY_LABELS = 25
# Number of blocks that the held-out tokens make up.
N_BLOCKS = 10


@dataclass
class HeldOut:
    """Labelled units, and a model that did not count them.

    Parameters
    ----------
    model : SmoothedModel
    prepared : Prepared
    y : ndarray of shape (n_tokens,)
        Label ids of the tokens.
    structure : Structure
    weight : ndarray of shape (n_units,)
    """

    model: SmoothedModel
    prepared: Prepared
    y: np.ndarray
    structure: Structure
    weight: np.ndarray

    @cached_property
    def gains(self) -> LinkGains:
        """The gains of links, on which exponents have no influence."""
        return self.model.link_gains(self.prepared)

    def with_exponents(self, exponents: Mapping[str, float]) -> SmoothedModel:
        """Return the model with other exponents."""
        model = self.model.copy()
        model.set_exponents(np.array([exponents[name] for name in model.exponents.names]))
        return model

    def token_weights(self) -> np.ndarray:
        """Return the weights of tokens, float64: of their units."""
        return np.repeat(self.weight, np.diff(self.structure.offsets)).astype(float)


def held_out_folds(offsets: np.ndarray, fraction: float, n_labels: int) -> np.ndarray:
    """Which units are held out together, to fit exponents.

    About 80,000 tokens are held out, but fewer, down to 20,000, if there are more than 25 labels.
    They are in blocks of consecutive units that are spread over the whole data; if there are fewer
    tokens, all are held out. There are as many folds as are needed for
    none to hold more than a fraction of the tokens.

    Parameters
    ----------
    offsets : ndarray of shape (n_units + 1,)
        Where the units begin among all tokens.
    fraction : float
    n_labels : int

    Returns
    -------
    ndarray of shape (n_units,), int64
        The fold of each unit, -1 if it is never held out.

    Examples
    --------
    >>> held_out_folds(np.arange(9), 0.25, 2)
    array([0, 0, 1, 1, 2, 2, 3, 3])
    >>> np.bincount(held_out_folds(np.arange(0, 4_000_010, 10), 0.1, 2) + 1)
    array([392000,   8000])
    """
    n_units = len(offsets) - 1
    wanted = max(FEWEST_HELD_OUT, N_HELD_OUT * min(1.0, MANY_LABELS / n_labels))
    share = min(1.0, wanted / max(offsets[-1], 1))
    n_folds = min(int(np.ceil(share / fraction - 1e-9)), n_units)
    # A multiple of the number of folds, so that each fold has the same number of blocks.
    n_blocks = min(n_folds * -(-N_BLOCKS // n_folds), n_units) if share < 1.0 else n_folds
    block = np.arange(n_units) * n_blocks // max(n_units, 1)
    first = np.searchsorted(block, np.arange(n_blocks))
    is_held_out = (offsets[:-1] - offsets[first][block]) * n_blocks < wanted
    return np.where(is_held_out, block % max(n_folds, 1), -1)


def share_found(parts: Sequence[HeldOut]) -> float:
    """Return the share of held-out tokens that are labelled right, without the most frequent label.

    Parameters
    ----------
    parts : sequence of HeldOut

    Returns
    -------
    float
        Of the tokens that have another label than the most frequent one, how many have a greatest
        marginal probability of their label. 1 if there are none.
    """
    y = np.concatenate([part.y for part in parts])
    weight = np.concatenate([part.token_weights() for part in parts])
    scores = [part.model.scores(part.prepared, part.gains) for part in parts]
    pairs = zip(parts, scores, strict=True)
    marginals = np.concatenate([part.structure.marginals(known)[1] for part, known in pairs])
    weight[y == np.bincount(y, weight).argmax()] = 0.0
    is_right = marginals.argmax(axis=1) == y
    return float(weight @ is_right / weight.sum()) if weight.any() else 1.0


def fit_exponents(
    parts: Sequence[HeldOut], *, sigma: float, max_iter: int = MAX_ITER, callback: Callback = None
) -> tuple[dict[str, float], bool]:
    """Fit the exponents that several models share.

    Minimises the weighted sum of the negative log-likelihoods of all units, plus
    ``||a - a0||^2 / (2 s^2)``, where a0 are the current exponents of the first model, and s is 0.1
    sigma.

    Parameters
    ----------
    parts : sequence of HeldOut
        The exponents of the first model are the initial values; no model changes.
    sigma : float
        Width of the Gaussian prior around the initial values.
    max_iter : int
    callback : callable, optional
        Called with an OptimizeResult (x, fun), its argument ``intermediate_result``, after every
        iteration.

    Returns
    -------
    exponents : dict
        By name.
    converged : bool
        Whether they had come to rest after ``max_iter`` iterations.
    """
    for part in parts:
        part.structure.require(log_loss.requires, "fitting exponents")
    losses = [Loss(part) for part in parts]
    return _fit(losses, parts[0].model.exponents.asdict(), sigma, max_iter, callback)


def fit_temperature(parts: Sequence[HeldOut], exponents: Mapping[str, float]) -> float:
    """What to divide all exponents by, so that probabilities agree with how often they are right.

    All scores are linear in the exponents, so this divides the scores, and no best path changes.
    The likelihood, by which exponents are fitted, is decided by the few labels that are found
    improbable; the temperature minimises the Brier score of the likeliest labels.

    Parameters
    ----------
    parts : sequence of HeldOut
    exponents : mapping from name to float
        All exponents.

    Returns
    -------
    float
    """
    scored = [
        (part, part.with_exponents(exponents).scores(part.prepared, part.gains)) for part in parts
    ]
    weights = [part.token_weights() for part in parts]

    def error(temperature: float) -> float:
        value = TEMPERATURE_WEIGHT * np.log(temperature) ** 2
        for (part, scores), weight in zip(scored, weights, strict=True):
            _, marginals = part.structure.marginals(scores.times(1 / temperature))
            value += brier_score(marginals, part.y, weight)
        return value

    return best_temperature(error)


def fit_segment_exponents(
    parts: Sequence[HeldOut],
    structures: Sequence[SemiMarkovChain],
    exponents: Mapping[str, float],
    *,
    sigma: float,
    callback: Callback = None,
) -> tuple[dict[str, float], bool]:
    """Fit the exponents of counted segments, given all others; as :func:`fit_exponents`.

    They come last, since the prior of a counted segment is what the chain says, which depends on
    all other exponents.

    Parameters
    ----------
    parts : sequence of HeldOut
    structures : sequence of SemiMarkovChain
        Of the same units as the parts.
    exponents : mapping from name to float
        All exponents. Where exponents of segments start is in the middle of their prior.
    sigma, callback : as in :func:`fit_exponents`

    Returns
    -------
    exponents : dict
        The fitted ones by name.
    converged : bool
    """
    pairs = zip(parts, structures, strict=True)
    losses = [SegmentLoss(part, structure, exponents) for part, structure in pairs]
    start = {evidence.exponent: exponents[evidence.exponent] for evidence in EVIDENCE}
    return _fit(losses, start, sigma, MAX_ITER, callback)


def _fit(
    losses: Sequence[Callable],
    initial: Mapping[str, float],
    sigma: float,
    max_iter: int,
    callback: Callback,
) -> tuple[dict[str, float], bool]:
    """Minimise the sum of losses and of the penalty of exponents that are not the initial ones."""
    names, start = list(initial), np.array(list(initial.values()))
    penalty = (PRIOR_WIDTH * sigma) ** -2

    def objective(values: np.ndarray) -> tuple[float, np.ndarray]:
        found = [loss(values) for loss in losses]
        away = values - start
        value = sum(loss for loss, _ in found) + 0.5 * penalty * away @ away
        return value, sum(gradient for _, gradient in found) + penalty * away

    fitted = minimize(
        objective,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(SMALLEST_EDGE_EXPONENT if n in RAISING else None, None) for n in names],
        callback=callback,
        options={"maxiter": max_iter, "ftol": 1e-6},
    )
    return dict(zip(names, fitted.x.tolist(), strict=True)), bool(fitted.success)


class Loss:
    """The negative log-likelihood of one part, and its gradient in the exponents."""

    def __init__(self, part: HeldOut):
        self._part, self._model = part, part.model.copy()

    @property
    def names(self) -> list[str]:
        """The names of the exponents."""
        return self._model.exponents.names

    def __call__(self, values: np.ndarray) -> tuple[float, np.ndarray]:
        part, model = self._part, self._model
        model.set_exponents(values)
        scores = model.scores(part.prepared, part.gains)
        loss, pullback = log_loss(part.structure, scores, part.y)
        gradient = model.pullback(part.prepared, scores, pullback(part.weight), part.gains)
        return float((part.weight * loss).sum()), gradient


class SegmentLoss:
    """The negative log-likelihood of one part, and its gradient in the exponents of segments."""

    def __init__(self, part: HeldOut, structure: SemiMarkovChain, exponents: Mapping[str, float]):
        self._part, self._structure = part, structure
        model = part.with_exponents(exponents)
        self._scores = model.scores(part.prepared, part.gains)
        self._gains = model.segments.gains(part.prepared.segments, structure, self._scores)

    def __call__(self, values: np.ndarray) -> tuple[float, np.ndarray]:
        structure, weight = self._structure, self._part.weight
        scores = with_segments(structure, self._scores, values, self._gains)
        log_z, expected = structure.log_partition_and_gradient(scores, weight)
        gold, pullback = structure.score(scores, self._part.y)
        of_spans = structure.layout.split(expected.own - pullback(weight).own)[1]
        return float(weight @ (log_z - gold)), np.tensordot(self._gains, of_spans, axes=2)
