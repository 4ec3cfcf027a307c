"""Which values the parameters may have that several estimators share."""

from collections.abc import Collection, Mapping
from numbers import Integral, Real

import numpy as np
from sklearn.utils._param_validation import HasMethods, Interval, Options, StrOptions

from ..labels.constraints.constraints import Constraints

# The least sigma of a penalty: the square of its inverse still has a float32.
LEAST_SIGMA = 1e-18

SHARED: dict[str, list] = {
    "binning": [HasMethods(["fit", "transform"]), None],
    "boundaries": ["boolean"],
    "c1": [Interval(Real, 0, None, closed="left")],
    "class_weight": [None, StrOptions({"balanced"}), dict],
    "constraints": [None, str, Mapping, "array-like", Constraints],
    "cv": ["cv_object"],
    "device": [None, object],
    "dtype": [None, Options(object, {"float32", "float64", np.float32, np.float64})],
    "edge_columns": [Collection],
    "estimator": [HasMethods(["fit"])],
    "max_iter": [Interval(Integral, 0, None, closed="left")],
    "min_freq": [Interval(Integral, 1, None, closed="left")],
    "solver_options": [dict, None],
    "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
    "n_jobs": [Integral, None],
    "random_state": ["random_state"],
    "sample_unit": [StrOptions({"sequence", "token"})],
    "sigma": [Interval(Real, LEAST_SIGMA, None, closed="both")],
    "tol": [Interval(Real, 0, None, closed="left")],
    "validation_fraction": [None, Interval(Real, 0, 1, closed="neither")],
    "verbose": ["verbose"],
    "warm_start": ["boolean"],
}
"""The constraints of parameters that an estimator need not give in ``_parameter_constraints``."""
