"""Prediction under constraints on the labels of whole samples."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ..data.layout import Layout
from ..labels.constraints.global_constraint import GlobalConstraint, Samples
from ..labels.constraints.segments import BoundSegments
from ..labels.inequalities import Inequalities
from ..serving.segment_limits import LimitedPaths, Limits
from ..structures import Scores, Structure, Unsupported
from ..structures.programs.integer_program import IntegerPrograms, LatticePrograms, programs_of
from ..utils.names import shown
from .batch_values import log_partition


class SubjectTo:
    """The constraints that predicted labels are subject to.

    Parameters
    ----------
    constraints : list of GlobalConstraint
    layout : Layout
        Of X.
    structure : Structure
        Of all samples of X.
    classes : ndarray of shape (n_labels,)

    Raises
    ------
    ValueError
        If a constraint does not fit X or the labels, or ``constraints`` is not a list of them.
    Unsupported
        If the structure has scores of its own, and no lattice of labels.
    """

    def __init__(self, constraints: Any, layout: Layout, structure: Structure, classes: np.ndarray):
        self._constraints = _checked(constraints)
        if structure.own_scores and not structure.can("unit_lattice"):
            raise Unsupported(structure, "first-order scores", "subject_to")
        links = None if structure.always_sequential else structure.links()
        samples = Samples(layout, links, classes)
        self._bound = [
            constraint.bind(samples, f"subject_to[{i}]")
            for i, constraint in enumerate(self._constraints)
        ]

    def limits(self, structure: Structure) -> Limits | None:
        """Return the limits on segments, None if other constraints or scores need programs."""
        is_chain = structure.always_sequential and not structure.own_scores
        limits = [bound for bound in self._bound if isinstance(bound, BoundSegments)]
        if not is_chain or not limits or len(limits) < len(self._bound):
            return None
        return Limits.join(bound.limits for bound in limits)

    def best_paths(
        self, structure: Structure, scores: Scores, first: int, k: int = 1
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Find the k best paths of each sequence of a batch that satisfy the constraints.

        Parameters
        ----------
        structure, scores, first : as in :meth:`enforce`
        k : int

        Returns
        -------
        list of (probabilities, label ids)
            Of the shapes (n_found,) and (n_found, n_tokens). Probabilities are normalised over all
            paths that satisfy the constraints.

        Raises
        ------
        ValueError
            If there are other constraints than on segments, or they take too long.
        """
        limits = self.limits(structure)
        if limits is None:
            raise ValueError(
                "subject_to: probabilities and k best paths are only under constraints on "
                "segments, such as OneSegment(), with scores of single labels and of pairs"
            )
        log_partition(structure, scores, first)  # an error if scores are not finite
        return [
            _best_paths(scores.tokens(slice(start, stop)), limits, k, f"X, sequence {number}")
            for number, (start, stop) in enumerate(pairwise(structure.offsets.tolist()), first)
        ]

    def enforce(
        self, y: np.ndarray, structure: Structure, scores: Scores, first: int
    ) -> np.ndarray:
        """Replace the labels of samples that break constraints by the best that break none.

        Parameters
        ----------
        y : ndarray of shape (n_tokens,)
            Label ids of a batch.
        structure, scores : the structure and scores of the batch
        first : int
            The number of its first sample.

        Returns
        -------
        ndarray of shape (n_tokens,)

        Raises
        ------
        ValueError
            If no labels of a sample satisfy the constraints; the message names constraints that
            cannot be satisfied together, but without any one of them.
        """
        bound = [constraint.take(first, first + structure.n_units) for constraint in self._bound]
        broken = [np.empty(0, dtype=np.int64), *(c.broken_samples(y) for c in bound)]
        units = np.unique(np.concatenate(broken)).tolist()
        if not units:
            return y
        programs, y = programs_of(structure, scores), np.array(y)
        limits = self.limits(structure)
        for unit in units:
            tokens = slice(*structure.offsets[unit : unit + 2])
            if limits is not None:
                found = LimitedPaths(scores.tokens(tokens), limits).best()
                if found:
                    y[tokens] = found[0][1]
                    continue
            inequalities = [constraint.take(unit, unit + 1).inequalities() for constraint in bound]
            used = programs
            value, y[tokens] = used.best(unit, inequalities)
            if value == -np.inf and not used.is_possible(unit, []):
                # Then y had the best label of each token by itself.
                no_links = Scores.of(scores.state, np.zeros_like(scores.transition))
                used = programs_of(structure, no_links)
                value, y[tokens] = used.best(unit, inequalities)
            if value == -np.inf:
                needed = _needed_constraints(used, unit, inequalities)
                named = (f"subject_to[{i}], {self._constraints[i]}" for i in needed)
                raise ValueError(
                    f"X, sequence {first + unit}: no possible labels satisfy {' and '.join(named)}"
                )
        return y


def _best_paths(scores: Scores, limits: Limits, k: int, name: str) -> tuple[np.ndarray, np.ndarray]:
    """As :meth:`SubjectTo.best_paths`, of one sequence."""
    if len(scores.state) == 0:
        return np.ones(1), np.empty((1, 0), dtype=np.int64)
    paths = LimitedPaths(scores, limits)
    try:
        found = paths.found(k)
        log_z = paths.log_partition() if found else 0.0
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    if not found:
        return np.empty(0), np.empty((0, len(scores.state)), dtype=np.int64)
    values = np.array([value for value, _ in found])
    return np.exp(np.minimum(values - log_z, 0.0)), np.array([y for _, y in found])


def refuse_subject_to(subject_to: Any, method: str) -> None:
    """Raise ValueError if constraints are passed to a method that cannot take them into account."""
    if subject_to is not None:
        raise ValueError(
            f"{method} has no probabilities under constraints: subject_to is for predict, which "
            "finds the best labels that satisfy them"
        )


def _needed_constraints(
    programs: IntegerPrograms | LatticePrograms, unit: int, inequalities: Sequence[Inequalities]
) -> list[int]:
    """Return which constraints no labelling satisfies, but without any one of them."""
    needed = list(range(len(inequalities)))
    for i in range(len(inequalities)):
        others = [j for j in needed if j != i]
        if not programs.is_possible(unit, [inequalities[j] for j in others]):
            needed = others
    return needed


def _checked(constraints: Any) -> list[GlobalConstraint]:
    if not isinstance(constraints, list | tuple):
        raise ValueError(
            f"subject_to must be a list of constraints, such as [AtMost(...)], got "
            f"{shown(constraints)}"
        )
    for i, constraint in enumerate(constraints):
        if not isinstance(constraint, GlobalConstraint):
            raise ValueError(
                f"subject_to[{i}] must be a constraint of sklearn_crcrf.labels, such as "
                f"AtMost(...), got {shown(constraint)}"
            )
    return list(constraints)
