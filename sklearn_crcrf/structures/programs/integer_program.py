"""Best labellings by integer programming: for any links, and under linear inequalities."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...labels.inequalities import Inequalities
from ..base import Structure
from ..chain.higher_order import HigherOrderChain
from ..scores import Scores
from .lattice_program import LatticeProgram
from .linear_program import Labelling, LinearProgram, NarrowedProgram, possible_labelling
from .linked_tokens import LinkedUnits
from .max_marginals import LinkedTrees


def best_labelling(structure: Structure, scores: Scores) -> tuple[np.ndarray, np.ndarray]:
    """Return the best labelling of each unit, by an integer program for each.

    Any links are possible, so it finds the maximum where no recursion does.

    Parameters
    ----------
    structure : Structure
        Without ``own_scores``, or with ``unit_lattice``.
    scores : Scores

    Returns
    -------
    value : float64 ndarray of shape (n_units,)
        The score of that labelling; -inf where no labelling is possible, 0 for a unit without
        tokens, NaN where a state score is NaN or inf.
    y : ndarray of shape (n_tokens,), int32

    Raises
    ------
    Unsupported
        If the score of a labelling has parts that the scores do not hold.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_crcrf.structures import Chain, Scores
    >>> from sklearn_crcrf.structures.programs.integer_program import best_labelling
    >>> scores = Scores.of(np.array([[1.0, 0.0], [0.0, 0.5]]), np.eye(2))
    >>> best_labelling(Chain(np.array([0, 2])), scores)
    (array([2.]), array([0, 0], dtype=int32))
    """
    programs = programs_of(structure, scores)
    value, y = np.empty(structure.n_units), np.empty(structure.n_tokens, dtype=np.int32)
    for unit in range(structure.n_units):
        start, stop = structure.offsets[unit : unit + 2]
        value[unit], y[start:stop] = programs.best(unit)
    return value, y


def programs_of(structure: Structure, scores: Any) -> "IntegerPrograms | LatticePrograms":
    """Return the programs of the units of a batch, whatever its structure.

    Parameters
    ----------
    structure : Structure
        Without ``own_scores``, or with ``unit_lattice``.
    scores : Scores or LatticeScores
    """
    if structure.own_scores and structure.can("unit_lattice"):
        return LatticePrograms(structure, scores)
    return IntegerPrograms(structure, scores)


class IntegerPrograms:
    """Best labellings of single units of a batch under linear inequalities (Roth & Yih 2005).

    The links may form cycles. Without cycles, bounds of the scores of labellings keep programs
    small, see :class:`~sklearn_crcrf.structures.programs.linear_program.NarrowedProgram`.

    Parameters
    ----------
    structure : Structure
        Without ``own_scores``.
    scores : Scores

    Raises
    ------
    Unsupported
        If the score of a labelling has parts that the scores do not hold.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from sklearn_crcrf.labels.inequalities import Inequalities
    >>> from sklearn_crcrf.structures import Chain, Scores
    >>> from sklearn_crcrf.structures.programs.integer_program import IntegerPrograms
    >>> scores = Scores.of(np.array([[1.0, 0.0], [0.0, 0.9]]), np.zeros((2, 2)))
    >>> programs = IntegerPrograms(Chain(np.array([0, 2])), scores)
    >>> label_1_at_most_once = Inequalities.of(sp.csr_array([[0.0, 1.0, 0.0, 1.0]]), np.ones(1))
    >>> programs.best(0, [label_1_at_most_once])
    (1.9, array([0, 1], dtype=int32))
    """

    def __init__(self, structure: Structure, scores: Scores):
        self._units = LinkedUnits(structure, scores)

    def best(self, unit: int, inequalities: Iterable[Inequalities] = ()) -> Labelling:
        """Return the best labelling of one unit that satisfies all inequalities.

        Parameters
        ----------
        unit : int
        inequalities : iterable of Inequalities
            Of the labels of the tokens of this unit.

        Returns
        -------
        value : float
            The score of that labelling, -inf if there is none.
        y : ndarray of shape (n_tokens of the unit,), int32
        """
        tokens = self._units.take(unit)
        nothing = np.zeros(len(tokens.state), dtype=np.int32)
        if len(nothing) == 0:
            return 0.0, nothing
        if not (tokens.state < np.inf).all():
            return np.nan, nothing
        if not (tokens.state > -np.inf).any(axis=1).all():
            return -np.inf, nothing
        joined = _joined(inequalities, tokens.state.size)
        trees = None if len(tokens.triangles) else LinkedTrees.of(tokens)
        if trees is None:
            found = LinearProgram(tokens, joined).solve()
        else:
            found = NarrowedProgram(tokens, joined, trees).solve()
        return (-np.inf, nothing) if found is None else found

    def is_possible(self, unit: int, inequalities: Iterable[Inequalities]) -> bool:
        """Return whether a possible labelling of one unit satisfies all inequalities."""
        tokens = self._units.take(unit)
        if not (tokens.state > -np.inf).any(axis=1).all():
            return False
        if len(tokens.state) == 0:
            return True
        return possible_labelling(tokens, _joined(inequalities, tokens.state.size)) is not None


class LatticePrograms:
    """As :class:`IntegerPrograms`, for scores of several labels in a row.

    Labels are the candidates of a lattice. If no path of these satisfies the inequalities, but one
    of all labels does, its labels are candidates too.

    Parameters
    ----------
    structure : Structure
        With ``unit_lattice``.
    scores : Scores or LatticeScores
    """

    def __init__(self, structure: Structure, scores: Any):
        self._structure, self._scores, self._of_chain = structure, scores, None
        if isinstance(structure, HigherOrderChain):
            self._of_chain = IntegerPrograms(structure.chain, scores)

    def best(self, unit: int, inequalities: Iterable[Inequalities] = ()) -> Labelling:
        """As :meth:`IntegerPrograms.best`."""
        lattice, scores = self._structure.unit_lattice(self._scores, unit)
        nothing = np.zeros(lattice.n_tokens, dtype=np.int32)
        if lattice.n_tokens == 0:
            return 0.0, nothing
        if not (scores.runs < np.inf).all():
            return np.nan, nothing
        inequalities = list(inequalities)
        joined = _joined(inequalities, lattice.n_tokens * lattice.candidates.n_labels)
        found = LatticeProgram(lattice, scores, joined).solve()
        if found is None and self._of_chain is not None:
            value, y = self._of_chain.best(unit, inequalities)
            if value > -np.inf:
                lattice, scores = self._structure.unit_lattice(self._scores, unit, y)
                found = LatticeProgram(lattice, scores, joined).solve()
        return (-np.inf, nothing) if found is None else found

    def is_possible(self, unit: int, inequalities: Iterable[Inequalities]) -> bool:
        """As :meth:`IntegerPrograms.is_possible`."""
        if self._of_chain is not None:
            return self._of_chain.is_possible(unit, inequalities)
        value, _ = self.best(unit, inequalities)
        return value > -np.inf


def _joined(inequalities: Iterable[Inequalities], n_variables: int) -> Inequalities:
    none = Inequalities.of(sp.csr_array((0, n_variables)), np.empty(0))
    return Inequalities.join([none, *inequalities])
