"""Solvers: plain functions that minimise ``fun(x) -> (objective, gradient)``."""

from .adagrad import adagrad
from .bounded import bounded_lbfgs
from .bundle import bundle
from .column_lbfgs import column_lbfgs
from .conjugate_gradient import conjugate_gradient
from .iterative_scaling import iterative_scaling
from .lbfgs import lbfgs
from .newton_cg import newton_cg
from .owlqn import owlqn
from .quickprop import quickprop
from .rprop import rprop
from .sgd import sgd

__all__ = [
    "adagrad",
    "bounded_lbfgs",
    "bundle",
    "column_lbfgs",
    "conjugate_gradient",
    "iterative_scaling",
    "lbfgs",
    "newton_cg",
    "owlqn",
    "quickprop",
    "rprop",
    "sgd",
]
