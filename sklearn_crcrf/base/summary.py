"""Facts shown of a fitted estimator, besides its parameters."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

MOST_LABELS = 8
WEIGHTS = ("coef_", "transitions_", "begin_", "end_", "edge_coef_")


class SummaryMixin:
    """Shows how many labels, attributes and weights a fitted estimator has.

    ``repr`` shows the parameters only, as in scikit-learn, so nested estimators look as usual.
    ``str`` has one more line for each fact. A notebook shows the facts too: in the box of the
    estimator up to scikit-learn 1.8, and in the text with any version.

    From 1.9 on, scikit-learn lists all fitted attributes. Attributes that are computed on
    access, such as a dict of all weights, are left out of this list.
    """

    def __str__(self) -> str:
        facts = self._facts()
        width = max(map(len, facts), default=0)
        return "\n".join([repr(self), *(f"  {name:{width}}  {facts[name]}" for name in facts)])

    def _facts(self) -> dict[str, str]:
        """Facts about a fitted estimator, by name; empty before ``fit``."""
        facts: dict[str, str] = {}
        classes = getattr(self, "classes_", None)
        if classes is None:
            return facts
        names = [str(label) for label in classes[:MOST_LABELS]]
        more = ["..."] if len(classes) > MOST_LABELS else []
        facts["labels"] = f"{len(classes)}: {', '.join(names + more)}"
        coef = getattr(self, "coef_", None)
        if coef is not None:
            facts["attributes"] = f"{coef.shape[0]:,}"
            n_weights = sum(_n_nonzero(getattr(self, name, None)) for name in WEIGHTS)
            facts["weights"] = f"{n_weights:,} not zero"
        if hasattr(self, "n_iter_"):
            ended = "" if getattr(self, "converged_", True) else ", not converged"
            facts["iterations"] = f"{self.n_iter_}{ended}"
        return facts

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]  # BaseEstimator has it
        return {**bundle, "text/plain": str(self)}

    def _get_fitted_attr_html(self, doc_link: str = "") -> Any:
        # To list a million weights by name would take seconds, each time a notebook shows them.
        names = dict.fromkeys([*vars(self), *WEIGHTS, "observation_"])
        shown = {name: getattr(self, name) for name in names if hasattr(self, name)}
        return BaseEstimator._get_fitted_attr_html(SimpleNamespace(**shown), doc_link)


def _n_nonzero(weights: Any) -> int:
    if weights is None:
        return 0
    return int(weights.count_nonzero() if sp.issparse(weights) else np.count_nonzero(weights))
