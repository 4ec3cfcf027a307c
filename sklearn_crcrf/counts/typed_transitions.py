"""Log-probabilities of labels, given the label before and the type of the link between them."""

from collections.abc import Sequence

import numpy as np

from ..base.contributions import Contributions, transition_names
from ..structures import Scores, Structure, TokenTransitions
from .prepared_links import PreparedLinks

__all__ = ["given_types", "link_contributions", "with_types"]

# The distribution for all types of links counts as much as this number of links of a type.
STRENGTH = 10.0


def given_types(pairs: np.ndarray, transitions: np.ndarray) -> np.ndarray:
    """log p(y_t | y_{t-1}, type).

    The labels after label i by links of a type have the distribution
    (c(i, j) + k q(j | i)) / (c(i) + k), where q is their distribution for all types, times the
    probability for all types that label i is followed by a label, and not by the end.

    Parameters
    ----------
    pairs : ndarray of shape (n_types, n_labels, n_labels)
        How often two labels are linked by each type, row = previous label.
    transitions : ndarray of shape (n_labels, n_labels)
        log p(y_t | y_{t-1}).

    Returns
    -------
    ndarray of shape (n_types, n_labels, n_labels)

    Examples
    --------
    >>> import numpy as np
    >>> pairs = np.array([[[0.0, 10.0], [0.0, 0.0]]])
    >>> np.exp(given_types(pairs, np.log([[0.5, 0.5], [0.2, 0.2]])))
    array([[[0.25, 0.75],
            [0.2 , 0.2 ]]])
    """
    following = np.exp(transitions)
    has_next = following.sum(axis=1, keepdims=True)
    prior = following / np.where(has_next > 0, has_next, 1.0)
    total = pairs.sum(axis=2, keepdims=True)
    with np.errstate(divide="ignore"):
        return np.log(has_next * (pairs + STRENGTH * prior) / (total + STRENGTH))


def with_types(scores: Scores, tables: np.ndarray, links: PreparedLinks) -> Scores:
    """The scores with a table of transitions for each type, if there are any.

    Parameters
    ----------
    scores : Scores
        Its transitions are for links of unknown types.
    tables : ndarray of shape (n_types, n_labels, n_labels)
    links : PreparedLinks

    Returns
    -------
    Scores
    """
    if len(tables) == 0:
        return scores
    tables = np.concatenate([tables, scores.transition[None]])
    n_rows, n, _ = tables.shape
    row = np.where(links.is_link, np.where(links.types < 0, n_rows - 1, links.types), -1)
    labels = np.arange(n, dtype=np.int32)
    transitions = TokenTransitions(
        row.astype(np.int64),
        np.arange(n_rows + 1, dtype=np.int64) * n * n,
        np.tile(labels, n_rows * n),
        np.tile(np.repeat(labels, n), n_rows),
        tables.transpose(0, 2, 1).ravel(),
    )
    return scores._replace(transition=tables.min(axis=0), token_transitions=transitions)


def link_contributions(
    scores: Scores,
    types: np.ndarray,
    names: Sequence[str],
    y: np.ndarray,
    classes: np.ndarray,
    structure: Structure,
) -> Contributions:
    """The transition scores that a labelling of one unit uses, named by labels and types.

    Parameters
    ----------
    scores : Scores
    types : ndarray of shape (n_rows,)
        By row of transitions, below 0 for unknown types.
    names : sequence of n_types str
    y : ndarray of shape (n_tokens,)
    classes : ndarray of shape (n_labels,)
    structure : Structure

    Returns
    -------
    Contributions
    """
    (previous, current), rows = structure.links(), structure.rows_of_links()
    pairs = zip(transition_names(y[previous], y[current], classes), types[rows], strict=True)
    named = [pair if kind < 0 else f"{pair} | edge={names[kind]}" for pair, kind in pairs]
    weight = scores.of_transitions(rows, y[previous], y[current])
    return Contributions.of("transition", current, named, weight)
