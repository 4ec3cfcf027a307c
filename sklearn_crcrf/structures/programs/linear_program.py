"""The linear program of one unit: its variables are labels of tokens, links and triangles."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import Bounds, LinearConstraint, OptimizeResult, linprog, milp

from ...labels.inequalities import Inequalities
from .linked_tokens import LinkedTokens
from .max_marginals import LinkedTrees, MaxMarginals

# The largest cost in a program. The solver takes costs that differ by less than 1e-7 for equal.
LARGEST_COST = 1e3
# The number of labels per token in the first program, and how it grows if they do not suffice.
N_LABELS, GROWTH = 2, 2
# How far an integer may be from what the solver finds.
TOLERANCE = 1e-6
INFEASIBLE = 2

Labelling = tuple[float, np.ndarray]
"""The score of a labelling, and its label ids."""


class Relaxed(NamedTuple):
    """The solution of a program whose variables need not be integers.

    Parameters
    ----------
    value : float
        Its score.
    best : tuple of float and ndarray, or None
        Score and labels, if the variables happen to be integers.
    multipliers : ndarray of shape (n_rows,), not negative
        How much the score would grow with the upper bound of each inequality.
    """

    value: float
    best: Labelling | None
    multipliers: np.ndarray


class LinearProgram:
    """The linear program of one unit, for its best labelling that satisfies inequalities.

    With z_t(i) = 1 if token t has label i, and z_k(i, j) = 1 if link k leads from label i of token
    p to label j of token c, the best labelling maximises

        sum_t sum_i s_t(i) z_t(i) + sum_k sum_ij s_k(i, j) z_k(i, j),    where
        sum_i z_t(i) = 1,    sum_j z_k(i, j) = z_p(i),    sum_i z_k(i, j) = z_c(j)

    (Wainwright & Jordan 2008, section 8.4), and likewise for the three labels of triangles.

    Parameters
    ----------
    tokens : LinkedTokens
        At least one.
    inequalities : Inequalities
    kept : ndarray of shape (n_tokens, n_labels), bool, optional
        The labels that are left; by default all.
    bounds : MaxMarginals, optional
    limit : float, default=-inf
        Pairs of labels with lower bounds are left out.
    """

    def __init__(
        self,
        tokens: LinkedTokens,
        inequalities: Inequalities,
        kept: np.ndarray | None = None,
        bounds: MaxMarginals | None = None,
        limit: float = -np.inf,
    ):
        self._kept = tokens.state > -np.inf
        if kept is not None:
            self._kept &= kept
        token, self._label = np.nonzero(self._kept)
        link, i, j, pair_score = _pairs(tokens, self._kept, bounds, limit)
        triangle, *corners, triple_score = _triples(tokens, self._kept)
        self._score = np.concatenate([tokens.state[self._kept], pair_score, triple_score])
        n_tokens, n_added = len(self._kept), inequalities.of_added.shape[1]
        parts = token, n_tokens + link, n_tokens + len(tokens.previous) + triangle
        cost, self._factor = costs_of(self._score, np.concatenate(parts))
        self._cost = np.append(cost, np.zeros(n_added))
        one_label = sp.csr_array((np.ones(len(token)), (token, np.arange(len(token)))))
        one_label.resize(n_tokens, len(self._score))
        first, last = len(token), len(token) + len(link)
        ends = (tokens.previous, link, i), (tokens.current, link, j)
        flows = [self._flow(*end, first) for end in ends]
        flows += [
            self._flow(tokens.triangles[:, corner], triangle, labels, last)
            for corner, labels in enumerate(corners)
        ]
        self._sums = sp.vstack([one_label, *flows], format="csr")
        self._sums.resize(self._sums.shape[0], len(self._score) + n_added)
        self._sum = np.zeros(self._sums.shape[0])
        self._sum[:n_tokens] = 1.0
        of_labels, of_added, self._upper = inequalities
        of_labels = of_labels[:, self._kept.ravel()]
        others = sp.csr_array((len(self._upper), len(self._score) - len(token)))
        self._rows = sp.hstack([of_labels, others, of_added], format="csr")

    def relax(self) -> Relaxed | None:
        """Return the solution whose variables need not be integers, or None if there is none."""
        result = linprog(
            self._cost,
            A_ub=self._rows,
            b_ub=self._upper,
            A_eq=self._sums,
            b_eq=self._sum,
            bounds=(0, 1),
            method="highs",
        )
        if not is_feasible(result):
            return None
        x = result.x[: len(self._score)]
        is_integral = (np.abs(x - np.round(x)) < TOLERANCE).all()
        multipliers = np.maximum(0.0, -result.ineqlin.marginals) / self._factor
        value = float(self._score @ x)
        return Relaxed(value, self._labelling(x) if is_integral else None, multipliers)

    def solve(self) -> Labelling | None:
        """Return the best labelling that satisfies the inequalities, or None if there is none."""
        sums, n_labels = (self._sums, self._sum), len(self._label)
        x = best_integers(self._cost, n_labels, sums, (self._rows, self._upper))
        return None if x is None else self._labelling(x)

    def _labelling(self, x: np.ndarray) -> Labelling:
        is_chosen = x[: len(self._score)] > 0.5
        y = self._label[is_chosen[: len(self._label)]].astype(np.int32)
        return float(self._score[is_chosen].sum()), y

    def _flow(
        self, token: np.ndarray, link: np.ndarray, label: np.ndarray, first: int
    ) -> sp.csr_array:
        """For each label of one end of each link, the sum of its pairs less the label.

        Parameters
        ----------
        token : ndarray of shape (n_links,)
            The token at this end.
        link, label : ndarray of shape (n_pairs,)
            The link of each pair, and the label of this end.
        first : int
            The variable of the first pair.
        """
        n_labels, kept = self._kept.shape[1], self._kept[token]
        number = np.cumsum(self._kept).reshape(self._kept.shape) - 1
        end, of_end = np.nonzero(kept)
        pair = first + np.arange(len(link))
        row = np.concatenate([link * n_labels + label, end * n_labels + of_end])
        column = np.concatenate([pair, number[token[end], of_end]])
        sign = np.repeat([1.0, -1.0], [len(pair), len(end)])
        shape = len(token) * n_labels, len(self._score)
        return sp.csr_array((sign, (row, column)), shape=shape)[kept.ravel()]


def possible_labelling(tokens: LinkedTokens, inequalities: Inequalities) -> np.ndarray | None:
    """Return any possible labelling that satisfies the inequalities, or None if there is none."""
    found = LinearProgram(tokens.without_scores(), inequalities).solve()
    return None if found is None else found[1]


def _pairs(
    tokens: LinkedTokens, kept: np.ndarray, bounds: MaxMarginals | None, limit: float
) -> tuple[np.ndarray, ...]:
    """Link, labels and score of the pairs of labels that are left."""
    found = [np.empty((3, 0), dtype=np.int64)]
    scores = [np.empty(0)]
    for link, ends in enumerate(zip(tokens.previous, tokens.current, strict=True)):
        transition, (before, after) = tokens.transition(link), kept[[*ends]]
        is_left = before[:, None] & after & (transition > -np.inf)
        if bounds is not None:
            is_left &= bounds.pair(link, transition) >= limit
        i, j = np.nonzero(is_left)
        found.append(np.stack([np.full(len(i), link), i, j]))
        scores.append(transition[i, j])
    return *np.concatenate(found, axis=1), np.concatenate(scores)


def _triples(tokens: LinkedTokens, kept: np.ndarray) -> tuple[np.ndarray, ...]:
    """Triangle, labels and score of the three labels of triangles that are left."""
    found = [np.empty((4, 0), dtype=np.int64)]
    scores = [np.empty(0)]
    for triangle, corners in enumerate(tokens.triangles):
        labels = np.nonzero(np.logical_and.outer(np.outer(*kept[corners[:2]]), kept[corners[2]]))
        found.append(np.stack([np.full(len(labels[0]), triangle), *labels]))
        scores.append(tokens.triangle(triangle)[labels])
    return *np.concatenate(found, axis=1), np.concatenate(scores)


def costs_of(score: np.ndarray, part: np.ndarray) -> tuple[np.ndarray, float]:
    """Return what each score lacks of the best of its part, times a factor, and the factor."""
    best = np.full(part.max() + 1, -np.inf)
    np.maximum.at(best, part, score)
    cost = best[part] - score
    largest = cost.max()
    return (LARGEST_COST * (cost / largest), LARGEST_COST / largest) if largest > 0 else (cost, 1.0)


def best_integers(
    cost: np.ndarray,
    n_integers: int,
    equal: tuple[sp.csr_array, np.ndarray],
    at_most: tuple[sp.csr_array, np.ndarray],
) -> np.ndarray | None:
    """Return the variables from 0 to 1 of least cost, or None if there are none.

    Parameters
    ----------
    cost : ndarray of shape (n_variables,)
    n_integers : int
        The first variables must be integers.
    equal, at_most : pair of CSR and ndarray
        Rows of coefficients, and what sums of variables times these must be, or be at most.
    """
    (sums, total), (rows, upper) = equal, at_most
    result = milp(
        cost,
        integrality=np.arange(len(cost)) < n_integers,
        bounds=Bounds(0, 1),
        constraints=[LinearConstraint(sums, total, total), LinearConstraint(rows, -np.inf, upper)],
        options={"mip_rel_gap": 0.0},
    )
    return result.x if is_feasible(result) else None


def limit_of(bounds: np.ndarray, n: int) -> float:
    """Return what the ``n`` highest bounds are not below; -inf if there are no more."""
    possible = np.sort(bounds[bounds > -np.inf])
    return float(possible[-n]) if n < len(possible) else -np.inf


def best_of_few(
    best_above: Callable[[float], Labelling | None], bounds: np.ndarray, n: int, growth: int
) -> Labelling | None:
    """Return the best labelling, found among as few parts of labellings as possible.

    Parameters
    ----------
    best_above : callable
        Finds the best labelling of the parts whose bounds are not below a limit.
    bounds : ndarray
        Of the score of all labellings that have a part.
    n : int
        The number of parts that are tried first.
    growth : int
        By what the number is multiplied if the parts do not suffice.
    """
    while True:
        limit = limit_of(bounds, n)
        found = best_above(limit)
        if limit == -np.inf or (found is not None and found[0] >= limit):
            return found
        if found is not None:
            return best_above(found[0]) or found
        n *= growth


def is_feasible(result: OptimizeResult) -> bool:
    """Return whether a program has a solution; RuntimeError if the solver failed."""
    if result.x is None and result.status != INFEASIBLE:
        raise RuntimeError(f"the solver of the integer program failed: {result.message}")
    return result.status != INFEASIBLE


class NarrowedProgram:
    """The best labelling z of a unit that satisfies inequalities A z <= b.

    For multipliers m >= 0, a labelling that satisfies the inequalities and has the score s(z) has
    the score s(z) - m (A z - b), which is not lower, once penalties replace the inequalities. So
    max-marginals of scores with penalties are upper bounds of the scores of all labellings that
    have some label and satisfy the inequalities (Geoffrion 1974). The multipliers of the solution
    over a few labels give bounds for all labels. Labels are not needed if their bounds are below
    the score of a labelling that satisfies the inequalities.

    Parameters
    ----------
    tokens : LinkedTokens
        At least one.
    inequalities : Inequalities
    trees : LinkedTrees
        Of these tokens.
    """

    def __init__(self, tokens: LinkedTokens, inequalities: Inequalities, trees: LinkedTrees):
        self._tokens, self._inequalities, self._trees = tokens, inequalities, trees
        self._program = partial(LinearProgram, tokens, inequalities)
        self._n_labels = N_LABELS * len(tokens.state)

    def solve(self) -> Labelling | None:
        """Return the best labelling that satisfies the inequalities, or None if there is none."""
        bounds = self._trees.max_marginals(self._tokens)
        if not (bounds.label > -np.inf).any(axis=1).all():
            return None
        relaxed = self._relax(bounds)
        if relaxed is None or relaxed.best is not None:
            return relaxed and relaxed.best
        bounds = self._bounds(relaxed)
        best_above = partial(self._best_above, bounds)
        return best_of_few(best_above, bounds.label, self._n_labels, GROWTH)

    def _relax(self, bounds: MaxMarginals) -> Relaxed | None:
        """Return the solution in which variables need not be integers, or None if there is none.

        Labels are added to the program as long as any of them has a bound above its solution.
        """
        kept = bounds.label >= limit_of(bounds.label, self._n_labels)
        relaxed = self._program(kept).relax()
        if relaxed is None:
            y = possible_labelling(self._tokens, self._inequalities)
            if y is None:
                return None
            kept[np.arange(len(y)), y] = True
            relaxed = self._program(kept).relax()
        while relaxed is not None:
            bounds = self._bounds(relaxed)
            above = bounds.label > relaxed.value + bounds.rounding_error()
            missing = np.sort(bounds.label[above & ~kept])[-self._n_labels :]
            if len(missing) == 0:
                break
            kept |= bounds.label >= missing[0]
            relaxed = self._program(kept).relax()
        return relaxed

    def _best_above(self, bounds: MaxMarginals, limit: float) -> Labelling | None:
        """Return the best labelling of labels and pairs whose bounds are not below a limit."""
        limit -= bounds.rounding_error()
        kept = bounds.label >= limit
        return self._program(kept, bounds, limit).solve()

    def _bounds(self, relaxed: Relaxed) -> MaxMarginals:
        """Return the max-marginals with a penalty in place of each inequality."""
        penalty, constant = self._inequalities.penalties(relaxed.multipliers)
        state = self._tokens.state - penalty.reshape(self._tokens.state.shape)
        bounds = self._trees.max_marginals(self._tokens._replace(state=state))
        return bounds._replace(label=bounds.label + constant, before=bounds.before + constant)
