"""Max-marginals: the score of the best labelling with each label of each token."""

from typing import NamedTuple

import numpy as np

from .linked_tokens import LinkedTokens


class MaxMarginals(NamedTuple):
    """The scores of the best labellings with each label, and with each pair of labels.

    Parameters
    ----------
    label : ndarray of shape (n_tokens, n_labels)
        -inf where no labelling is possible.
    before, after : ndarray of shape (n_links, n_labels)
        Their sum, for a pair of labels, is the score of the best labelling with the pair, less
        the score of the transition.
    """

    label: np.ndarray
    before: np.ndarray
    after: np.ndarray

    def pair(self, link: int, transition: np.ndarray) -> np.ndarray:
        """Return the max-marginals of pairs of labels of a link with these transition scores."""
        return self.before[link][:, None] + transition + self.after[link]

    def rounding_error(self) -> float:
        """Return how much a max-marginal may differ from the score of its labelling."""
        return 1e-9 * float(np.abs(self.label[self.label > -np.inf]).max(initial=0.0))


class _Step(NamedTuple):
    """A link, and which of its tokens is nearer to the root."""

    link: int
    upper: int
    lower: int
    is_forward: bool

    def transition(self, tokens: LinkedTokens) -> np.ndarray:
        """Return the transition scores, row = label of the upper token."""
        transition = tokens.transition(self.link)
        return transition if self.is_forward else transition.T


class LinkedTrees(NamedTuple):
    """Trees that the links of a unit form; the direction of a link does not matter.

    Parameters
    ----------
    roots : list of int
        One token of each tree.
    steps : list
        The links, by their distance from the root.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.structures import Chain, Scores
    >>> from sklearn_crcrf.structures.programs.linked_tokens import LinkedUnits
    >>> scores = Scores.of(np.array([[1.0, 0.0], [0.0, 0.5]]), np.eye(2))
    >>> tokens = LinkedUnits(Chain(np.array([0, 2])), scores).take(0)
    >>> LinkedTrees.of(tokens).max_marginals(tokens).label
    array([[2. , 1.5],
           [2. , 1.5]])
    """

    roots: list[int]
    steps: list[_Step]

    @classmethod
    def of(cls, tokens: LinkedTokens) -> "LinkedTrees | None":
        """Return the trees of a unit, or None if its links form a cycle."""
        joined: list[list[_Step]] = [[] for _ in tokens.state]
        ends = zip(tokens.previous.tolist(), tokens.current.tolist(), strict=True)
        for link, (previous, current) in enumerate(ends):
            joined[previous].append(_Step(link, previous, current, True))
            joined[current].append(_Step(link, current, previous, False))
        trees, is_reached = cls([], []), [False] * len(joined)
        for root in range(len(joined)):
            if is_reached[root]:
                continue
            trees.roots.append(root)
            is_reached[root] = True
            reached = [root]
            for upper in reached:  # to which this loop adds
                for step in joined[upper]:
                    if not is_reached[step.lower]:
                        is_reached[step.lower] = True
                        reached.append(step.lower)
                        trees.steps.append(step)
        return trees if len(trees.steps) == len(tokens.previous) else None

    def max_marginals(self, tokens: LinkedTokens) -> MaxMarginals:
        """Return the max-marginals of all labels and pairs of labels.

        With u_t(i) the score of the best labels of token t and all tokens below it, given label i
        of token t, and r_t(i) the score of the best labels of all other tokens,

            u_p(i) = s_p(i) + sum_c m_c(i),        m_c(i) = max_j s_pc(i, j) + u_c(j),
            r_c(j) = max_i o_c(i) + s_pc(i, j),    o_c(i) = r_p(i) + u_p(i) - m_c(i)

        for all tokens c right below p. Then u_t(i) + r_t(i) is the max-marginal of a label, and
        o_c(i) + s_pc(i, j) + u_c(j) the max-marginal of a pair of labels.

        Parameters
        ----------
        tokens : LinkedTokens
            With the same links.

        Returns
        -------
        MaxMarginals
        """
        up, rest = tokens.state.copy(), np.zeros_like(tokens.state)
        message, outside, inside = np.empty((3, len(self.steps), up.shape[1]))
        for step in reversed(self.steps):
            inside[step.link] = up[step.lower]
            message[step.link] = (step.transition(tokens) + up[step.lower]).max(axis=1)
            up[step.upper] += message[step.link]
        best = up[self.roots].max(axis=1)
        rest[self.roots] = _difference(best.sum(), best)[:, None]
        for step in self.steps:
            others = _difference(up[step.upper], message[step.link])
            outside[step.link] = rest[step.upper] + others
            reached = outside[step.link][:, None] + step.transition(tokens)
            rest[step.lower] = reached.max(axis=0)
        is_forward = np.zeros((len(self.steps), 1), dtype=bool)
        is_forward[[step.link for step in self.steps if step.is_forward]] = True
        before, after = np.where(is_forward, [outside, inside], [inside, outside])
        return MaxMarginals(up + rest, before, after)


def _difference(total: np.ndarray, part: np.ndarray) -> np.ndarray:
    """Return the total less the part; -inf if the part is, as no labelling is possible then."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isneginf(part), -np.inf, total - part)
