"""Messages of the sum over all labellings, from the leaves of trees to their roots."""

import numpy as np

from ..._kernels.chain.scores import BatchScores
from ..._kernels.tree.messages import (
    TreeRows,
    UpwardMessages,
    add_tree_counts,
    draw_labellings,
    upward_messages,
)
from ..messages import draws, potential_of
from ..rooted import Rooted
from ..scores import Scores, with_ends

__all__ = ["TreeMessages"]


class TreeMessages:
    """Sums over the labellings of the nodes below each node, in logarithms.

    Parameters
    ----------
    forest : Rooted
    rows : TreeRows
        The order in which the recursion goes through the tokens.
    scores : Scores

    Attributes
    ----------
    state : ndarray of shape (n_tokens, n_labels)
        State scores, with begin and end scores added.
    up : ndarray of shape (n_tokens, n_labels)
        Logarithms of the probabilities of labels, given the scores of the node and below it.
    increment : ndarray of shape (n_tokens,)
        What each token adds to the log-partition.
    log_z : ndarray of shape (n_units,)
        -inf where no labelling is possible, 0 for a unit without tokens.
    arrays : UpwardMessages
        Scores and messages, as one argument of kernels.
    """

    def __init__(self, forest: Rooted, rows: TreeRows, scores: Scores):
        scores = scores.tokens(slice(None))
        self.forest, self.transition = forest, scores.transition
        self.token_transitions = scores.token_transitions
        self.state = with_ends(scores, forest.ends)
        self.up = np.empty_like(self.state)
        self.increment = np.empty(len(self.state))
        self.log_z = np.empty(forest.n_units)
        self.arrays = UpwardMessages(
            BatchScores(forest.offsets, scores),
            rows,
            forest.before,
            self.state,
            *potential_of(self.transition),
            self.up,
            self.increment,
            self.log_z,
        )
        transposed = np.ascontiguousarray(self.transition.T)
        potential, _ = potential_of(transposed)
        upward_messages(self.arrays, transposed, potential)

    def add_expected(
        self, weight: np.ndarray, transition: np.ndarray, edges: np.ndarray
    ) -> np.ndarray:
        """Add expected counts of all transitions, times the weight of each unit.

        Parameters
        ----------
        weight : ndarray of shape (n_units,)
        transition : ndarray of shape (n_labels, n_labels)
        edges : ndarray of shape (n_entries,)
            Of the token transitions.

        Returns
        -------
        ndarray of shape (n_tokens, n_labels)
            Marginals of the tokens, times the weight.
        """
        marginals = np.empty_like(self.up)
        weight = np.asarray(weight, dtype=float)
        add_tree_counts(self.arrays, weight, marginals, transition, edges)
        return marginals

    def sample(
        self, n_samples: int, rng: np.random.Generator | np.random.RandomState
    ) -> np.ndarray:
        """Draw labellings of all trees; see :meth:`Capabilities.sample`."""
        uniform, y = draws(self.log_z, "labelling of unit", len(self.state), n_samples, rng)
        draw_labellings(self.arrays, uniform, y)
        return y
