"""The steps of an elimination, as the arrays that kernels take."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

__all__ = ["JunctionTrees"]


class JunctionTrees(NamedTuple):
    """The steps of an elimination, one for each token, unit by unit; see ``_junction_trees.pxd``.

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
            """Which separator of each step is eliminated by the other step."""
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
    """Where the entries of each step begin in the order of steps, and that order."""
    order = np.argsort(step, kind="stable")
    return np.searchsorted(step[order], np.arange(n_steps + 1)), order
