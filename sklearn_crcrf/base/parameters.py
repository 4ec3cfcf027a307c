"""Which values the parameters may have that several estimators share."""

from collections.abc import Collection, Mapping
from numbers import Integral, Real

import numpy as np
from sklearn.utils._param_validation import HasMethods, Interval, Options, StrOptions

from ..labels.constraints.constraints import Constraints

__all__ = ["shared"]

SHARED: dict[str, list] = {
    "binning": [HasMethods(["fit", "transform"]), None],
    "boundaries": ["boolean"],
    "class_weight": [None, StrOptions({"balanced"}), dict],
    "constraints": [None, str, Mapping, "array-like", Constraints],
    "dtype": [None, Options(object, {"float32", "float64", np.float32, np.float64})],
    "edge_columns": [Collection],
    "min_freq": [Interval(Integral, 1, None, closed="left")],
    "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
    "n_jobs": [Integral, None],
    "random_state": ["random_state"],
    "sample_unit": [StrOptions({"sequence", "token"})],
    "sigma": [Interval(Real, 0, None, closed="right")],
    "tol": [Interval(Real, 0, None, closed="left")],
    "validation_fraction": [None, Interval(Real, 0, 1, closed="neither")],
    "verbose": ["verbose"],
    "warm_start": ["boolean"],
}


def shared(*names: str) -> dict[str, list]:
    """The constraints of some parameters, as scikit-learn's ``_parameter_constraints`` has them.

    Parameters
    ----------
    *names : str

    Returns
    -------
    dict

    Examples
    --------
    >>> from sklearn_crcrf.base.parameters import shared
    >>> shared("boundaries", "n_jobs")
    {'boundaries': ['boolean'], 'n_jobs': [<class 'numbers.Integral'>, None]}
    """
    return {name: SHARED[name] for name in names}
