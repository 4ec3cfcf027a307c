"""How each solver is applied to a training problem."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import OptimizeResult

from ...criteria import Criterion, LocalLogLoss, LogLoss, PlainCriterion
from ...linear.problem import Problem
from ...solvers import (
    bounded_lbfgs,
    bundle,
    conjugate_gradient,
    gpd_quickprop,
    iterative_scaling,
    lbfgs,
    newton_cg,
    owlqn,
    quickprop,
    rprop,
    sgd,
)
from ...structures import Scores, Structure
from ...utils.linear_algebra import in_one_thread

# Further arguments of quasi-Newton methods.
OPTIONS = ("memory", "period", "epsilon")
# Products of weights and the variance of a prior must be numbers.
LARGEST_SIGMA = 1e100
# A loss with kinks must fall by this multiple of tol before its run counts as converged, and by
# this share of the objective from where all labellings tie: where each step changes which labelling
# is best, steps become short far from any minimum.
FALLS, LEAVES_TIE = 10.0, 0.5


def solve(
    name: str, problem: Problem, x0: np.ndarray, device: Any = None, **options: Any
) -> OptimizeResult:
    """Minimise the objective of a problem.

    Parameters
    ----------
    name : str
        A key of SOLVERS.
    problem : Problem
    x0 : ndarray of shape (n_weights,)
        In the order of the terms of the problem; is overwritten.
    device : str or torch.device, optional
        Where L-BFGS runs; None for the kernels of this package.
    **options
        ``c1``, ``stochastic``, ``max_iter``, ``tol`` and ``callback``. The dict ``stochastic``
        has the options for stochastic descent alone: ``rng``, and the ``rate`` and ``n_seen`` of
        earlier training.

    Returns
    -------
    OptimizeResult
        ``x`` is a vector in the order of the terms of the problem.
    """
    # Threads share the blocks of sequences; more threads in linear algebra would compete.
    tied = not x0.any()
    with in_one_thread():
        run = SOLVERS[name].run if device is None else _on_device(device)
        result = run(problem, x0, **options)
    if not _is_sure(result, problem.criterion, tied):
        leaves_tie = tied and result.success
        _check_fall(result, LEAVES_TIE if leaves_tie else FALLS * options["tol"])
    return result


def _is_sure(result: OptimizeResult, criterion: Criterion, tied: bool) -> bool:
    """Whether a run that ended for want of progress did so near a minimum.

    Near a tie of all labellings, a loss that is not convex may be flat.
    """
    if criterion.convex:
        return criterion.smooth or result.proven
    return not tied and (criterion.smooth or result.proven)


def _check_fall(result: OptimizeResult, share: float) -> None:
    """Say that a run has not converged unless it lowered the objective by more than a share.

    An objective that is zero cannot fall.
    """
    if result.fun and not result.fun < result.initial - share * abs(result.initial):
        result.success = False
        result.message = (
            f"the objective was {result.initial:g} at the start and is {result.fun:g}, but a loss "
            "with ties may fall elsewhere; start from the optimum of the log loss "
            '(init="log_loss"), or leave zeros by solver="gpd-quickprop"'
        )


def check_supported(name: str, problem: Problem, device: Any = None) -> None:
    """Check that the structure of a problem has what its criterion and a solver need.

    Parameters
    ----------
    name : str
        A key of SOLVERS.
    problem : Problem
    device : as in :func:`solve`

    Raises
    ------
    ImportError
        If a device is given, and there is no torch.
    Unsupported
        If the structure lacks a capability; the message names it.
    ValueError
        If there is no such device, or it does not have what the problem needs.
        If the solver needs second derivatives or a convex loss, which the criterion does not have,
        or cannot keep weights within their bounds.
    """
    structure, criterion, solver = problem.corpus.structure, problem.criterion, SOLVERS[name]
    structure.require(criterion.requires, f"criterion={criterion}")
    structure.require(solver.requires, f'solver="{name}"')
    if name == "bundle" and not criterion.convex:
        raise ValueError(f'solver="bundle" needs a convex criterion, not {criterion}')
    if "covariance" in solver.requires and not criterion.has_curvature:
        raise ValueError(f'solver="{name}" needs a criterion with curvature, not {criterion}')
    if problem.lower_bounds() is not None and not solver.keeps_bounds:
        able = ", ".join(f'"{other}"' for other, it in SOLVERS.items() if it.keeps_bounds)
        raise ValueError(f'solver="{name}" cannot keep weights within bounds, but {able} can')
    if device is not None:
        _devices(device).check_on_device(problem, name, device)


def choose_solver(name: str, c1: float, preferred: str = "lbfgs") -> str:
    """Find a solver by name: for "auto", "owlqn" with an L1 penalty, else ``preferred``.

    Raises
    ------
    ValueError
        If the solver cannot take the penalty.
    """
    if name == "auto":
        return "owlqn" if c1 > 0 else preferred
    if c1 > 0 and name != "owlqn":
        raise ValueError(f'c1={c1} needs solver="owlqn" or "auto", got {name!r}')
    return name


def _devices(device: Any) -> Any:
    """Return the module of what runs on devices, which needs torch."""
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise ImportError(f"device={str(device)!r} needs torch: pip install torch") from error
    from ...linear import on_device

    return on_device


def _on_device(device: Any) -> Callable[..., OptimizeResult]:
    """Return L-BFGS on a device."""

    def run(problem: Problem, x0: np.ndarray, *, c1, stochastic, **options) -> OptimizeResult:
        return _devices(device).minimise(problem, x0, device, **options)

    return run


def _lbfgs(problem: Problem, x0: np.ndarray, *, c1, stochastic, **options) -> OptimizeResult:
    lower = problem.lower_bounds()
    if lower is not None:
        return bounded_lbfgs(problem.objective(), x0, lower=lower, **options)
    return lbfgs(problem.objective(), x0, n_threads=problem.n_threads, overwrite_x0=True, **options)


def _owlqn(problem: Problem, x0: np.ndarray, *, c1, stochastic, **options) -> OptimizeResult:
    whole: list[Callable] = []  # not kept in memory beside the objective of some weights

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        if not whole:
            whole.append(problem.objective())
        return whole[0](x)

    def narrow(moving: np.ndarray) -> tuple[Callable, np.ndarray]:
        whole.clear()
        return problem.narrowed(moving)

    options.update(n_threads=problem.n_threads, overwrite_x0=True)
    if problem.parts is None:
        options["narrow"] = narrow
    return owlqn(objective, x0, c1=problem.absolute_penalty(c1), **options)


def _sgd(problem: Problem, x0: np.ndarray, *, c1, stochastic, **options) -> OptimizeResult:
    return sgd(problem.batches(), x0, **stochastic, **options)


def _gpd_quickprop(
    problem: Problem, x0: np.ndarray, *, c1, stochastic, **options
) -> OptimizeResult:
    return gpd_quickprop(problem.batches(), problem.objective(), x0, **stochastic, **options)


def _bundle(problem: Problem, x0: np.ndarray, *, c1, stochastic, **options) -> OptimizeResult:
    if not problem.sigma < LARGEST_SIGMA:
        raise ValueError(
            f'solver="bundle" needs a finite sigma, below {LARGEST_SIGMA:g}, got {problem.sigma:g}'
        )
    lower = problem.lower_bounds()
    return bundle(problem.objective(), x0, sigma=problem.sigma, lower=lower, **options)


def _of_objective(minimise: Callable[..., OptimizeResult]) -> Callable[..., OptimizeResult]:
    """Return a solver that needs no more than the objective and its gradient."""

    def run(problem: Problem, x0: np.ndarray, *, c1, stochastic, **options) -> OptimizeResult:
        return minimise(problem.objective(), x0, **options)

    return run


def _newton_cg(problem: Problem, x0: np.ndarray, *, c1, stochastic, **options) -> OptimizeResult:
    objective, hessian_product = problem.curved_objective()
    return newton_cg(objective, x0, hessp=hessian_product, **options)


def _iterative_scaling(
    problem: Problem, x0: np.ndarray, *, c1, stochastic, **options
) -> OptimizeResult:
    """Run GIS on the unpenalised objective; two more criteria give the feature counts it needs."""
    _check_counts(problem)
    shard = problem.shard()

    def gold_score(structure: Structure, scores: Scores, y: np.ndarray) -> tuple:
        """Return the gold score, whose derivatives are the observed feature counts."""
        return structure.gold_score(scores, y)

    def least_score(structure: Structure, scores: Scores, y: np.ndarray) -> tuple:
        """Return minus the best score: with all weights 1, minus the most features of a path."""
        return -structure.maximum(scores)[0], lambda *_: None  # nobody asks for derivatives

    gold = shard.with_criterion(PlainCriterion(gold_score))
    _, empirical = gold.evaluate(x0, problem.n_threads)
    least = shard.with_criterion(PlainCriterion(least_score))
    largest = -least.losses(np.ones_like(x0)).min()
    return iterative_scaling(
        problem._replace(sigma=np.inf).objective(shard),
        x0,
        empirical=empirical,
        total=largest,
        n_sequences=problem.corpus.weight.sum(),
        sigma=problem.sigma,
        **options,
    )


class Solver(NamedTuple):
    """How a problem is solved, and the capabilities its structure must have for that.

    Parameters
    ----------
    run : callable
        Takes a problem, ``x0`` and the options of :func:`solve`.
    requires : tuple of str
        Capabilities of the structure.
    keeps_bounds : bool
        Whether it keeps weights within bounds.
    sees : {"objective", "batches", "all"}
        What of the data it sees: a sum over all, one batch after another, or all at once.
    options : tuple of str
        The names of further arguments that it takes.
    """

    run: Callable[..., OptimizeResult]
    requires: tuple[str, ...] = ()
    keeps_bounds: bool = False
    sees: str = "objective"
    options: tuple[str, ...] = ()


SOLVERS: dict[str, Solver] = {
    "lbfgs": Solver(_lbfgs, keeps_bounds=True, options=OPTIONS),
    "owlqn": Solver(_owlqn, options=OPTIONS),
    "sgd": Solver(_sgd, sees="batches"),
    "newton-cg": Solver(_newton_cg, ("covariance",), sees="all"),
    "cg": Solver(_of_objective(conjugate_gradient)),
    "rprop": Solver(_of_objective(rprop)),
    "quickprop": Solver(_of_objective(quickprop)),
    "gpd-quickprop": Solver(_gpd_quickprop, sees="batches"),
    "gis": Solver(_iterative_scaling, sees="all"),
    "bundle": Solver(_bundle, keeps_bounds=True),
}
"""Solvers by name, and what they need."""


def _check_counts(problem: Problem) -> None:
    """Raise ValueError unless the loss compares feature counts that are not negative."""
    if not isinstance(problem.criterion, (LogLoss, LocalLogLoss)):
        raise ValueError(f'solver="gis" is for the log loss only, not {problem.criterion}')
    if (problem.corpus.X < 0).sum() > 0:
        raise ValueError('solver="gis" is for attributes that are not negative, but X has some')
