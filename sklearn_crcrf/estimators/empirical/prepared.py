"""Encoded tokens and links, as the models look them up."""

from typing import Any, NamedTuple

import numpy as np

from ...base.batches import Batch
from ...counts.prepared_links import PreparedLinks

__all__ = ["Prepared"]


class Prepared(NamedTuple):
    """The attributes of tokens and links, from which scores are computed.

    Parameters
    ----------
    rows : int32 ndarray of shape (n_tokens, n_slots)
        Rows of the state weights.
    kind : int8 ndarray of shape (n_tokens,)
    links : PreparedLinks
    attributes : CSR of shape (n_tokens, n_attributes) or None
    segments : int32 ndarray of shape (n_tokens, n_segment_slots) or None
        Rows of what was counted of the runs that end at each token.
    has_triangles : bool
        Whether triangles of the structure have scores.
    """

    rows: np.ndarray
    kind: np.ndarray
    links: PreparedLinks
    attributes: Any = None
    segments: Any = None
    has_triangles: bool = False

    def take(self, batch: Batch) -> "Prepared":
        """The tokens and links of a batch."""
        tokens = slice(batch.start, batch.stop)
        links = self.links.take(batch)
        attributes, segments = (
            None if part is None else part[tokens] for part in (self.attributes, self.segments)
        )
        of_tokens = self.rows[tokens], self.kind[tokens]
        return Prepared(*of_tokens, links, attributes, segments, self.has_triangles)
