"""Best labellings by minimum cuts."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from ..scores import Scores
from .base import Inference
from .linked import Linked, LinkTables

# The largest capacity; flows are 32-bit integers, as are sums of two capacities.
LARGEST = 2**30 - 1
# Differences of scores, relative to the largest, that are as good as zero.
ROUNDING = 1e-10


@dataclass(eq=False)
class Cut(Inference):
    """Best labellings by minimum cuts [1]_, for links that make their ends alike.

    With two labels one cut finds a best labelling. With more, each *expansion* [2]_ lets any tokens
    change to one label at once, by a cut that finds the best such change, until no expansion of any
    label raises the score. The labelling is then better than all that an expansion leads to, but
    need not be the best. It has no log-partition.

    Capacities are rounded to integers: the best labelling of a unit, or the best change, may score
    higher than what is found by ``(n_tokens + n_links) * c / 2 ** 30``, if c is the largest
    capacity. That is at most twice the sum of the absolute scores of all links of a token.

    Parameters
    ----------
    max_iter : int, default=100
        The largest number of rounds of expansions, one for each label.

    Raises
    ------
    ValueError
        If links are not associative: ``s(a, b) + s(c, c) < s(a, c) + s(c, b)`` for the transition
        scores s of some labels a, b and c; or transition scores are not finite.

    References
    ----------
    .. [1] Greig, Porteous, Seheult, "Exact Maximum A Posteriori Estimation for Binary Images",
       J. Royal Statistical Society B 51 (2), 1989.
    .. [2] Boykov, Veksler, Zabih, "Fast Approximate Energy Minimization via Graph Cuts", IEEE
       Trans. Pattern Analysis and Machine Intelligence 23 (11), 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.structures import Graph, Scores
    >>> ring = Graph(np.array([0, 3]), np.array([[0, 1], [1, 2], [0, 2]]), "cut")
    >>> ring.maximum(Scores.of(np.array([[1.0, 0.0], [0.0, 0.8], [0.0, 0.1]]), np.eye(2)))
    (array([4.]), array([0, 0, 0], dtype=int32))
    """

    name = "cut"

    max_iter: int = 100

    def maximum(self, graph: Linked, scores: Scores) -> tuple[np.ndarray, np.ndarray]:
        tables = LinkTables(scores, graph.link_rows(scores))
        _check_associative(graph, tables)
        state = graph.with_ends(scores)
        n_labels = state.shape[1]
        y, n_steps = state.argmax(axis=1), self.max_iter * n_labels
        if n_labels == 2:
            # From labels 0 everywhere, any labelling is an expansion of label 1.
            y, n_steps = np.where(state[:, 0] > -np.inf, 0, y), 1
        expansions = _Expansions(graph, tables, state)
        value, _ = graph.score(scores, y)
        n_failed = np.zeros(graph.n_units, dtype=np.int64)
        for step in range(n_steps):
            is_open = (n_failed < n_labels) & (value > -np.inf)
            if not is_open.any():
                break
            changed = expansions.expand(y, (step + 1) % n_labels, is_open)
            new, _ = graph.score(scores, changed)
            is_better = new > value
            value = np.where(is_better, new, value)
            y = np.where(np.repeat(is_better, np.diff(graph.offsets)), changed, y)
            n_failed = np.where(is_better, 0, n_failed + 1)
        return value, y.astype(np.int32)


def _check_associative(graph: Linked, tables: LinkTables) -> None:
    """Raise ValueError for the first link on which an expansion is not a minimum cut."""
    used, of_link = np.unique(tables.of_link, return_inverse=True)
    t = tables.tables[used]
    if not np.isfinite(t).all():
        raise ValueError('inference="cut" needs transition scores that are finite')
    tolerance = ROUNDING * np.abs(t).max(axis=(1, 2), keepdims=True)
    for c in range(t.shape[1]):
        excess = t[:, :, c, None] + t[:, None, c, :] - t - t[:, c, c, None, None]
        is_wrong = excess > tolerance
        links = np.flatnonzero(is_wrong.any(axis=(1, 2))[of_link])
        if len(links):
            a, b = np.argwhere(is_wrong[of_link[links[0]]])[0]
            unit = graph.units_of(graph.links()[0][links[:1]])[0]
            raise ValueError(
                f'unit {unit}, link {links[0]}: inference="cut" needs associative links, but the '
                f"pairs of labels ({a}, {b}) and ({c}, {c}) together score less than ({a}, {c}) "
                f"and ({c}, {b})"
            )


class _Expansions:
    """Expansions of labels.

    Parameters
    ----------
    graph : Linked
    tables : LinkTables
    state : ndarray of shape (n_tokens, n_labels)
        State scores, with begin and end scores.
    """

    def __init__(self, graph: Linked, tables: LinkTables, state: np.ndarray):
        self._graph, self._state = graph, state
        self._tables, self._of_link = tables.tables, tables.of_link
        self._token = np.arange(len(state))
        self._unit = graph.units_of(self._token)

    def expand(self, y: np.ndarray, label: int, is_open: np.ndarray) -> np.ndarray:
        """Return the best labelling of open units whose tokens keep their label or get this one."""
        is_free = (y != label) & (self._state[:, label] > -np.inf) & is_open[self._unit]
        costs = self._costs(y, label, is_free)
        return np.where(is_free & self._least_cost(is_free, *costs), label, y)

    def _costs(self, y: np.ndarray, label: int, is_free: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return what changes cost: of tokens; of pairs in which the second end changes alone.

        With z = 1 for tokens that change, and A, B, C, D the negated scores of a link of tokens p
        and q if none of them changes, q, p, or both, its cost is

            A + (C - A) z_p + (D - C) z_q + (B + C - A - D) (1 - z_p) z_q

        (Kolmogorov & Zabih 2004). A token that is not free has z = 0.
        """
        previous, current = self._graph.links()
        links = np.flatnonzero(is_free[previous] | is_free[current])
        p, q, table = previous[links], current[links], self._of_link[links]
        of_p, of_q = y[p], y[q]
        a, b = -self._tables[table, of_p, of_q], -self._tables[table, of_p, label]
        c, d = -self._tables[table, label, of_q], -self._tables[table, label, label]
        both = is_free[p] & is_free[q]
        of_token = np.where(is_free, self._state[self._token, y], 0.0)
        of_token -= np.where(is_free, self._state[:, label], 0.0)
        n = len(of_token)
        of_token += np.bincount(p, np.where(is_free[p], c - a, 0.0), minlength=n)
        of_token += np.bincount(
            q, np.where(both, d - c, np.where(is_free[q], b - a, 0.0)), minlength=n
        )
        of_pair = np.maximum(b + c - a - d, 0.0)[both]
        return of_token, p[both], q[both], of_pair

    def _least_cost(
        self,
        is_free: np.ndarray,
        of_token: np.ndarray,
        stays: np.ndarray,
        changing: np.ndarray,
        of_pair: np.ndarray,
    ) -> np.ndarray:
        """Return which tokens change at the least cost; as few as possible."""
        n = len(of_token)
        around = sum(np.bincount(ends, of_pair, minlength=n) for ends in (stays, changing))
        # A token whose own cost exceeds all around it is sure, so its own cost may be lower.
        own = np.clip(of_token, -2.0 * around, 2.0 * around)
        changes, is_sure = of_token < 0, around == 0
        token = np.flatnonzero(is_free & ~is_sure)
        if len(token) == 0:
            return changes
        # The tokens on the side of the source change.
        source, sink = n, n + 1
        gain, loss = token[own[token] < 0], token[own[token] > 0]
        rows = np.concatenate([np.full(len(gain), source), loss, changing])
        columns = np.concatenate([gain, np.full(len(loss), sink), stays])
        capacity = np.concatenate([-own[gain], own[loss], of_pair])
        network = sp.coo_array((capacity, (rows, columns)), shape=(n + 2, n + 2))
        network.sum_duplicates()
        # Each unit has a scale of its own, so that other units do not change its labels.
        unit = self._unit[np.where(network.row == source, network.col, network.row)]
        largest = np.zeros(self._graph.n_units)
        np.maximum.at(largest, unit, network.data)
        scale = np.divide(LARGEST, largest, out=np.zeros_like(largest), where=largest > 0)
        network.data = np.rint(network.data * scale[unit])
        flows = network.tocsr().astype(np.int32)
        residual = flows - maximum_flow(flows, source, sink).flow
        residual.eliminate_zeros()
        # Of the minimum cuts, this one has the fewest nodes on the side of the source.
        reached = breadth_first_order(residual, source, return_predecessors=False)
        changes[token] = False
        changes[reached[reached != source]] = True
        return changes
