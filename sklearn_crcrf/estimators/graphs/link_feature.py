"""The term of transitions that depend on attributes of links."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from ...linear import TransitionTables, different_rows

__all__ = ["LinkFeature"]


class LinkFeature(TransitionTables):
    """A weight for each attribute of links and each pair of labels, or each group of tied pairs.

    The attributes are the ``link_attributes`` of the structure.

    Parameters
    ----------
    n_attributes : int
    weight_of : ndarray of int of shape (n_labels, n_labels)
        The number of the weight of each pair of labels, as in
        :class:`~sklearn_crcrf.linear.terms.Term`.
    """

    def __init__(self, n_attributes: int, weight_of: np.ndarray):
        super().__init__(n_attributes, len(weight_of), weight_of)

    def _different_rows(self, chunk: Any) -> tuple[np.ndarray, sp.csr_array]:
        return different_rows(chunk.structure.link_attributes)
