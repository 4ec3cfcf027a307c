"""Labels that scikit-learn's ``cross_val_predict`` has replaced by numbers."""

import sys
from typing import Any

from ..data.sequences import is_table

__all__ = ["refuse_encoded_labels"]

MOST_CALLERS = 10  # between a prediction and cross_val_predict, such as the steps of pipelines


def refuse_encoded_labels(X: Any, method: str) -> None:
    """Raise ValueError if ``cross_val_predict`` of scikit-learn asks this of sequences.

    For probabilities it takes y as several outputs, and numbers the labels of each position apart,
    so that nothing it returns would be right. Nothing but its calls tells this from other data.
    """
    frame = sys._getframe(1)
    for _ in range(MOST_CALLERS):
        if frame.f_back is None:
            return
        frame = frame.f_back
        code = frame.f_code
        if code.co_name == "_fit_and_predict" and "model_selection" in code.co_filename:
            if is_table(X):
                return
            raise ValueError(
                f"cross_val_predict(method={method!r}) of scikit-learn needs one label for each "
                "sample, but a sample is a sequence; use EmpiricalCRF.predict_out_of_fold, or a "
                'table with sample_unit="token"'
            )
