"""Weights of our estimators as models of CRFsuite, and back."""

from typing import Any

import scipy.sparse as sp

from ...data.vocabulary import Vocabulary
from ...feature_extraction import SequenceVectorizer
from ...serving.crfsuite.binary_model import CRFsuiteModel
from ..crf.estimator import CRF
from ..crf.given_weights import check_labels, crf_with_weights


def from_crfsuite_model(
    model: CRFsuiteModel, separator: str, max_bytes: int | None
) -> tuple[CRF, SequenceVectorizer]:
    """Return a fitted CRF with the weights of a model, and the vectorizer of its tokens.

    Parameters
    ----------
    model : CRFsuiteModel
    separator : str
        Stands between the keys and the values of a feature dict.
    max_bytes : int or None
        Maximum number of bytes of the transition weights.

    Raises
    ------
    ValueError
        If there are too many labels, or weights are too large.
    """
    check_labels(model.labels, max_bytes)
    names, n = model.attributes, len(model.labels)
    states = sp.coo_array(model.states, shape=(len(names), n))
    transitions = sp.coo_array(model.transitions, shape=(n, n)).toarray()
    crf = crf_with_weights(names, model.labels, states, transitions)
    vectorizer = SequenceVectorizer(separator=separator)
    vectorizer.vocabulary_ = Vocabulary(names)
    return crf, vectorizer


def as_crfsuite_model(estimator: Any) -> CRFsuiteModel:
    """Return the weights of a fitted chain classifier as a model of CRFsuite.

    Parameters
    ----------
    estimator : CRF or another classifier with the weights of attributes and of transitions

    Raises
    ------
    ValueError
        If labels or attributes are not strings, or there are weights that a model of CRFsuite
        cannot hold: of first and last labels, or of transitions that depend on attributes; or if
        there are constraints.
    """
    cannot = "a model of CRFsuite cannot hold "
    if len(estimator.edge_coef_):
        raise ValueError(f"{cannot}transitions that depend on attributes (edge_columns)")
    check_weights(estimator, cannot)
    labels, names = estimator.classes_.tolist(), list(estimator.attribute_names_)
    _check_strings(names, f"{cannot}attributes")
    states, transitions = map(sp.coo_array, (estimator.coef_, estimator.transitions_))
    return CRFsuiteModel(
        labels, names, (states.data, states.coords), (transitions.data, transitions.coords)
    )


def check_weights(estimator: Any, cannot: str) -> None:
    """Raise ValueError, which begins with ``cannot``, for what models of other programs lack."""
    if estimator.begin_.any() or estimator.end_.any():
        raise ValueError(f"{cannot}weights of first and last labels (boundaries=True)")
    if getattr(estimator, "constraints", None) is not None:
        raise ValueError(f"{cannot}constraints")
    _check_strings(estimator.classes_.tolist(), f"{cannot}labels")


def _check_strings(values: list, what: str) -> None:
    other = next((value for value in values if not isinstance(value, str)), None)
    if other is not None:
        raise ValueError(f"{what} that are not strings, such as {other!r}")
