"""The best path of one unit of a lattice under linear inequalities."""

import numpy as np
import scipy.sparse as sp

from ...labels.inequalities import Inequalities
from ..lattice.lattice import Lattice, LatticeScores
from .linear_program import Labelling, best_integers, best_of_few, costs_of

# The number of runs per token in the first program, and how it grows if they do not suffice.
N_RUNS, GROWTH = 4, 4
# Relative rounding error of the scores of paths.
ROUNDING = 1e-10


class LatticeProgram:
    """The best path of one unit that satisfies inequalities A z <= b of its labels.

    With y_t(a) = 1 if a path has the run a of order + 1 candidates that ends at token t, and x_t(a)
    the sum of the scores of all runs that this run ends with, the best path maximises

        sum_t sum_a x_t(a) y_t(a),    where    sum_a y_1(a) = 1,
        sum_{a: a ends with s} y_t(a) = sum_{a: a begins with s} y_{t+1}(a)

    for all runs s of ``order`` candidates that end at t, and z_t(i) is the sum of the runs that end
    with label i. Runs are not needed if no path with them has the score of a path that satisfies
    the inequalities, so programs have few of them.

    Parameters
    ----------
    lattice : Lattice
        Of one unit with tokens.
    scores : LatticeScores
        Below inf.
    inequalities : Inequalities
    """

    def __init__(self, lattice: Lattice, scores: LatticeScores, inequalities: Inequalities):
        self._lattice, self._inequalities = lattice, inequalities
        longest = np.minimum(np.arange(lattice.n_tokens), lattice.order)
        runs = [np.asarray(scores.runs[lattice.places_at(n, t)], float) for t, n in _all(longest)]
        for t, n in _all(longest):
            for shorter in range(n):
                own = scores.runs[lattice.places_at(shorter, t)]
                runs[t] += np.tile(own, len(runs[t]) // len(own))
        self._n_here = np.diff(lattice.candidates.indptr)
        level = np.minimum(longest, lattice.order - 1)
        self._n_states = lattice.start[level, np.arange(lattice.n_tokens) + 1]
        self._n_states -= lattice.start[level, np.arange(lattice.n_tokens)]
        self._score, self._bound = np.concatenate(runs), np.concatenate(self._bounds(runs))
        self._token = np.repeat(np.arange(lattice.n_tokens), [len(own) for own in runs])
        first = np.searchsorted(self._token, self._token)
        self._number = np.arange(len(first)) - first

    def solve(self) -> Labelling | None:
        """Return the best path that satisfies the inequalities, or None if there is none."""
        if self._bound.max() == -np.inf:
            return None
        n_runs = N_RUNS * self._lattice.n_tokens
        return best_of_few(self._best_above, self._bound, n_runs, GROWTH)

    def _bounds(self, runs: list[np.ndarray]) -> list[np.ndarray]:
        """Return the score of the best path with each run, given the x of each token."""
        ahead = []
        before = np.zeros(1)
        for t, own in enumerate(runs):
            ahead.append(own + np.repeat(before, len(own) // len(before)))
            before = ahead[t].reshape(-1, self._n_states[t]).max(axis=0)
        after = np.zeros(self._n_states[-1])
        for t in range(len(runs) - 1, -1, -1):
            rest = np.tile(after, len(runs[t]) // len(after))
            ahead[t] += rest
            after = (runs[t] + rest).reshape(-1, self._n_here[t]).max(axis=1)
        return ahead

    def _best_above(self, limit: float) -> Labelling | None:
        """Return the best path of the runs with bounds not below a limit."""
        best = self._bound.max()
        rounding = ROUNDING * (1.0 + abs(best) + (best - limit if limit > -np.inf else 0.0))
        kept = np.flatnonzero((self._bound >= limit - rounding) & (self._bound > -np.inf))
        token, number, score = self._token[kept], self._number[kept], self._score[kept]
        of_labels, of_added, upper = self._inequalities
        candidates = self._lattice.candidates
        n_labels, n_added = len(candidates.label), of_added.shape[1]
        rows = [self._labels(token, number), self._flows(token, number)]
        equal = sp.block_array([[-sp.eye_array(n_labels), rows[0]], [None, rows[1]]], format="csr")
        equal.resize(equal.shape[0], equal.shape[1] + n_added)
        total = np.zeros(equal.shape[0])
        total[n_labels] = 1.0
        own = of_labels[:, candidates.token * candidates.n_labels + candidates.label]
        at_most = sp.hstack([own, sp.csr_array((len(upper), len(kept))), of_added], format="csr")
        cost, _ = costs_of(score, token)
        costs = np.concatenate([np.zeros(n_labels), cost, np.zeros(n_added)])
        x = best_integers(costs, n_labels, (equal, total), (at_most, upper))
        if x is None:
            return None
        is_chosen = x > 0.5
        y = candidates.label[is_chosen[:n_labels]]
        return float(score[is_chosen[n_labels : n_labels + len(kept)]].sum()), y

    def _labels(self, token: np.ndarray, number: np.ndarray) -> sp.csr_array:
        """Return which runs end with each candidate."""
        indptr = self._lattice.candidates.indptr
        last = indptr[token] + number % self._n_here[token]
        return _ones(last, np.arange(len(token)), (int(indptr[-1]), len(token)))

    def _flows(self, token: np.ndarray, number: np.ndarray) -> sp.csr_array:
        """Return rows: runs of the first token; runs that end with a state, less that begin so."""
        first_state = np.append(0, np.cumsum(self._n_states))
        run, n_tokens = np.arange(len(token)), self._lattice.n_tokens
        ends, begins = np.flatnonzero(token < n_tokens - 1), np.flatnonzero(token > 0)
        of_end = first_state[token[ends]] + number[ends] % self._n_states[token[ends]]
        of_begin = first_state[token[begins] - 1] + number[begins] // self._n_here[token[begins]]
        states, row = np.unique(np.concatenate([of_end, of_begin]), return_inverse=True)
        shape = len(states), len(token)
        flows = _ones(row[: len(ends)], ends, shape) - _ones(row[len(ends) :], begins, shape)
        first = run[token == 0]
        return sp.vstack([_ones(np.zeros_like(first), first, (1, len(token))), flows])


def _all(longest: np.ndarray) -> list[tuple[int, int]]:
    return list(enumerate(longest.tolist()))


def _ones(row: np.ndarray, column: np.ndarray, shape: tuple[int, int]) -> sp.csr_array:
    return sp.csr_array((np.ones(len(row)), (row, column)), shape=shape)
