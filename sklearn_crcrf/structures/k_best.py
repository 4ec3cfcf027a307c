"""The k best paths of chains and of lattices, sequence by sequence."""

from collections.abc import Callable
from itertools import pairwise
from math import log2, prod

import numpy as np

from .._kernels.sizes import check_number


def k_best_paths(
    offsets: np.ndarray,
    sizes: np.ndarray,
    n_states: np.ndarray,
    k: int,
    search: Callable[[int, np.ndarray, np.ndarray], None],
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Find scores and paths of the k best paths of each sequence, or of all if there are fewer.

    Parameters
    ----------
    offsets : ndarray of shape (n_sequences + 1,), int64
    sizes, n_states : ndarray of shape (n_tokens,)
        The number of labels, and of states of the search, of each token.
    k : int
    search : callable
        Takes the number of a sequence, and the arrays of its paths and of their scores to fill.
    """
    found = []
    # How many labellings and states there are up to each token.
    logs, states = (
        np.append(0, np.cumsum(of_tokens)).tolist() for of_tokens in (np.log2(sizes), n_states)
    )
    for sequence, (start, stop) in enumerate(pairwise(offsets.tolist())):
        n, length = k, stop - start
        if logs[stop] - logs[start] < log2(k):
            n = min(k, prod(sizes[start:stop].tolist()))
        n_steps = (states[stop] - states[start]) * n
        check_number(n_steps, f"steps of the {n} best paths of {length} tokens")
        paths, value = np.zeros((n, length), dtype=np.int32), np.full(n, -np.inf)
        if length == 0:
            value[:] = 0.0
        else:
            search(sequence, paths, value)
        possible = value > -np.inf
        found.append((value[possible], paths[possible]))
    return found
