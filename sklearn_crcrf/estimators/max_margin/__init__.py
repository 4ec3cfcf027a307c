"""Max-margin Markov networks, and the solvers of their dual."""

from .estimator import MaxMarginCRF
from .exponentiated_gradient import exponentiated_gradient
from .frank_wolfe import frank_wolfe
from .minimal_optimisation import minimal_optimisation
from .problem import MarginProblem
from .subgradient import subgradient

__all__ = [
    "MarginProblem",
    "MaxMarginCRF",
    "exponentiated_gradient",
    "frank_wolfe",
    "minimal_optimisation",
    "subgradient",
]
