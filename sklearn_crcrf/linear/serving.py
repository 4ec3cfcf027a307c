"""Taggers of classifiers with linear scores."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data.csr import csr_arrays
from ..labels.constraints.constraints import forbidden_scores
from ..serving import Tagger
from ..serving.linear import linear_content

__all__ = ["linear_tagger_of"]


def linear_tagger_of(
    classifier: Any,
    names: Sequence[str],
    dtype: np.dtype,
    *,
    separator: str = "=",
    lists: bool = False,
    columns: Mapping[str, list] | None = None,
) -> Tagger:
    """A tagger of a fitted classifier.

    Parameters
    ----------
    classifier : LinearChainClassifier
    names : sequence of n_columns str
        The attributes of tokens, in the order of the columns of X; of token strings and feature
        dicts the classifier knows them itself.
    dtype : dtype
        Type of the attributes, single or double precision.
    separator : str
        Stands between a key of a feature dict and a string.
    lists : bool
        Whether a token may be a list of attributes.
    columns : mapping, optional
        As in :func:`~sklearn_crcrf.serving.linear.linear_content`.

    Raises
    ------
    ValueError
        If transitions depend on attributes.
    """
    encoder, n_labels = classifier._encoder, len(classifier.classes_)
    if len(encoder.edge_attributes):
        raise ValueError("there is no tagger of a model whose transitions depend on attributes")
    row = None
    if encoder.columns is not None and not np.array_equal(encoder.columns, np.arange(len(names))):
        row = np.full(len(names), -1, dtype=np.int32)
        row[encoder.columns] = np.arange(len(encoder.columns))
    coef = classifier.coef_.astype(dtype)
    weights = classifier.transitions_, classifier.begin_, classifier.end_
    forbidden = forbidden_scores(classifier._constraints, n_labels)
    content = linear_content(
        names,
        row,
        csr_arrays(sp.csr_array(coef)) if sp.issparse(coef) else [coef],
        [w + f for w, f in zip(weights, forbidden, strict=True)],
        classifier.classes_.tolist(),
        separator=separator,
        lists=lists,
        decoding=classifier._decoding(),
        columns=columns,
    )
    return Tagger(content)
