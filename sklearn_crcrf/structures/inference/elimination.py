"""Orders in which the tokens of graphs can be eliminated, and how wide the junction trees are."""

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple

import numpy as np

from ..base import Structure

Neighbours = dict[int, set[int]]

# The order by the fewest neighbours is less than this number of times as wide as min-fill: at most
# 1.3 times on grids and on random graphs of many kinds.
SLACK = 1.5


class JunctionTrees(NamedTuple):
    """The steps of an elimination, unit by unit; see ``graph/junction_messages.pxi``.

    The parent of a step is the first step that eliminates one of its separators.

    Parameters
    ----------
    token : ndarray of shape (n_tokens,), int64
        The token that each step eliminates.
    start : ndarray of shape (n_tokens + 1,), int64
        Step k has the separators from ``start[k]`` to ``start[k + 1] - 1``.
    place : ndarray of shape (n_separators,), int64
        Which separator of the parent each of them is; their number for the parent itself.
    separator : ndarray of shape (n_separators,), int64
        The steps that eliminate them; the last step comes first, and the parent comes last.
    first_child, child : ndarray of shape (n_tokens + 1,) and (n_children,), int64
        From ``first_child[k]`` on, the steps whose parent is step k.
    first_link, link : ndarray of shape (n_tokens + 1,) and (n_links,), int64
        From ``first_link[k]`` on, the links of which step k eliminates the first end.
    axis : ndarray of shape (n_links,), int64
        Which separator of that step the other end of the link is.
    is_previous : ndarray of shape (n_links,), int64
        Whether that step eliminates the previous end.
    first_triangle, triangle : ndarray of shape (n_tokens + 1,) and (n_triangles,), int64
        From ``first_triangle[k]`` on, the triangles of which step k eliminates the first token.
    corner : ndarray of shape (n_triangles, 3), int64
        Which separator of that step each token of a triangle is, -1 for the token that it
        eliminates.
    """

    token: np.ndarray
    start: np.ndarray
    place: np.ndarray
    separator: np.ndarray
    first_child: np.ndarray
    child: np.ndarray
    first_link: np.ndarray
    link: np.ndarray
    axis: np.ndarray
    is_previous: np.ndarray
    first_triangle: np.ndarray
    triangle: np.ndarray
    corner: np.ndarray

    @classmethod
    def of(
        cls,
        token: np.ndarray,
        separators: Sequence[Collection[int]],
        previous: np.ndarray,
        current: np.ndarray,
        triangles: np.ndarray,
    ) -> "JunctionTrees":
        """From an order of elimination.

        Parameters
        ----------
        token : ndarray of shape (n_tokens,), int64
            In the order of elimination, unit by unit.
        separators : list of n_tokens collections of int
            The tokens that are the separators of each of them.
        previous, current : ndarray of shape (n_links,), int64
            The ends of the links.
        triangles : ndarray of shape (n_triangles, 3), int64
            Tokens that are linked to each other.
        """
        n = len(token)
        step = np.empty(n, dtype=np.int64)
        step[token] = np.arange(n)
        lengths = np.array([len(tokens) for tokens in separators], dtype=np.int64)
        start = np.append(0, np.cumsum(lengths))
        separator = step[np.array([s for tokens in separators for s in tokens], dtype=np.int64)]
        of_step = np.repeat(np.arange(n), lengths)
        separator = separator[np.lexsort((-separator, of_step))]
        keys = of_step * n + (n - 1 - separator)

        def place_of(step: np.ndarray, other: np.ndarray) -> np.ndarray:
            """Return which separator of each step is eliminated by the other step."""
            return np.searchsorted(keys, step * n + (n - 1 - other)) - start[step]

        children = np.flatnonzero(lengths > 0)
        parent = separator[start[children + 1] - 1]
        place = place_of(np.repeat(parent, lengths[children]), separator)
        previous, current = step[previous], step[current]
        first, second = np.minimum(previous, current), np.maximum(previous, current)
        by_child = _by_step(parent, n)
        by_link = _by_step(first, n)
        corners = step[triangles]
        lowest = corners.min(axis=1)
        by_triangle = _by_step(lowest, n)
        corner = np.full(corners.shape, -1)
        k, other = np.nonzero(corners != lowest[:, None])
        corner[k, other] = place_of(lowest[k], corners[k, other])
        return cls(
            token,
            start,
            place,
            separator,
            by_child[0],
            children[by_child[1]],
            *by_link,
            place_of(first, second),
            (first == previous).astype(np.int64),
            *by_triangle,
            corner,
        )

    def work_space(self) -> np.ndarray:
        """Work space of kernels for the factors of a step, which must not be shared by threads."""
        n_factors = np.diff(self.first_child) + np.diff(self.first_link)
        n_factors += np.diff(self.first_triangle)
        n_axes = int(np.diff(self.start).max(initial=0))
        size = 1 + max(n_axes, int(n_factors.max(initial=0)))
        return np.empty((4 + n_axes, size), dtype=np.int64)


def _by_step(step: np.ndarray, n_steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Return where the entries of each step begin in the order of steps, and that order."""
    order = np.argsort(step, kind="stable")
    return np.searchsorted(step[order], np.arange(n_steps + 1)), order


class Elimination:
    """The elimination of the tokens of all units, one after another.

    The separator of a token are its neighbours when it is eliminated, which are joined to each
    other. The largest number of separators in the best possible order is the treewidth. Tokens
    with up to two neighbours go first, for as long as there are any: no other order is better. The
    tokens that are left are the core of a unit. networkx orders a core, by the number of neighbours
    that have to be joined (min-fill).

    Parameters
    ----------
    offsets : ndarray of shape (n_units + 1,), int64
    previous, current : ndarray of shape (n_links,), int64
        The ends of the links.
    triangles : ndarray of shape (n_triangles, 3), int64, optional
        Tokens that have scores together, and are linked to each other.

    Attributes
    ----------
    cores : dict of int to dict
        The neighbours of each token of the core, for the units that have one.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.structures.inference.elimination import Elimination
    >>> ring = Elimination(np.array([0, 4]), np.array([0, 1, 2, 0]), np.array([1, 2, 3, 3]))
    >>> ring.width(0), ring.cores
    (2, {})
    """

    def __init__(
        self,
        offsets: np.ndarray,
        previous: np.ndarray,
        current: np.ndarray,
        triangles: np.ndarray = Structure.triangles,
    ):
        self._offsets, self._ends, self._triangles = offsets, (previous, current), triangles
        neighbours: list[set[int]] = [set() for _ in range(int(offsets[-1]))]
        for a, b in zip(previous.tolist(), current.tolist(), strict=True):
            neighbours[a].add(b)
            neighbours[b].add(a)
        self._separators = dict(_few_neighbours_first(neighbours))
        self.cores: dict[int, Neighbours] = {}
        left = np.array([t for t in range(len(neighbours)) if t not in self._separators], dtype=int)
        unit = np.searchsorted(offsets, left, side="right") - 1
        for u, token in zip(unit.tolist(), left.tolist(), strict=True):
            self.cores.setdefault(u, {})[token] = neighbours[token]
        self._separators_of_cores: dict[int, dict[int, set[int]]] = {}
        self._first_wider: dict[int, int | None] = {}

    def is_wider(self, unit: int, width: int) -> bool:
        """Find whether the junction tree of a unit is wider than a width, soon if it is."""
        if self._widths_outside[unit] > width:
            return True
        if unit not in self.cores:
            return False
        return _is_exceeded(width, self.cores[unit], _contract) or self.width(unit) > width

    def is_much_wider(self, unit: int, width: int) -> bool:
        """Return whether the tree of a simpler order is more than half as wide again as a width.

        If so, the junction tree is hardly ever as narrow as the width. The order by the fewest
        neighbours takes a hundredth of the time of the order by the fewest joined neighbours.
        """
        core = self.cores.get(unit)
        return core is not None and _is_exceeded(SLACK * width, core, _eliminate)

    def width(self, unit: int) -> int:
        """Return the width of a junction tree: the largest number of separators of a token.

        Raises
        ------
        ImportError
            If the unit has a core, but networkx is not installed.
        """
        of_core = self._core_separators(unit).values() if unit in self.cores else ()
        return max(int(self._widths_outside[unit]), max(map(len, of_core), default=0))

    def first_wider(self, width: int) -> int | None:
        """Return the first unit whose junction tree is wider than a width, if there is one."""
        if width not in self._first_wider:
            wider = (u for u in range(len(self._offsets) - 1) if self.is_wider(u, width))
            self._first_wider[width] = next(wider, None)
        return self._first_wider[width]

    @cached_property
    def trees(self) -> JunctionTrees:
        """The junction trees of all units."""
        separators = dict(self._separators)
        for unit in self.cores:
            separators |= self._core_separators(unit)
        order = np.array(list(separators), dtype=np.int64)
        unit_of = np.searchsorted(self._offsets, order, side="right")
        order = order[np.argsort(unit_of, kind="stable")]
        of_steps = [separators[t] for t in order.tolist()]
        return JunctionTrees.of(order, of_steps, *self._ends, self._triangles)

    @cached_property
    def _widths_outside(self) -> np.ndarray:
        """The largest number of separators of the tokens of each unit that are not in its core."""
        token = np.array(list(self._separators), dtype=np.int64)
        lengths = np.array([len(tokens) for tokens in self._separators.values()], dtype=np.int64)
        widths = np.zeros(len(self._offsets) - 1, dtype=np.int64)
        np.maximum.at(widths, np.searchsorted(self._offsets, token, side="right") - 1, lengths)
        return widths

    def _core_separators(self, unit: int) -> dict[int, set[int]]:
        """Return the separators of the tokens of a core, in the order of elimination."""
        if unit not in self._separators_of_cores:
            core = self.cores[unit]
            left = {token: set(others) for token, others in core.items()}
            found = {token: _eliminate(left, token) for token in _min_fill_order(core)}
            self._separators_of_cores[unit] = found
        return self._separators_of_cores[unit]


def _eliminate(neighbours: Any, token: int) -> set[int]:
    """Join the neighbours of a token to each other instead of the token; return them."""
    separators = neighbours[token]
    for other in separators:
        neighbours[other] |= separators
        neighbours[other] -= {token, other}
    return separators


def _few_neighbours_first(neighbours: list[set[int]]) -> Iterator[tuple[int, set[int]]]:
    """Eliminate tokens with at most one neighbour, then with two, as long as there are any.

    A token with two neighbours is eliminated only where all others have at least as many, so that
    there is a cycle, and no order has fewer separators.
    """
    queues: tuple[list[int], list[int]] = [], []
    is_left = [True] * len(neighbours)

    def enqueue(token: int) -> None:
        if len(neighbours[token]) <= 2:
            queues[len(neighbours[token]) == 2].append(token)

    for token in reversed(range(len(neighbours))):
        enqueue(token)
    while queues[0] or queues[1]:
        is_second = not queues[0]
        token = queues[is_second].pop()
        # It may have other neighbours by now; then it is elsewhere too.
        if is_left[token] and (len(neighbours[token]) == 2) == is_second:
            is_left[token] = False
            separators = _eliminate(neighbours, token)
            yield token, separators
            for other in separators:
                enqueue(other)


def _contract(neighbours: Neighbours, token: int) -> set[int]:
    """Join the neighbours of a token to the one that shares the fewest with it; return them."""
    separators = neighbours[token]
    for other in separators:
        neighbours[other].discard(token)
    if separators:
        kept = min(separators, key=lambda other: (len(neighbours[other] & separators), other))
        others = separators - {kept}
        neighbours[kept] |= others
        for other in others:
            neighbours[other].add(kept)
    return separators


def _is_exceeded(
    width: float, core: Neighbours, remove: Callable[[Neighbours, int], set[int]]
) -> bool:
    """Return whether all tokens have more neighbours than a width at some time.

    The token with the fewest neighbours is always the next to be removed. To contract a link never
    makes a graph wider, and a graph with at least d neighbours of every token is at least d wide,
    so contraction gives a lower bound (Bodlaender & Koster, Inform. Comput. 209, 2011). Elimination
    gives the width of one order.
    """
    left = {token: set(others) for token, others in core.items()}
    queue = [(len(others), token) for token, others in left.items()]
    heapify(queue)
    while queue:
        degree, token = heappop(queue)
        if token not in left or len(left[token]) != degree:
            continue
        if degree > width:
            return True
        for other in remove(left, token):
            heappush(queue, (len(left[other]), other))
        del left[token]
    return False


def _min_fill_order(core: Neighbours) -> list[int]:
    """Read the order of networkx off its tree of bags: leaves first, what no other bag needs."""
    try:
        import networkx as nx
        from networkx.algorithms.approximation import treewidth_min_fill_in
    except ImportError as error:
        raise ImportError(
            "exact inference on graphs that are not trees or simple cycles needs networkx, which "
            "orders the tokens: pip install networkx"
        ) from error
    graph = nx.Graph()
    graph.add_nodes_from(core)
    graph.add_edges_from((a, b) for a, others in core.items() for b in sorted(others))
    _, bags = treewidth_min_fill_in(graph)
    order: list[int] = []
    for component in nx.connected_components(bags):
        root = next(bag for bag in bags if bag in component)
        parents = dict(nx.bfs_predecessors(bags, root))
        for bag in nx.dfs_postorder_nodes(bags, root):
            order += sorted(bag - parents.get(bag, frozenset()))
    return order
