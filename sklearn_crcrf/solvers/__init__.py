"""Solvers: plain functions that minimise ``fun(x) -> (objective, gradient)``."""

from .adagrad import adagrad
from .bundle import bundle
from .column_lbfgs import column_lbfgs
from .gpd_quickprop import gpd_quickprop
from .iterative_scaling import iterative_scaling
from .lbfgs import lbfgs
from .owlqn import owlqn
from .quickprop import quickprop
from .rprop import rprop
from .scipy_methods import bounded_lbfgs, conjugate_gradient, newton_cg
from .sgd import sgd

__all__ = [
    "adagrad",
    "bounded_lbfgs",
    "bundle",
    "column_lbfgs",
    "conjugate_gradient",
    "gpd_quickprop",
    "iterative_scaling",
    "lbfgs",
    "newton_cg",
    "owlqn",
    "quickprop",
    "rprop",
    "sgd",
]
