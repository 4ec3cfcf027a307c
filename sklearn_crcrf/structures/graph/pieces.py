"""Pieces of graphs: linked tokens and single tokens, each as a chain of its own."""

import numpy as np
import scipy.sparse as sp

from ..chain.chain import Chain
from ..inference.linked import Linked
from ..pieces import Pieces
from ..scores import Scores

__all__ = ["LinkPieces"]


class LinkPieces(Pieces):
    """The pairs of linked tokens, and optionally all tokens; see :meth:`Capabilities.pieces`.

    Parameters
    ----------
    graph : Linked
    scores : Scores
    with_tokens : bool

    Attributes
    ----------
    structure : Chain
        Of the pieces: the links in their order, then single tokens.
    tokens : ndarray of shape (n_copies,), int64
        The token that each token of the pieces is a copy of.
    sequence : ndarray of shape (n_pieces,), int64
        Which unit each piece belongs to.
    scores : Scores
    """

    def __init__(self, graph: Linked, scores: Scores, with_tokens: bool):
        self._ends, self._whole = (graph.first_tokens(), graph.last_tokens()), scores
        links = np.stack(graph.links(), axis=1)
        is_piece = np.ones(graph.n_tokens, dtype=bool)
        is_piece[links] = with_tokens
        alone = np.flatnonzero(is_piece)
        self.tokens = np.concatenate([links.reshape(-1), alone])
        lengths = np.repeat([2, 1], [len(links), len(alone)])
        self.structure = Chain(np.append(0, np.cumsum(lengths)))
        first = self.tokens[self.structure.offsets[:-1]]
        self.sequence = np.searchsorted(graph.offsets, first, side="right") - 1
        share = 1.0 / np.bincount(self.tokens, minlength=graph.n_tokens)
        # Row t has the share of the scores of token t that each of its copies gets.
        dtype, shape = scores.state.dtype, (graph.n_tokens, len(self.tokens))
        places = self.tokens, np.arange(len(self.tokens))
        self._share = sp.csr_array((share[self.tokens].astype(dtype), places), shape=shape)
        row = np.full(len(self.tokens), -1)
        row[1 : 2 * len(links) : 2] = graph.rows(scores)
        zeros, state = np.zeros(len(scores.transition)), graph.with_ends(scores)
        self.scores = Scores(
            self._share.T @ state.astype(dtype, copy=False),
            scores.transition,
            zeros,
            zeros,
            scores.token_transitions._replace(row=row),
        )
