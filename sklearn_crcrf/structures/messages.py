"""Messages of the sum over all labellings, from the leaves of trees to their roots."""

from typing import NamedTuple

import numpy as np

from .._kernels.chain.scores import BatchScores
from .._kernels.tree.messages import (
    TreeRows,
    UpwardMessages,
    add_counts_of_others,
    add_tree_counts,
    add_tree_covariances,
    average_subtrees,
    draw_labellings,
    level_order,
    sum_other_labellings,
    upward_messages,
)
from .scores import AddTo, Ends, Pullback, ScoreGradient, Scores, add_with_ends, with_ends


class Messages:
    """Sums over the labellings of the nodes below each node, in logarithms.

    A chain is a tree, whose root is the first token.

    Parameters
    ----------
    offsets : ndarray of shape (n_units + 1,), int64
    before : ndarray of shape (n_tokens,), int64
        The parent of each token, -1 for a root.
    ends : Ends
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

    def __init__(
        self, offsets: np.ndarray, before: np.ndarray, ends: Ends, rows: TreeRows, scores: Scores
    ):
        self._given, scores = scores, scores.tokens(slice(None))
        self.ends, self.transition = ends, scores.transition
        self.token_transitions = scores.token_transitions
        self.state = with_ends(scores, ends)
        self.up = np.empty_like(self.state)
        self.increment = np.empty(len(self.state))
        self.log_z = np.empty(len(offsets) - 1)
        self.arrays = UpwardMessages(
            BatchScores(offsets, scores),
            rows,
            before,
            self.state,
            *_potential_of(self.transition),
            self.up,
            self.increment,
            self.log_z,
        )
        transposed = np.ascontiguousarray(self.transition.T)
        potential, _ = _potential_of(transposed)
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

    def covariance(
        self, state: np.ndarray, transition: np.ndarray, edges: np.ndarray
    ) -> tuple[np.ndarray, Pullback]:
        """Means of a linear function of labellings; see :meth:`Capabilities.covariance`.

        Parameters
        ----------
        state : ndarray of shape (n_tokens, n_labels)
            The direction for state scores, with its begin and end added.
        transition : ndarray of shape (n_labels, n_labels)
        edges : ndarray of shape (n_entries,)
            The direction for token transitions.
        """
        state, transition, edges = (
            np.ascontiguousarray(part, dtype=float) for part in (state, transition, edges)
        )
        subtrees, mean = np.empty_like(self.up), np.empty(len(self.log_z))
        average_subtrees(self.arrays, state, transition, edges, subtrees, mean)

        def pullback(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
            gradient, weight = ScoreGradient.of(out, self._given), np.asarray(weight, dtype=float)
            covariances = np.empty_like(subtrees)
            others = gradient.transition, gradient.token_transitions
            add_tree_covariances(
                self.arrays, transition, edges, subtrees, weight, covariances, *others
            )
            add_with_ends(gradient, covariances, self.ends)
            return gradient

        return mean, pullback

    def excluding(self, y: np.ndarray) -> tuple[np.ndarray, Pullback]:
        """Sums over all labellings but y; see :meth:`Capabilities.log_partition_excluding`."""
        y = np.ascontiguousarray(y, dtype=np.int32)
        terms, value = np.empty(len(y) + 1), np.empty(len(self.log_z))
        sum_other_labellings(self.arrays, y, terms, value)

        def pullback(weight: np.ndarray, out: AddTo = None) -> ScoreGradient:
            gradient, weight = ScoreGradient.of(out, self._given), np.asarray(weight, dtype=float)
            states = np.empty_like(self.up)
            others = gradient.transition, gradient.token_transitions
            add_counts_of_others(self.arrays, y, terms, value, weight, states, *others)
            add_with_ends(gradient, states, self.ends)
            return gradient

        return value, pullback

    def sample(
        self, n_samples: int, rng: np.random.Generator | np.random.RandomState, noun: str
    ) -> np.ndarray:
        """Draw labellings of all units; see :meth:`Capabilities.sample`.

        Errors have the noun for what a unit has, such as "path of sequence".
        """
        impossible = np.flatnonzero(np.isneginf(self.log_z))
        if len(impossible):
            raise ValueError(f"no {noun} {impossible[0]} is possible")
        shape = n_samples, len(self.state)
        uniform, y = rng.random(shape), np.empty(shape, dtype=np.int32)
        draw_labellings(self.arrays, uniform, y)
        return y


class TreeOrder(NamedTuple):
    """Nodes in rows, level by level from the roots down, in blocks of trees of similar depth.

    The children of a node have consecutive rows.

    Parameters
    ----------
    level_start : ndarray of shape (n_levels + 1,), int64
        Where the rows of each level of each block begin.
    block_level : ndarray of shape (n_blocks + 1,), int64
        The first level of each block.
    token, unit : ndarray of shape (n_tokens,), int64
        The token and the unit of each row.
    parent_row, first_child, n_children : ndarray of shape (n_tokens,), int64
        The rows of the parent, -1 for a root, and of the first child, and the number of children.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.structures.messages import TreeOrder
    >>> order = TreeOrder.of(np.array([0, 4]), np.array([1, -1, 1, 2]))
    >>> order.token, order.level_start
    (array([1, 0, 2, 3]), array([0, 1, 3, 4]))
    """

    level_start: np.ndarray
    block_level: np.ndarray
    token: np.ndarray
    unit: np.ndarray
    parent_row: np.ndarray
    first_child: np.ndarray
    n_children: np.ndarray

    @classmethod
    def of(cls, offsets: np.ndarray, parent: np.ndarray) -> "TreeOrder":
        """Return the order of the nodes of trees.

        Parameters
        ----------
        offsets : ndarray of shape (n_units + 1,), int64
        parent : ndarray of shape (n_tokens,), int64
            Of the same unit; -1 for a root.

        Returns
        -------
        TreeOrder

        Raises
        ------
        ValueError
            If parents make a cycle.
        """
        rows = np.empty((5, len(parent)), dtype=np.int64)
        level_start, block_level, cycle = level_order(offsets, parent, *rows)
        if cycle >= 0:
            raise ValueError(f"the parents of unit {cycle} make a cycle")
        return cls(level_start, block_level, *rows)


def rows_of_chains(offsets: np.ndarray, before: np.ndarray) -> TreeRows:
    """Return the tokens of chains in their own order, in which messages are fastest."""
    every = np.arange(len(before) + 1)
    n_children = np.bincount(before[before >= 0], minlength=len(before))
    unit = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    whole = np.array([0, len(before)])
    return TreeRows(every, whole, every[:-1], unit, before, every[1:], n_children)


def _potential_of(transition: np.ndarray) -> tuple[np.ndarray, float]:
    """exp(transition - top), and top, the maximum of the finite transition scores."""
    top = transition.max()
    top = top if np.isfinite(top) else 0.0
    return np.exp(transition - top), top
