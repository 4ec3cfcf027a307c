"""The estimators that stand for the training algorithms of CRFsuite."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ...linear.corpus import Corpus, transition_counts
from ...linear.designs import observed_pairs
from ..crf.estimator import CRF
from ..crf.features import Features
from ..perceptron import ArowCRF, PassiveAggressiveCRF, StructuredPerceptron


class _Algorithm(NamedTuple):
    """The solver that stands for an algorithm of CRFsuite, and the defaults there.

    The ``tol`` of the solver is about the change of the objective over ``span`` iterations.
    """

    solver: str
    span: int
    max_iterations: int
    delta: float


ALGORITHMS = {
    "lbfgs": _Algorithm("auto", 10, 2**31 - 1, 1e-5),
    "l2sgd": _Algorithm("sgd", 5, 1000, 1e-6),
}
ONLINE = "ap", "pa", "arow"
# The names of algorithms in CRFsuite, and their short names.
FULL_NAMES = {"averaged-perceptron": "ap", "passive-aggressive": "pa"}
# The defaults of CRFsuite.
PERIOD = 10
ONLINE_EPOCHS = 100


def estimator_of(given: Any) -> CRF | StructuredPerceptron:
    """The estimator that the parameters of a CRFsuiteCRF describe.

    Parameters
    ----------
    given : CRFsuiteCRF

    Raises
    ------
    ValueError
        If no estimator can do what a parameter asks for.
    """
    algorithm = _or("lbfgs", given.algorithm)
    algorithm = FULL_NAMES.get(algorithm, algorithm)
    if algorithm in ONLINE:
        return _online_estimator_of(given, algorithm)
    if algorithm not in ALGORITHMS:
        raise ValueError(f"algorithm={algorithm!r}: CRFsuiteCRF has {[*ALGORITHMS, *ONLINE]}")
    solver, span, max_iterations, delta = ALGORITHMS[algorithm]
    c1, c2 = _or(0.0, given.c1), _or(1.0, given.c2)
    if c1 > 0 and algorithm != "lbfgs":
        raise ValueError(f'c1={c1} needs algorithm="lbfgs", got {algorithm!r}')
    return CRF(
        sigma=(2.0 * c2) ** -0.5 if c2 > 0 else np.inf,
        c1=c1,
        features=_FrequentFeatures(
            _or(0.0, given.min_freq),
            _or(False, given.all_possible_states),
            _or(False, given.all_possible_transitions),
        ),
        solver=solver,
        max_iter=_or(max_iterations, given.max_iterations),
        tol=_or(delta, given.delta) * span / _or(PERIOD, given.period),
        n_jobs=given.n_jobs,
        random_state=given.random_state,
        verbose=given.verbose,
    )


def _online_estimator_of(given: Any, algorithm: str) -> StructuredPerceptron:
    """An online trainer, which has neither penalties nor a choice of features."""
    for name in ("min_freq", "c1", "c2"):
        if getattr(given, name) not in (None, 0):
            raise ValueError(f'{name}={getattr(given, name)} is not for algorithm="{algorithm}"')
    common = {
        "max_iter": _or(ONLINE_EPOCHS, given.max_iterations),
        "n_jobs": given.n_jobs,
        "random_state": given.random_state,
        "verbose": given.verbose,
    }
    if algorithm == "ap":
        return StructuredPerceptron(**common)
    if algorithm == "arow":
        return ArowCRF(variance=_or(1.0, given.variance), gamma=_or(1.0, given.gamma), **common)
    kind = _or(1, given.pa_type)
    return PassiveAggressiveCRF(
        C=np.inf if kind == 0 else _or(1.0, given.c),
        loss="squared_hinge" if kind == 2 else "hinge",
        margin="sqrt" if _or(True, given.error_sensitive) else "one",
        averaging="mean" if _or(True, given.averaging) else "none",
        **common,
    )


class _FrequentFeatures(NamedTuple):
    """The features that CRFsuite chooses: the values of an attribute are summed to a frequency."""

    min_freq: float
    all_states: bool
    all_transitions: bool

    def __call__(self, corpus: Corpus, n_labels: int) -> Features:
        counts = transition_counts(corpus, n_labels)
        seen = self.all_transitions | (counts > 0)
        return Features(self._pairs(corpus, n_labels), seen & (counts >= self.min_freq))

    def _pairs(self, corpus: Corpus, n_labels: int) -> sp.csr_array | None:
        frequency = observed_pairs(sp.csr_array(corpus.X), corpus.y, n_labels)
        if self.all_states and min(frequency.data.min(initial=0.0), 0.0) >= self.min_freq:
            return None
        if self.all_states:
            return sp.csr_array((frequency.toarray() >= self.min_freq).astype(float))
        frequency.data = (frequency.data >= self.min_freq).astype(float)
        frequency.eliminate_zeros()
        return frequency


def _or(default: Any, value: Any) -> Any:
    return default if value is None else value
