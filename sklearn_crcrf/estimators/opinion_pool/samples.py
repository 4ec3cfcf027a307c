"""A subset of the sequences passed to ``fit``, in their original containers."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import _safe_indexing

from ...data.layout import Sequences


class Samples(NamedTuple):
    """The data passed to ``fit``.

    Parameters
    ----------
    X, y, sample_weight : as in ``fit``
    """

    X: Any
    y: Any
    sample_weight: Any

    def take(self, sequences: Sequences, chosen: np.ndarray) -> "Samples":
        """Return some of the sequences, in the same containers.

        Parameters
        ----------
        sequences : Sequences
            The result of ``as_sequences`` for X.
        chosen : bool ndarray of shape (n_sequences,)
        """
        if sequences.mirror.is_table:  # every token is a row
            chosen = sequences.mirror(np.repeat(chosen, sequences.X.lengths))
        return Samples(*(_take(part, np.flatnonzero(chosen)) for part in self))


def _take(part: Any, which: np.ndarray) -> Any:
    if part is None or np.isscalar(part):
        return part
    if sp.issparse(part):
        part = part.tocsr()
    return _safe_indexing(part if hasattr(part, "__getitem__") else np.asarray(part), which)
