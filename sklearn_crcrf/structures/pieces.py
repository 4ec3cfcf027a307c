"""Pieces of units: linked tokens and single tokens, each as a sequence of its own."""

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from .base import Structure
from .scores import AddTo, ScoreGradient, Scores, add_with_ends, with_ends


class Pieces:
    """The pairs of linked tokens, and optionally all tokens; see :meth:`Capabilities.pieces`.

    Parameters
    ----------
    structure : Structure
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
    share : CSR of shape (n_tokens, n_copies)
        How much of the scores of a token each of its copies gets.
    """

    def __init__(self, structure: Structure, scores: Scores, with_tokens: bool, chain: Callable):
        self._whole, self._ends = scores, structure.ends
        previous, current = structure.links()
        n_tokens, n_links = structure.n_tokens, len(current)
        copies = np.bincount(np.concatenate([previous, current]), minlength=n_tokens)
        alone = np.flatnonzero(with_tokens | (copies == 0))
        copies[alone] += 1
        # Pieces are ordered by their last token, pairs before the token alone.
        last = np.concatenate([current, alone])
        order = np.argsort(last, kind="stable")
        is_pair = order < n_links
        offsets = np.append(0, np.cumsum(1 + is_pair))
        self.structure = chain(offsets)
        self.sequence = structure.units_of(last[order])
        self.tokens = np.empty(offsets[-1], dtype=np.int64)
        second, link = offsets[1:][is_pair] - 1, order[is_pair]
        self.tokens[offsets[1:] - 1] = last[order]
        self.tokens[second - 1] = previous[link]
        row = np.full(len(self.tokens), -1)
        row[second] = structure.link_rows(scores)[link]
        # Row t has the share of the scores of token t that each of its copies gets.
        share = np.repeat((1.0 / copies).astype(scores.state.dtype), copies)
        columns, starts = np.argsort(self.tokens, kind="stable"), np.append(0, np.cumsum(copies))
        self.share = sp.csr_array((share, columns, starts), shape=(n_tokens, len(share)))
        state = with_ends(scores, self._ends).astype(scores.state.dtype, copy=False)
        zeros, edges = np.zeros(len(scores.transition)), scores.token_transitions._replace(row=row)
        self.scores = Scores(self.share.T @ state, scores.transition, zeros, zeros, edges)

    def pullback(self, of_pieces: ScoreGradient, out: AddTo = None) -> ScoreGradient:
        """Return the score gradient of the units, given the score gradient of their pieces."""
        gradient = ScoreGradient.of(out, self._whole)
        add_with_ends(gradient, self.share @ of_pieces.state, self._ends)
        gradient.transition[:] += of_pieces.transition
        gradient.token_transitions[:] += of_pieces.token_transitions
        return gradient
