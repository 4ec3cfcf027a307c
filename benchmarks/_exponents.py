"""The choice of default exponents: one fit to the held-out tokens of several corpora."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from scipy.optimize import minimize

from sklearn_crcrf import EmpiricalCRF
from sklearn_crcrf.estimators.empirical.fit_exponents import HeldOut, Loss

# Experts that did not help: they have no default exponent.
OFF = [
    "token:shape[-1]",
    "token:shape[+1]",
    "token:shape[-1]|token:shape[+1]",
    "column[-1]",
    "column[+1]",
    "column[-1]|column[0]",
    "column[-2]|column[-1]",
    "column[+1]|column[+2]",
    "column[-2]|column[-1]|column[0]",
    "column[0]|column[+1]|column[+2]",
    "token[0]|column[+1]",
    "token[0]|column[0]",
    "token[0]|column[-1]",
    "token[-1]|column[0]",
    "token[+1]|column[0]",
]
# Exponents that make labels accurate, but probabilities overconfident; each expert on context has
# one for known and one for unseen words.
SHARP = {
    "label/unseen": 1.0,
    **{f"suffix{k}/unseen": 0.63 for k in range(1, 6)},
    "prefix1/unseen": 0.33,
    "prefix3/unseen": 0.23,
    "prefix4/unseen": 0.2,
    "shape/unseen": 0.83,
    "long_shape/unseen": 0.2,
    "lower/unseen": 0.63,
    "simple/unseen": 0.35,
    "word": 1.0,
    "spelling": 1.0,
    "transition": 1.0,
    "boundary": 0.33,
    "edges": 1.0,
}
SHARP_CONTEXT = {
    "token[-1]": (0.2, 0.45),
    "token[+1]": (0.2, 0.35),
    "token[-1]|token[0]": (0.25, 0.0),
    "token[0]|token[+1]": (0.33, 0.0),
    "token[-2]": (0.15, 0.25),
    "token[-1]|token[+1]": (0.25, 0.25),
    "token[+2]": (0.07, 0.07),
    "token[-2]|token[-1]": (0.07, 0.07),
    "token[+1]|token[+2]": (0.07, 0.07),
    "token:shape[-1]|token:shape[0]": (0.2, 0.1),
    "token:shape[0]|token:shape[+1]": (0.12, 0.1),
    "column[0]": (0.7, 0.7),
    "column[0]|column[+1]": (0.7, 0.7),
    "column[-1]|column[0]|column[+1]": (0.7, 0.7),
}
# Standard deviation of the prior around the sharp exponents.
WIDTH = 0.3


def sharp(name: str) -> float:
    """The sharp exponent of this name, 0 if it has none."""
    expert, _, kind = name.partition("/")
    if "[" in expert:
        return SHARP_CONTEXT.get(expert, (0.0, 0.0))[kind == "unseen"]
    return SHARP.get(name, SHARP.get(expert, 0.0))


class KeptParts(EmpiricalCRF):
    """Keeps the held-out parts to which exponents would be fitted."""

    def _fit_exponents(self, parts: list[HeldOut]) -> None:
        self.parts, self._exponents = parts, {}


class SharedFit:
    """Exponents that suit several corpora with the same columns.

    Parameters
    ----------
    parts : mapping from name to (X, y)
        Parts of corpora for training.

    """

    def __init__(self, parts: Mapping[str, tuple[Sequence, Sequence]]):
        self._parts = {
            name: [Loss(part) for part in KeptParts(exponents="fit").fit(X, y).parts]
            for name, (X, y) in parts.items()
        }
        self.names = next(iter(self._parts.values()))[0].names
        self._sharp = np.array([sharp(name) for name in self.names])
        self._is_free = np.array([name.partition("/")[0] not in OFF for name in self.names])
        # The same importance for each part, whatever the number of its tokens.
        self._scale = {name: 1.0 / self._loss({name: 1.0}, self._sharp)[0] for name in parts}

    def fit(self, weights: Mapping[str, float], share: float) -> dict[str, float]:
        """Sharp exponents and exponents of the greatest likelihood, in these shares, by name.

        They are multiplied by one factor, which makes probabilities as likely as possible.
        """
        weights = {name: 4000.0 * weight * self._scale[name] for name, weight in weights.items()}
        free = self._is_free

        def objective(values: np.ndarray) -> tuple[float, np.ndarray]:
            exponents = self._sharp.copy()
            exponents[free] = values
            loss, gradient = self._loss(weights, exponents)
            away = values - self._sharp[free]
            return loss + away @ away / (2 * WIDTH**2), gradient[free] + away / WIDTH**2

        bounds, options = [(0.0, None)] * free.sum(), {"maxiter": 60, "ftol": 1e-6}
        found = minimize(objective, self._sharp[free], jac=True, bounds=bounds, options=options)
        exponents = (1.0 - share) * self._sharp
        exponents[free] += share * found.x
        return dict(zip(self.names, self.scaled(exponents, weights).tolist(), strict=True))

    def scaled(self, exponents: np.ndarray, weights: Mapping[str, float]) -> np.ndarray:
        """The multiple of the exponents that has the greatest likelihood."""

        def objective(factor: np.ndarray) -> tuple[float, np.ndarray]:
            loss, gradient = self._loss(weights, factor[0] * exponents)
            return loss, np.array([gradient @ exponents])

        return minimize(objective, np.ones(1), jac=True, bounds=[(0.1, 2.0)]).x[0] * exponents

    def _loss(
        self, weights: Mapping[str, float], exponents: np.ndarray
    ) -> tuple[float, np.ndarray]:
        losses = [
            (weight * loss, weight * gradient)
            for name, weight in weights.items()
            for loss, gradient in (of_part(exponents) for of_part in self._parts[name])
        ]
        return sum(a for a, _ in losses), sum(b for _, b in losses)


def mean_of(vectors: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """The mean of exponents; a vector without an exponent takes no part in its mean."""
    vectors = list(vectors)
    names = dict.fromkeys(name for vector in vectors for name in vector)
    return {name: float(np.mean([v[name] for v in vectors if name in v])) for name in names}
