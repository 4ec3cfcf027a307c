"""Pieces of units: linked tokens and single tokens, each as a sequence of its own."""

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from .base import Structure
from .scores import AddTo, ScoreGradient, Scores, add_with_ends, with_ends

__all__ = ["Pieces"]


class Pieces:
    """The pairs of linked tokens, and optionally all tokens; see :meth:`Capabilities.pieces`.

    Parameters
    ----------
    structure : Structure
        With at most one link into each token.
    scores : Scores
    with_tokens : bool
    chain : callable
        Makes the structure of sequences with given offsets.

    Attributes
    ----------
    structure : Structure
        Of the pieces, each a sequence of one or two tokens.
    tokens : ndarray of shape (n_copies,), int64
        The token that each token of the pieces is a copy of.
    sequence : ndarray of shape (n_pieces,), int64
        Which unit each piece belongs to.
    scores : Scores
    """

    def __init__(self, structure: Structure, scores: Scores, with_tokens: bool, chain: Callable):
        self._whole, self._ends = scores, (structure.first_tokens(), structure.last_tokens())
        previous, current = structure.links()
        n_tokens = structure.n_tokens
        copies = np.bincount(previous, minlength=n_tokens) + np.bincount(
            current, minlength=n_tokens
        )
        alone = with_tokens | (copies == 0)
        copies += alone
        # Pieces are ordered by their last token. A pair has the number of tokens 2 there.
        lengths = np.stack([np.zeros(n_tokens, dtype=np.int64), alone], axis=1)
        lengths[current, 0] = 2
        token, kind = np.nonzero(lengths)
        offsets = np.append(0, np.cumsum(lengths[token, kind]))
        self.structure = chain(offsets)
        self.sequence = np.searchsorted(structure.offsets, token, side="right") - 1
        self.tokens = np.empty(offsets[-1], dtype=np.int64)
        self.tokens[offsets[1:] - 1] = token
        self.tokens[offsets[:-1][kind == 0]] = previous
        # Row t has the share of the scores of token t that each of its copies gets.
        share = np.repeat((1.0 / copies).astype(scores.state.dtype), copies)
        columns, starts = np.argsort(self.tokens, kind="stable"), np.append(0, np.cumsum(copies))
        self._share = sp.csr_array((share, columns, starts), shape=(n_tokens, len(share)))
        self.scores = self._cut()

    def _cut(self) -> Scores:
        scores, zeros = self._whole, np.zeros(len(self._whole.transition))
        state = with_ends(scores, self._ends).astype(scores.state.dtype, copy=False)
        edges = scores.token_transitions._replace(row=scores.token_transitions.row[self.tokens])
        return Scores(self._share.T @ state, scores.transition, zeros, zeros, edges)

    def pullback(self, of_pieces: ScoreGradient, out: AddTo = None) -> ScoreGradient:
        """The score gradient of the units, given the score gradient of their pieces."""
        gradient = ScoreGradient.of(out, self._whole)
        add_with_ends(gradient, self._share @ of_pieces.state, self._ends)
        gradient.transition[:] += of_pieces.transition
        gradient.token_transitions[:] += of_pieces.token_transitions
        return gradient
