"""The best labelling of a unit without cycles, by programs over few of its labels."""

import numpy as np

from ...labels.inequalities import Inequalities
from .linear_program import Labelling, LinearProgram, Relaxed, possible_labelling
from .linked_tokens import LinkedTokens
from .max_marginals import LinkedTrees, MaxMarginals

__all__ = ["NarrowedProgram"]

# The number of labels per token in the first program, and how it grows if they do not suffice.
N_LABELS, GROWTH = 2, 2


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
        self._n_labels = N_LABELS * len(tokens.state)

    def solve(self) -> Labelling | None:
        """The best labelling that satisfies the inequalities, or None if there is none."""
        bounds = self._trees.max_marginals(self._tokens)
        if not (bounds.label > -np.inf).any(axis=1).all():
            return None
        relaxed = self._relax(bounds)
        if relaxed is None or relaxed.best is not None:
            return relaxed and relaxed.best
        return self._solve(self._bounds(relaxed))

    def _relax(self, bounds: MaxMarginals) -> Relaxed | None:
        """The solution in which variables need not be integers, or None if there is none.

        Labels are added to the program as long as any of them has a bound above its solution.
        """
        kept = bounds.label >= bounds.limit(self._n_labels)
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

    def _solve(self, bounds: MaxMarginals) -> Labelling | None:
        """The best labelling, from the labels with the best bounds, if they suffice."""
        n_labels = self._n_labels
        while True:
            limit = bounds.limit(n_labels)
            found = self._best_above(limit, bounds)
            if limit == -np.inf or (found is not None and found[0] >= limit):
                return found
            if found is not None:
                return self._best_above(found[0], bounds) or found
            n_labels *= GROWTH

    def _best_above(self, limit: float, bounds: MaxMarginals) -> Labelling | None:
        """The best labelling of the labels and pairs of labels with bounds not below a limit."""
        limit -= bounds.rounding_error()
        kept = bounds.label >= limit
        return LinearProgram(self._tokens, self._inequalities, kept, bounds, limit).solve()

    def _program(self, kept: np.ndarray) -> LinearProgram:
        return LinearProgram(self._tokens, self._inequalities, kept)

    def _bounds(self, relaxed: Relaxed) -> MaxMarginals:
        """The max-marginals with a penalty in place of each inequality."""
        penalty, constant = self._inequalities.penalties(relaxed.multipliers)
        state = self._tokens.state - penalty.reshape(self._tokens.state.shape)
        bounds = self._trees.max_marginals(self._tokens._replace(state=state))
        return bounds._replace(label=bounds.label + constant, before=bounds.before + constant)
