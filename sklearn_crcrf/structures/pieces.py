"""Pieces of sequences: linked tokens and single tokens, each as a sequence of its own."""

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from .messages import ends, with_ends
from .scores import AddTo, ScoreGradient, Scores

__all__ = ["Pieces"]


class Pieces:
    """The pairs of linked tokens, and optionally all tokens; see :meth:`Capabilities.pieces`.

    Parameters
    ----------
    offsets : ndarray of shape (n_sequences + 1,), int64
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
        Which sequence each piece belongs to.
    scores : Scores
    """

    def __init__(self, offsets: np.ndarray, scores: Scores, with_tokens: bool, chain: Callable):
        first, last = ends(offsets)
        before, alone, after = np.ones((3, offsets[-1]), dtype=np.int64)
        before[first] = after[last] = 0
        alone[:] = with_tokens | (before + after == 0)
        # Pieces are ordered by their last token, so that the copies of a token lie side by side.
        lengths = np.stack([2 * before, alone], axis=1)
        token, kind = np.nonzero(lengths)
        self.structure = chain(np.append(0, np.cumsum(lengths[token, kind])))
        self.sequence = np.searchsorted(offsets, token, side="right") - 1
        copies = before + alone + after
        self.tokens = np.repeat(np.arange(len(copies)), copies)
        self._ends, self._whole = (first, last), scores
        # Row t has the share of the scores of token t that each of its copies gets.
        share = np.repeat((1.0 / copies).astype(scores.state.dtype), copies)
        columns, starts = np.arange(len(share)), np.append(0, np.cumsum(copies))
        self._share = sp.csr_array((share, columns, starts), shape=(len(copies), len(share)))
        self.scores = self._cut(offsets)

    def _cut(self, offsets: np.ndarray) -> Scores:
        scores, zeros = self._whole, np.zeros(len(self._whole.transition))
        state = with_ends(offsets, scores).astype(scores.state.dtype, copy=False)
        edges = scores.token_transitions._replace(row=scores.token_transitions.row[self.tokens])
        return Scores(self._share.T @ state, scores.transition, zeros, zeros, edges)

    def pullback(self, of_pieces: ScoreGradient, out: AddTo = None) -> ScoreGradient:
        """The score gradient of the sequences, given the score gradient of their pieces."""
        gradient = ScoreGradient.of(out, self._whole)
        first, last = self._ends
        state = self._share @ of_pieces.state
        gradient.state[:] += state
        gradient.begin[:] += state[first].sum(axis=0, dtype=float)
        gradient.end[:] += state[last].sum(axis=0, dtype=float)
        gradient.transition[:] += of_pieces.transition
        gradient.token_transitions[:] += of_pieces.token_transitions
        return gradient
