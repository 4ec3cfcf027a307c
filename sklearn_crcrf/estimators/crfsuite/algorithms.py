"""The estimators that stand for the training algorithms of CRFsuite."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ...linear.corpus import Corpus, transition_counts
from ...linear.designs import observed_pairs
from ..crf.estimator import CRF
from ..crf.features import Features
from ..perceptron import ArowCRF, PassiveAggressiveCRF, StructuredPerceptron
from ..perceptron.online import OnlineClassifier

# The solver that stands for an algorithm of CRFsuite, and the defaults of max_iterations and delta.
ALGORITHMS = {"lbfgs": ("auto", 2**31 - 1, 1e-5), "l2sgd": ("sgd", 1000, 1e-6)}
# Number of epochs over which the change of the objective is that the ``tol`` of "sgd" is about.
EPOCHS = 5
ONLINE = "ap", "pa", "arow"
# The names of algorithms in CRFsuite, and their short names.
FULL_NAMES = {"averaged-perceptron": "ap", "passive-aggressive": "pa"}
# The defaults of CRFsuite.
PERIOD, EPSILON, MEMORIES = 10, 1e-5, 6
# After this number of iterations the model may still depend on the number of memories.
EARLY = 100
ONLINE_EPOCHS = 100


def estimator_of(given: Any) -> CRF | OnlineClassifier:
    """Return the estimator that the parameters of a CRFsuiteCRF describe.

    Parameters
    ----------
    given : CRFsuiteCRF

    Raises
    ------
    ValueError
        If no estimator can do what a parameter asks for.
    """
    told = {name: value for name, value in given.get_params().items() if value is not None}
    algorithm = told.get("algorithm", "lbfgs")
    algorithm = FULL_NAMES.get(algorithm, algorithm)
    common = {name: getattr(given, name) for name in ("n_jobs", "random_state", "verbose")}
    if algorithm in ONLINE:
        common["max_iter"] = told.get("max_iterations", ONLINE_EPOCHS)
        return _online_estimator_of(told, algorithm, common)
    if algorithm not in ALGORITHMS:
        raise ValueError(f"algorithm={algorithm!r}: CRFsuiteCRF has {[*ALGORITHMS, *ONLINE]}")
    solver, max_iterations, delta = ALGORITHMS[algorithm]
    tol, period = told.get("delta", delta), told.get("period", PERIOD)
    options = {"period": period, "epsilon": told.get("epsilon", EPSILON)}
    if "num_memories" in told or told.get("max_iterations", max_iterations) <= EARLY:
        options["memory"] = told.get("num_memories", MEMORIES)
    c1, c2 = told.get("c1", 0.0), told.get("c2", 1.0)
    if c1 > 0 and algorithm != "lbfgs":
        raise ValueError(f'c1={c1} needs algorithm="lbfgs", got {algorithm!r}')
    return CRF(
        sigma=(2.0 * c2) ** -0.5 if c2 > 0 else np.inf,
        c1=c1,
        features=_FrequentFeatures(
            told.get("min_freq", 0.0),
            told.get("all_possible_states", False),
            told.get("all_possible_transitions", False),
        ),
        solver=solver,
        max_iter=told.get("max_iterations", max_iterations),
        tol=tol if algorithm == "lbfgs" else tol * EPOCHS / period,
        solver_options=options if algorithm == "lbfgs" else None,
        device=given.device,
        **common,
    )


def _online_estimator_of(told: dict, algorithm: str, common: dict) -> OnlineClassifier:
    """Return an online trainer, which has neither penalties nor a choice of features."""
    for name in ("min_freq", "c1", "c2", "device"):
        if told.get(name, 0) != 0:
            raise ValueError(f'{name}={told[name]} is not for algorithm="{algorithm}"')
    if algorithm == "ap":
        return StructuredPerceptron(**common)
    if algorithm == "arow":
        return ArowCRF(told.get("variance", 1.0), told.get("gamma", 1.0), **common)
    kind = told.get("pa_type", 1)
    return PassiveAggressiveCRF(
        C=np.inf if kind == 0 else told.get("c", 1.0),
        loss="squared_hinge" if kind == 2 else "hinge",
        margin="sqrt" if told.get("error_sensitive", True) else "one",
        averaging="mean" if told.get("averaging", True) else "none",
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
        if self.all_states:
            if min(frequency.data.min(initial=0.0), 0.0) >= self.min_freq:
                return None
            frequency = frequency.toarray()
            return sp.csr_array((frequency >= self.min_freq).astype(float))
        frequency.data = (frequency.data >= self.min_freq).astype(float)
        frequency.eliminate_zeros()
        return frequency
