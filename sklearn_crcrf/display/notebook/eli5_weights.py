"""Weights of our estimators in eli5."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from ...base.summary import SummaryMixin


def enable_eli5() -> None:
    """Let eli5 show the weights of the estimators of this package.

    After this, ``eli5.explain_weights``, ``show_weights``, ``explain_weights_df`` and the other
    functions of eli5 that show weights take :class:`~sklearn_crcrf.CRFsuiteCRF` and the classifiers
    that have ``state_features_`` and ``transition_features_``, with the arguments ``top``,
    ``targets``, ``target_names``, ``feature_re`` and ``feature_filter``. For single predictions see
    :func:`~sklearn_crcrf.explain`.

    Raises
    ------
    ImportError
        If eli5 is not installed.

    Examples
    --------
    >>> import eli5  # doctest: +SKIP
    >>> from sklearn_crcrf.display import enable_eli5
    >>> enable_eli5()  # doctest: +SKIP
    >>> eli5.show_weights(crf, top=10)  # doctest: +SKIP
    """
    try:
        from eli5.explain import explain_weights
    except ImportError as error:
        raise ImportError("enable_eli5 needs eli5: pip install eli5") from error
    explain_weights.register(SummaryMixin)(_explain_weights)


def _explain_weights(
    estimator: Any,
    top: Any = 20,
    target_names: Any = None,
    targets: Any = None,
    feature_re: Any = None,
    feature_filter: Any = None,
    **others: Any,
) -> Any:
    """Make the explanation of all weights, as eli5 has it for sklearn-crfsuite."""
    from eli5._feature_names import FeatureNames
    from eli5._feature_weights import get_top_features
    from eli5.base import Explanation, TargetExplanation, TransitionFeatureWeights
    from eli5.utils import get_target_display_names

    name = type(estimator).__name__
    if not hasattr(estimator, "state_features_"):
        return Explanation(estimator=repr(estimator), error=f"{name} has no weights to show")
    classes = list(estimator.classes_)
    attributes, coef = _coefficients(estimator.state_features_, classes)
    if feature_re is not None or feature_filter is not None:
        kept, chosen = FeatureNames(attributes).handle_filter(feature_filter, feature_re)
        attributes, coef = np.array(kept.feature_names), coef[chosen]
    order = sorted(classes, key=_by_type) if targets is None else targets
    shown = get_target_display_names(classes, target_names, order)
    ids = [k for k, _ in shown]
    _, transitions = _coefficients(estimator.transition_features_, classes, classes)
    columns = coef.tocsc()
    return Explanation(
        estimator=repr(estimator),
        method="CRF",
        targets=[
            TargetExplanation(
                target=label,
                feature_weights=get_top_features(
                    attributes, columns[:, [k]].toarray().ravel(), top
                ),
            )
            for k, label in shown
        ],
        transition_features=TransitionFeatureWeights(
            class_names=[label for _, label in shown], coef=transitions.toarray()[np.ix_(ids, ids)]
        ),
    )


def _coefficients(
    weights: dict[tuple[Any, Any], float], classes: list, rows: list | None = None
) -> tuple[np.ndarray, sp.csr_array]:
    """Return the first parts of the pairs, and their weights, with a column for each label."""
    names = list(dict.fromkeys(name for name, _ in weights)) if rows is None else rows
    row, column = ({x: i for i, x in enumerate(of)} for of in (names, classes))
    places = [row[name] for name, _ in weights], [column[label] for _, label in weights]
    shape = len(names), len(classes)
    coef = sp.csr_array((list(weights.values()), places), shape=shape, dtype=float)
    return np.array(names, dtype=object), coef


def _by_type(label: Any) -> tuple[str, str]:
    """Put labels of segments of one type together, after the others."""
    letter, dash, kind = str(label).partition("-")
    return (kind, letter) if dash else ("", letter)
