"""Messages of the sum over all paths, from both ends of each sequence."""

from functools import cached_property

import numpy as np

from .._kernels._messages import add_expected_pairs, backward_messages, forward_messages
from .ends import ends, with_ends
from .scores import Scores

__all__ = ["Messages", "transition_potentials"]


class Messages:
    """Forward messages, from the scores up to a token, and backward messages, from later scores.

    Parameters
    ----------
    offsets : ndarray of shape (n_sequences + 1,), int64
    scores : Scores

    Attributes
    ----------
    state : ndarray of shape (n_tokens, n_labels)
        State scores, with begin and end scores added.
    forward : ndarray of shape (n_tokens, n_labels)
        Logarithms of the probabilities of labels, given the scores up to the token.
    increment : ndarray of shape (n_tokens,)
        What each token adds to the log-partition.
    log_z : ndarray of shape (n_sequences,)
        -inf where no path is possible, 0 for an empty sequence.
    """

    def __init__(self, offsets: np.ndarray, scores: Scores):
        scores = scores.tokens(slice(None))
        self.offsets, self.transition, self.token_transitions = (
            offsets,
            scores.transition,
            scores.token_transitions,
        )
        self.state = with_ends(scores, ends(offsets))
        self.forward = np.empty_like(self.state)
        self.increment = np.empty(len(self.state))
        self.log_z = np.empty(len(offsets) - 1)
        forward_messages(*self.scores, self.forward, self.increment, self.log_z)

    @cached_property
    def scores(self) -> tuple:
        """The first arguments of kernels: offsets, scores and potentials."""
        return (
            self.offsets,
            self.state,
            *transition_potentials(self.transition),
            *self.token_transitions,
        )

    @cached_property
    def backward(self) -> np.ndarray:
        """Messages such that exp(forward + backward) are the marginals; (n_tokens, n_labels)."""
        backward = np.empty_like(self.state)
        transposed = transition_potentials(np.ascontiguousarray(self.transition.T))
        backward_messages(
            self.offsets, self.state, *transposed, *self.token_transitions, self.forward, backward
        )
        return backward

    def add_expected(
        self, weight: np.ndarray, transition: np.ndarray, edges: np.ndarray
    ) -> np.ndarray:
        """Add expected counts of all transitions, times the weight of each sequence.

        Parameters
        ----------
        weight : ndarray of shape (n_sequences,)
        transition : ndarray of shape (n_labels, n_labels)
        edges : ndarray of shape (n_entries,)
            Of the token transitions.

        Returns
        -------
        ndarray of shape (n_tokens, n_labels)
            Marginals of the tokens, times the weight.
        """
        sums = self.forward, self.backward, self.increment, self.log_z
        add_expected_pairs(*self.scores, *sums, weight, transition, edges)
        return np.repeat(weight, np.diff(self.offsets))[:, None] * self._marginals()

    def _marginals(self) -> np.ndarray:
        """The marginals of all tokens; zero where no path is possible."""
        logarithms = self.forward + self.backward
        highest = logarithms.max(axis=1, keepdims=True)
        marginals = np.exp(logarithms - np.where(np.isneginf(highest), 0.0, highest))
        # Where scores are huge, rounding errors of the logarithms exceed one.
        return marginals / np.maximum(marginals.sum(axis=1, keepdims=True), 1.0)


def transition_potentials(transition: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Transition scores, exp(transition - top), and top."""
    top = transition.max()
    top = top if np.isfinite(top) else 0.0
    return transition, np.exp(transition - top), top
