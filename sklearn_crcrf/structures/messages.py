"""Messages of the sum over all paths, from both ends of each sequence."""

from functools import cached_property

import numpy as np

from .._kernels.chain.messages import ForwardMessages, backward_messages, forward_messages
from .._kernels.chain.pairs import add_expected_pairs
from .._kernels.chain.scores import BatchScores
from .._kernels.tree.messages import draw_paths
from .scores import Scores, ends, with_ends

__all__ = ["Messages", "draws", "potential_of"]


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
    arrays : ForwardMessages
        Scores and forward messages, as one argument of kernels.
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
        self.arrays = ForwardMessages(
            BatchScores(offsets, scores),
            self.state,
            *potential_of(self.transition),
            self.forward,
            self.increment,
            self.log_z,
        )
        forward_messages(self.arrays)

    @cached_property
    def backward(self) -> np.ndarray:
        """Messages such that exp(forward + backward) are the marginals; (n_tokens, n_labels)."""
        backward = np.empty_like(self.state)
        transposed = np.ascontiguousarray(self.transition.T)
        potential, _ = potential_of(transposed)
        backward_messages(self.arrays, transposed, potential, backward)
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
        add_expected_pairs(self.arrays, self.backward, weight, transition, edges)
        return np.repeat(weight, np.diff(self.offsets))[:, None] * self._marginals()

    def _marginals(self) -> np.ndarray:
        """The marginals of all tokens; zero where no path is possible."""
        logarithms = self.forward + self.backward
        highest = logarithms.max(axis=1, keepdims=True)
        marginals = np.exp(logarithms - np.where(np.isneginf(highest), 0.0, highest))
        # Where scores are huge, rounding errors of the logarithms exceed one.
        return marginals / np.maximum(marginals.sum(axis=1, keepdims=True), 1.0)

    def sample(
        self, n_samples: int, rng: np.random.Generator | np.random.RandomState
    ) -> np.ndarray:
        """Draw paths of all sequences; see :meth:`Capabilities.sample`."""
        uniform, y = draws(self.log_z, "path of sequence", len(self.state), n_samples, rng)
        draw_paths(self.arrays, np.ascontiguousarray(self.transition.T), uniform, y)
        return y


def potential_of(transition: np.ndarray) -> tuple[np.ndarray, float]:
    """exp(transition - top), and top, the maximum of the finite transition scores."""
    top = transition.max()
    top = top if np.isfinite(top) else 0.0
    return np.exp(transition - top), top


def draws(
    log_z: np.ndarray,
    noun: str,
    n_tokens: int,
    n_samples: int,
    rng: np.random.Generator | np.random.RandomState,
) -> tuple[np.ndarray, np.ndarray]:
    """Numbers in [0, 1) by which labels are drawn, and the array of labels to fill.

    Raises
    ------
    ValueError
        If all labels of a unit are impossible; the message has its noun and number.
    """
    impossible = np.flatnonzero(np.isneginf(log_z))
    if len(impossible):
        raise ValueError(f"no {noun} {impossible[0]} is possible")
    shape = n_samples, n_tokens
    return rng.random(shape), np.empty(shape, dtype=np.int32)
