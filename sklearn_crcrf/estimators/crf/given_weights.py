"""A CRF with given weights."""

import warnings
from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from ...data.ragged import SequenceArray, object_array
from .estimator import CRF


def check_labels(labels: Sequence[str], max_bytes: int | None) -> None:
    """Raise ValueError if labels and transition weights take more than ``max_bytes``.

    Even a short text may have many labels, and every pair of labels has a weight; in an array, each
    label takes as much as the longest one.
    """
    n, longest = len(labels), max(map(len, labels), default=0)
    longest_has = f"{n} labels, of which the longest has {longest} characters,"
    taken = {f"the transitions of {n} labels": 8 * n**2, longest_has: 4 * n * longest}
    for what, n_bytes in taken.items():
        if max_bytes is not None and n_bytes > max_bytes:
            raise ValueError(
                f"{what} take {n_bytes} bytes, which is more than max_bytes={max_bytes}"
            )
    if len(set(labels)) < len(labels):
        raise ValueError("names of labels are repeated")


def crf_with_weights(
    names: Sequence[str],
    labels: Sequence[str],
    coef: sp.coo_array | sp.csr_array,
    transitions: np.ndarray,
    edges: dict[int, np.ndarray] | None = None,
) -> CRF:
    """Return a fitted CRF for sparse rows with these weights.

    It is trained for zero iterations, on a token without attributes for each label.

    Parameters
    ----------
    names : sequence of n_attributes str
    labels : sequence of n_labels str
        In the order of the columns of the weights.
    coef : COO or CSR of shape (n_attributes, n_labels)
    transitions : ndarray of shape (n_labels, n_labels), row = previous label
    edges : dict from int to ndarray of shape (n_labels, n_labels), optional
        Transition weights of attributes, by index in ``names``.

    Returns
    -------
    CRF
    """
    n, order = len(labels), np.array(sorted(range(len(labels)), key=labels.__getitem__))
    coef, edges = sp.csr_array(coef), edges or {}
    if (np.diff(order) < 0).any():
        coef = coef[:, order]
    coef.sum_duplicates()
    coef.eliminate_zeros()
    transitions = transitions[np.ix_(order, order)]
    edge_weights = [edges[k][np.ix_(order, order)] for k in sorted(edges)]
    _check_size([coef.data, transitions, *edge_weights])
    rows = SequenceArray.from_lengths(sp.csr_array(coef.shape[::-1]), np.ones(n, dtype=np.int64))
    y = object_array(sorted(labels))  # as objects, many of one long label take no memory
    crf = CRF(features="observed", edge_columns=sorted(edges), max_iter=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        crf.fit(rows, SequenceArray.from_lengths(y, rows.lengths))
    crf.set_params(max_iter=CRF().max_iter)
    crf.attribute_names_ = crf._encoder.names = np.array(names, dtype=object)
    crf.coef_, crf.transitions_ = coef, transitions
    crf.edge_coef_ = np.array(edge_weights).reshape(len(edges), n, n)
    crf.converged_ = True
    return crf


def _check_size(weights: list[np.ndarray]) -> None:
    """Raise ValueError if weights are so large that the sum of their squares overflows."""
    with np.errstate(over="ignore"):
        if np.isfinite(sum(np.square(part).sum() for part in weights)):
            return
    largest = max(np.abs(part).max(initial=0) for part in weights)
    raise ValueError(f"weights of up to {largest:g} are too large: their squares overflow")
