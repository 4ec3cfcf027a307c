"""The values that parameters of CRFsuiteCRF may have."""

import os
from numbers import Integral, Real
from typing import Any

from sklearn.utils._param_validation import Interval, Options

from ...base.parameters import LEAST_SIGMA

KINDS: dict[tuple[str, ...], Any] = {
    ("algorithm",): str,
    ("max_iterations",): Interval(Integral, 0, None, closed="left"),
    ("period", "num_memories"): Interval(Integral, 1, None, closed="left"),
    ("pa_type",): Options(Integral, {0, 1, 2}),
    ("c2",): Interval(Real, 0, 0.1 / LEAST_SIGMA**2, closed="both"),
    ("min_freq", "c1", "delta", "epsilon"): Interval(Real, 0, None, closed="left"),
    ("c", "variance", "gamma"): Interval(Real, 0, None, closed="neither"),
    ("all_possible_states", "all_possible_transitions"): "boolean",
    ("error_sensitive", "averaging"): "boolean",
    # Those of sklearn_crfsuite.CRF that change nothing here.
    ("linesearch", "max_linesearch", "trainer_cls"): object,
    ("calibration_eta", "calibration_rate", "calibration_samples"): object,
    ("calibration_candidates", "calibration_max_trials"): object,
}
"""What is None or of a kind."""

VALUES: dict[str, list] = {
    **{name: [kind, None] for names, kind in KINDS.items() for name in names},
    "model_filename": [str, os.PathLike, None],
    "keep_tempfiles": ["boolean"],
}
"""The values of each parameter, as scikit-learn checks them."""
